#!/bin/sh
# Runs test programs of build/arm64 under qemu-user as several processors: those without dot products, with them, with everything, and with vectors of
# 256 bits (which nothing here uses, and nothing may mind). Each program is cut into shards; what has passed since the program was built is not run again.
#   scripts/test-arm64.sh [PROGRAM...]          default: kernels_tests
#   CPUS="cortex-a72 ..." SHARDS=8 FILTER=Conv* scripts/test-arm64.sh
set -u
cd "$(dirname "$0")/.."
build=build/arm64
cpus=${CPUS:-cortex-a72 cortex-a76 max,sve=off max,sve256=on}
shards=${SHARDS:-8}
filter=${FILTER:-*-*Long.*}
[ $# -gt 0 ] || set -- kernels_tests
mkdir -p "$build/shards"
failed=0 passed=0 kept=0
for program in "$@"; do
  for cpu in $cpus; do
    shard=0
    while [ "$shard" -lt "$shards" ]; do
      name=$build/shards/$program.$cpu.$(printf %s "$filter" | tr '*/' '__').$shard.$shards
      if [ "$name.passed" -nt "$build/bin/$program" ]; then
        kept=$((kept + 1))
      elif GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard qemu-aarch64 -cpu "$cpu" -L build/arm64-root \
        "$build/bin/$program" --gtest_filter="$filter" --gtest_brief=1 >"$name.log" 2>&1; then
        : >"$name.passed"
        passed=$((passed + 1))
      else
        failed=$((failed + 1))
        rm -f "$name.passed"
        echo "FAILED: $program as $cpu, shard $shard of $shards ($name.log)"
        grep -E '^\[  FAILED|Failure|: error|Illegal|uncaught' "$name.log" | head -20
      fi
      shard=$((shard + 1))
    done
  done
done
echo "$passed shards passed, $failed failed, $kept had passed before"
[ "$failed" -eq 0 ]
