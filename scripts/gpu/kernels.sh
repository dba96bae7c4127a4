#!/bin/sh
# On a machine with a CUDA device, in the folder of scripts/gpu/pack.sh: the tests of kernels, whose launches run on the device instead of the emulator, in
# as many processes as there are cores; writes kernels.txt.
#   ./kernels.sh [FILTER]
set -u
cd "$(dirname "$0")" || exit 1
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" OCTAVO_TEST_DEVICE=1
GTEST_TOTAL_SHARDS=$(nproc) export GTEST_TOTAL_SHARDS
filter=${1:--*Long.*:Amx*:Onednn*:*.SourceAndEmulator*}
mkdir -p shards
rm -f shards/*
for shard in $(seq 0 $((GTEST_TOTAL_SHARDS - 1))); do
  { GTEST_SHARD_INDEX=$shard timeout "${SECONDS_EACH:-200}" ./kernels_tests --gtest_filter="$filter" >"shards/$shard.txt" 2>&1 || echo "shard $shard: exit $?" >>"shards/$shard.txt"; } &
done
wait
cat shards/*.txt >kernels.txt
passed=$(grep -c '^\[       OK' kernels.txt)
failed=$(grep -c '^\[  FAILED  \].*ms)$' kernels.txt)
echo "kernels: $passed passed, $failed failed, $(grep -c '^shard .*: exit' kernels.txt) of $GTEST_TOTAL_SHARDS processes ended with an error"
grep -E '^shard|^on the device|differ|^\[  FAILED  \].*ms' kernels.txt | sort | uniq -c | sort -rn | cut -c1-300 | head -40
[ "$failed" -eq 0 ] && ! grep -q '^shard .*: exit' kernels.txt
