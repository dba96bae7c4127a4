#!/bin/sh
# On a machine with a CUDA device, in the folder of scripts/gpu/pack.sh: networks in floats by NVIDIA's cuDNN and cuBLASLt beside int8, tensors on the device.
#   ./tf32.sh [NETWORK...]      (default: resnet50 vgg16 bert_base, at batch 1 and 32)
# Where the system has not got the libraries, those of PyTorch's wheels are taken.
set -u
cd "$(dirname "$0")" || exit 1
wheels=$(python3 -c 'import pathlib, sys
names = ("libcudnn.so.9", "libcublasLt.so.13")
print(":".join(sorted({str(file.parent) for path in sys.path for name in names for file in pathlib.Path(path).glob(f"nvidia/*/lib/{name}")})))' 2>/dev/null)
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}${wheels:+:$wheels}"
[ $# -gt 0 ] || set -- resnet50 vgg16 bert_base
failed=0
for network in "$@"; do
  ./octavo zoo "$network" -o "$network.onnx" >/dev/null || exit 1
  ./octavo compile "$network.onnx" --precision tf32 --target cuda -o tf32.octv >/dev/null || exit 1
  ./octavo compile "$network.onnx" --precision fp32 -o fp32.octv >/dev/null || exit 1
  ./octavo compare tf32.octv fp32.octv --min-sqnr 30 || failed=1
  for batch in ${BATCHES:-1 32}; do
    ./octavo bench "$network.onnx" --calibrate random --samples 1 --target cuda --compare fp32,tf32,int8 --batch "$batch" --tensors device --seconds "${SECONDS_EACH:-2}" || failed=1
  done
  rm -f "$network.onnx" tf32.octv fp32.octv
done
exit $failed
