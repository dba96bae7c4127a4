#!/bin/sh
# A sentence embedder beside ONNX Runtime and OpenVINO: a virtual environment of their pinned versions in build/peers, then scripts/compare/sentences.py.
#   bench/peers/sentences.sh OCTAVO [MODELS]    MODELS: a folder with models/minilm_l6_v2_fp32.onnx and text/stsb_minilm_tokens.npz (default: $OCTAVO_DATA, ../shared/data)
set -eu
cd "$(dirname "$0")/../.."
data=${2:-${OCTAVO_DATA:-../shared/data}}
if [ ! -f "$data/models/minilm_l6_v2_fp32.onnx" ]; then
  echo "no sentence embedder in $data: not compared"
  exit 0
fi
venv=build/peers/venv-sentences
if [ ! -f "$venv/complete" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet -r bench/peers/requirements/onnxruntime.txt -r bench/peers/requirements/openvino.txt
  touch "$venv/complete"
fi
exec "$venv/bin/python" scripts/compare/sentences.py --octavo "$1" "$data/models/minilm_l6_v2_fp32.onnx" "$data/text/stsb_minilm_tokens.npz" --only speed
