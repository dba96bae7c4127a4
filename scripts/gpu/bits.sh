#!/bin/sh
# On a machine with a CUDA device, in the folder of scripts/gpu/pack.sh: whether plans for it give this processor's bytes, and what they take.
#   ./bits.sh [NETWORK...]       (default: the five networks at batch 1 and 32; writes bits.txt)
set -u
cd "$(dirname "$0")" || exit 1
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ $# -gt 0 ] || set -- resnet18 mobilenet_v2 resnet50 efficientnet_v2_s vgg16
failed=0
say() { echo "$*" | tee -a bits.txt; }
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | tee bits.txt || : >bits.txt
for network in "$@"; do
  [ -f "$network.q.onnx" ] || {
    ./octavo zoo "$network" -o "$network.onnx" >/dev/null && ./octavo quantize "$network.onnx" --calibrate random --samples 1 -o "$network.q.onnx" >/dev/null 2>&1
    rm -f "$network.onnx"
  }
  for batch in ${BATCHES:-1 32}; do
    ./octavo compile "$network.q.onnx" --target cuda --batch "$batch" -o device.octv >/dev/null &&
      ./octavo compile "$network.q.onnx" --batch "$batch" -o host.octv >/dev/null || { failed=1; continue; }
    if ./octavo compare device.octv host.octv >compare.txt 2>&1 && ! grep -v identical compare.txt | grep -q .; then bits="the same bytes"; else bits="OTHER BYTES"; failed=1; fi
    predicted=$(./octavo explain device.octv | sed -n 's/.*predicted, \([0-9.]*\) ms.*/\1/p')
    ./octavo bench device.octv --seconds "${SECONDS_EACH:-2}" --json bench.json >/dev/null 2>bench.txt || { cat bench.txt; failed=1; continue; }
    median=$(sed -n 's/.*"median": *\([0-9.e-]*\).*/\1/p' bench.json | head -1)
    say "$network batch $batch: $bits; $median ms a run with its copies, predicted without them $predicted ms"
  done
done
exit $failed
