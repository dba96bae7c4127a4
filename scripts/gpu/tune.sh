#!/bin/sh
# On a machine with a CUDA device, in the folder of scripts/gpu/pack.sh, after bits.sh: how much is won by timing the ways that calls may be computed in, and
# how far predictions are from what they take; writes tune.txt and the log, tuning.log, which `octavo compile --target cuda --tuning-log` takes anywhere.
#   ./tune.sh [NETWORK...]       (default: four networks at batch 32, a minute each at most)
set -u
cd "$(dirname "$0")" || exit 1
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ $# -gt 0 ] || set -- vgg16 resnet50 mobilenet_v2 bert_base
failed=0
: >tune.txt
for network in "$@"; do
  # As bits.sh has it.
  file=$network.q.onnx calibrate=
  case "$network" in minilm* | bert*) file=$network.onnx calibrate="--calibrate random --samples 1" ;; esac
  [ -f "$file" ] || { echo "$file is not there: ./bits.sh $network" >&2; failed=1; continue; }
  options="$file $calibrate --target cuda --batch ${BATCH:-32} --tuning-log tuning.log"
  # What is tried is kept as it is found, so that a minute's trials count whether or not all were made.
  # shellcheck disable=SC2086
  timeout "${SECONDS_EACH:-60}" ./octavo tune $options --tuner grid --trials "${TRIALS:-400}" --bench-seconds 0.01 >"tune-$network.txt" 2>&1
  ended=$?
  [ $ended -eq 0 ] || [ $ended -eq 124 ] || { echo "$network: see tune-$network.txt" | tee -a tune.txt; failed=1; continue; }
  # shellcheck disable=SC2086
  ./octavo compile "$file" $calibrate --target cuda --batch "${BATCH:-32}" -o before.octv >/dev/null || failed=1
  # shellcheck disable=SC2086
  ./octavo compile $options -o after.octv >/dev/null || failed=1
  ./octavo bench before.octv after.octv --tensors device --seconds "${SECONDS_BENCH:-2}" >bench.txt 2>&1 || failed=1
  echo "$network batch ${BATCH:-32}, as predicted, then as measured" | tee -a tune.txt
  grep 'octv int8' bench.txt | tee -a tune.txt
done
exit $failed
