#!/bin/sh
# One shard of scripts/test-arm64.sh, which sets BUILD, SHARDS and FILTER:  scripts/arm64-shard.sh PROGRAM CPU SHARD
# What it prints begins with "passed", "kept" (had passed before), "skipped" or "FAILED:"; the lines go out at once, because shards run side by side.
set -u
program=$1 cpu=$2 shard=$3
name=$BUILD/shards/$program.$cpu.$(printf %s "$FILTER" | tr '*/' '__').$shard.$SHARDS
emulator="qemu-aarch64 -cpu $cpu -L build/arm64-root"
if [ "$name.passed" -nt "$BUILD/bin/$program" ]; then
  echo "kept $program as $cpu, shard $shard"
  exit
fi
rm -f "$name.passed"
start=$(date +%s)
if [ "$program" = conformance_runner ]; then
  EMULATOR=$emulator scripts/conformance/run.sh "$BUILD/bin/$program" >"$name.log" 2>&1
else
  # shellcheck disable=SC2086
  GTEST_TOTAL_SHARDS=$SHARDS GTEST_SHARD_INDEX=$shard $emulator "$BUILD/bin/$program" --gtest_filter="$FILTER" --gtest_brief=1 >"$name.log" 2>&1
fi
code=$?
if [ $code -eq 0 ]; then
  : >"$name.passed"
  echo "passed $program as $cpu, shard $shard: $(($(date +%s) - start)) s"
elif [ $code -eq 77 ]; then  # conformance without its package
  echo "skipped $program as $cpu: $(tail -n 1 "$name.log")"
else
  printf 'FAILED: %s as %s, shard %s: exit %s (%s.log)\n%s\n' "$program" "$cpu" "$shard" $code "$name" \
    "$(grep -E '^\[  FAILED|Failure|: error|Illegal|uncaught|do not pass|^SCOPE' "$name.log" | head -20)"
fi
