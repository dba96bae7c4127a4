#!/bin/sh
# One shard of scripts/test-arm64.sh, which sets BUILD, SHARDS, FILTER and DATA:  scripts/arm64-shard.sh PROGRAM CPU SHARD
# "models all MODEL" is a file of $DATA/models, for every target and processor.
# What it prints begins with "passed", "kept" (had passed before), "skipped" or "FAILED:"; the lines go out at once, because shards run side by side.
set -u
program=$1 cpu=$2 shard=$3
name=$BUILD/shards/$program.$cpu.$(printf %s "$FILTER" | tr '*/:' '___').$shard.$SHARDS
emulator="qemu-aarch64 -cpu $cpu -L build/arm64-root"
built=$BUILD/bin/$program
if [ "$program" = models ]; then
  built=$BUILD/bin/answer_picture
  if [ "$shard" = none ]; then
    echo "skipped models: none in $DATA/models"
    exit
  fi
fi
if [ "$name.passed" -nt "$built" ]; then
  echo "kept $program as $cpu, shard $shard"
  exit
fi
rm -f "$name.passed"
start=$(date +%s)
if [ "$program" = models ]; then
  case $shard in minilm*) export OPTIONS="--calibrate random --shape input_ids=1x16 --shape attention_mask=1x16" ;; esac
  scripts/arm64-bits.sh "$DATA/images/grace_hopper.bmp" "$DATA/models/$shard" >"$name.log" 2>&1
elif [ "$program" = conformance_runner ]; then
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
    "$(grep -E '^\[  FAILED|Failure|: error|Illegal|uncaught|do not pass|^SCOPE|^DIFFERENT|^NOT REFUSED' "$name.log" | head -20)"
fi
