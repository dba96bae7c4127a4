#!/bin/sh
# Runs test programs of build/arm64 under qemu-user as several processors: those without dot products, with them, with everything, and with vectors of
# 256 bits (which nothing here uses, and nothing may mind). Each program is cut into shards, as many at a time as there are cores; what has passed since
# the program was built is not run again. conformance_runner is one shard, over the node tests of the onnx package; "models" are the quantized models of
# $OCTAVO_DATA (default: ../shared/data) and MiniLM, a shard each, whose bytes scripts/arm64-bits.sh compares with this machine's.
#   scripts/test-arm64.sh [PROGRAM...]          default: kernels_tests
#   CPUS="cortex-a72 ..." SHARDS=8 FILTER=Conv* JOBS=2 scripts/test-arm64.sh
set -u
cd "$(dirname "$0")/.." || exit 1
export BUILD=build/arm64 SHARDS="${SHARDS:-24}" FILTER="${FILTER:-*-*Long.*:*Long}" DATA="${OCTAVO_DATA:-../shared/data}"
cpus=${CPUS:-cortex-a72 cortex-a76 max,sve=off max,sve256=on}
[ $# -gt 0 ] || set -- kernels_tests
mkdir -p "$BUILD/shards"
shards=$(mktemp) results=$(mktemp)
trap 'rm -f "$shards" "$results"' EXIT

for program in "$@"; do
  if [ "$program" = models ]; then
    # Names say which are not quantized; MiniLM becomes so while it is compiled.
    found=$(ls "$DATA/models" 2>/dev/null | grep -E '\.(onnx|tflite)$' | grep -vE '^mnist|(cifar|net|vww|slim).*fp32')
    for model in ${found:-none}; do echo "models all $model"; done
    continue
  fi
  for cpu in $cpus; do
    last=$((SHARDS - 1))
    [ "$program" != conformance_runner ] || last=0
    for shard in $(seq 0 "$last"); do echo "$program $cpu $shard"; done
  done
done >"$shards"
xargs -P "${JOBS:-$(nproc)}" -L 1 scripts/arm64-shard.sh <"$shards" | tee "$results"
# A shard that said nothing at all has failed, too.
awk -v expected="$(wc -l <"$shards")" '
  /^passed / { passed++ }
  /^kept / { kept++ }
  /^skipped / { skipped++ }
  END {
    failed = expected - passed - kept - skipped
    printf "%d shards passed, %d failed, %d skipped, %d had passed before\n", passed, failed, skipped, kept
    exit failed > 0
  }' "$results"
