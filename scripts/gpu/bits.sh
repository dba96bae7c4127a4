#!/bin/sh
# On a machine with a CUDA device, in the folder of scripts/gpu/pack.sh: whether plans for it give this processor's bytes, and what they take.
#   ./bits.sh [NETWORK or FILE...]       (default: seven networks and what lies in models/, at batch 1, 32 and 256 where a file leaves it open; writes bits.txt)
set -u
cd "$(dirname "$0")" || exit 1
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ $# -gt 0 ] || set -- resnet18 mobilenet_v2 resnet50 efficientnet_v2_s vgg16 minilm_l6 bert_base $(ls models/* 2>/dev/null)
failed=0
say() { echo "$*" | tee -a bits.txt; }
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | tee bits.txt || : >bits.txt

# A quantized file of the zoo's networks, made once.
quantized() {
  [ -f "$1.q.onnx" ] && return
  ./octavo zoo "$1" -o "$1.onnx" >/dev/null && ./octavo quantize "$1.onnx" --calibrate random --samples 1 -o "$1.q.onnx" >/dev/null 2>&1
  rm -f "$1.onnx"
}

# NAME FILE BATCH: compiled for both, compared, timed. Files whose batch is fixed have one.
check() {
  precision=$(case "$2" in *fp32*) echo "--precision fp32" ;; esac)
  # shellcheck disable=SC2086
  if ! ./octavo compile "$2" $precision --target cuda --batch "$3" -o device.octv >compile.txt 2>&1; then
    [ "$3" -gt 1 ] && return
    say "$1 batch $3: no plan: $(head -1 compile.txt)"
    failed=1
    return
  fi
  # shellcheck disable=SC2086
  ./octavo compile "$2" $precision --batch "$3" -o host.octv >/dev/null 2>&1 || { failed=1; return; }
  if ./octavo compare device.octv host.octv >compare.txt 2>&1 && ! grep -v identical compare.txt | grep -q .; then bits="the same bytes"; else bits="OTHER BYTES"; failed=1; fi
  predicted=$(./octavo explain device.octv | sed -n 's/.*predicted, \([0-9.]*\) ms.*/\1/p')
  ./octavo bench device.octv --seconds "${SECONDS_EACH:-2}" --json bench.json >/dev/null 2>bench.txt || { cat bench.txt; failed=1; return; }
  median=$(sed -n 's/.*"median": *\([0-9.e-]*\).*/\1/p' bench.json | head -1)
  say "$1 batch $3: $bits; $median ms a run with its copies, predicted without them $predicted ms"
}

for network in "$@"; do
  case "$network" in
    */*) name=$(basename "$network") file=$network ;;
    *) name=$network file=$network.q.onnx; quantized "$network" ;;
  esac
  for batch in ${BATCHES:-1 32 256}; do check "$name" "$file" "$batch"; done
done
exit $failed
