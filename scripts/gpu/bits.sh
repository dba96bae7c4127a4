#!/bin/sh
# On a machine with a CUDA device, in the folder of scripts/gpu/pack.sh: whether plans for it give this processor's bytes, and what they take, with tensors in
# its memory and in the host's.
#   ./bits.sh [NETWORK or FILE...]       (default: seven networks and what lies in models/, at batch 1, 32 and 256 where a file leaves it open; writes bits.txt)
# Files are compiled and compared JOBS at a time, then timed one after the other.
set -u
cd "$(dirname "$0")" || exit 1
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ $# -gt 0 ] || set -- resnet18 mobilenet_v2 resnet50 efficientnet_v2_s vgg16 minilm_l6 bert_base $(ls models/* 2>/dev/null)
work=bits
mkdir -p "$work"

# What is compiled: a file in int8, or of encoders the one in fp32, because only there attention becomes one of bytes (a standard QDQ file leaves it in f32).
encoder() { case "$1" in minilm* | bert*) ;; *) false ;; esac; }

# NAME FILE BATCH: compiled for both and compared; what was found into a file of its own. Files whose batch is fixed have one.
compare() {
  precision=$(case "$2" in *fp32*) echo "--precision fp32" ;; *.q.onnx | */*) ;; *) echo "--calibrate random --samples 1" ;; esac)
  at="$work/$1-$3"
  # shellcheck disable=SC2086
  if ! ./octavo compile "$2" $precision --target cuda --batch "$3" -o "$at.octv" >"$at.compile" 2>&1; then
    [ "$3" -gt 1 ] || echo "no plan: $(head -1 "$at.compile")" >"$at.bits"
    return
  fi
  # shellcheck disable=SC2086
  ./octavo compile "$2" $precision --batch "$3" -o "$at.host.octv" >/dev/null 2>&1
  if ./octavo compare "$at.octv" "$at.host.octv" >"$at.compare" 2>&1 && ! grep -v identical "$at.compare" | grep -q .; then echo "the same bytes"; else echo "OTHER BYTES"; fi >"$at.bits"
  rm -f "$at.host.octv"
}

# A quantized file of the zoo's networks, made once, compared at every batch.
prepare() {
  case "$1" in
    */*) name=$(basename "$1") file=$1 ;;
    *)
      name=$1 file=$1.q.onnx
      if [ ! -f "$file" ]; then
        ./octavo zoo "$1" -o "$1.onnx" >/dev/null 2>&1 && ./octavo quantize "$1.onnx" --calibrate random --samples 1 -o "$file" >/dev/null 2>&1
        encoder "$1" || rm -f "$1.onnx"
      fi
      ! encoder "$1" || file=$1.onnx
      ;;
  esac
  for batch in ${BATCHES:-1 32 256}; do compare "$name" "$file" "$batch"; done
}

# FILE PLACE: the median in ms, of runs whose tensors lie there.
median() {
  ./octavo bench "$1" --seconds "${SECONDS_EACH:-2}" --tensors "$2" --json bench.json >/dev/null 2>bench.txt || { cat bench.txt >&2; echo "failed"; return; }
  sed -n 's/.*"median": *\([0-9.e-]*\).*/\1/p' bench.json | head -1 | cut -c1-7
}

running=0
for network in "$@"; do
  prepare "$network" &
  running=$((running + 1))
  [ "$running" -lt "${JOBS:-4}" ] || { wait; running=0; }
done
wait
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | tee bits.txt || : >bits.txt
failed=0
for network in "$@"; do
  for batch in ${BATCHES:-1 32 256}; do
    at="$work/$(basename "$network")-$batch"
    [ -f "$at.bits" ] || continue
    found=$(cat "$at.bits")
    [ "$found" = "the same bytes" ] || failed=1
    [ -f "$at.octv" ] || { echo "$(basename "$network") batch $batch: $found" | tee -a bits.txt; continue; }
    predicted=$(./octavo explain "$at.octv" | sed -n 's/.*predicted, \([0-9.]*\) ms.*/\1/p')
    echo "$(basename "$network") batch $batch: $found; $(median "$at.octv" device) ms a run on the device, $(median "$at.octv" host) ms with copies, predicted $predicted ms" | tee -a bits.txt
  done
done
exit $failed
