#!/bin/sh
# Makes a folder in which LiteRT and ONNX Runtime for aarch64 run under qemu-user, for arm64_instructions.py: Debian's Python of arm64, unpacked, and the
# peers' wheels beside it. Nothing is installed on this machine.
#   scripts/compare/arm64-peers.sh FOLDER
set -eu
mkdir -p "$1/site" "$1/wheels"
folder=$(cd "$1" && pwd)
"$(dirname "$0")/../unpack-arm64.sh" "$folder/root" python3.11 libstdc++6
mkdir -p "$folder/root/proc"

platforms=""
for glibc in 2014 _2_17 _2_27 _2_28; do platforms="$platforms --platform manylinux${glibc}_aarch64"; done
# shellcheck disable=SC2086
python3 -m pip download -q --no-deps --only-binary :all: --python-version 3.11 --implementation cp --abi cp311 --abi abi3 --abi none $platforms -d "$folder/wheels" \
  ai-edge-litert==2.3.0 onnxruntime==1.32.0 numpy flatbuffers packaging protobuf backports.strenum ml_dtypes tqdm typing-extensions
for wheel in "$folder"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$folder/site"; done
echo "peers for aarch64: $folder"
