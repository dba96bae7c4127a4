#!/bin/sh
# Runs each fuzz target for a while from seeds made of real files, then prints executions per second and line coverage of import/ and artifact/.
#   scripts/fuzz.sh [SECONDS]      OCTAVO_DATA: a folder of more models (default ../shared/data/models)
set -eu
seconds=${1:-600}
data=${OCTAVO_DATA:-../shared/data}/models
work=build/fuzz/work
build() {  # build FOLDER SANITIZERS EXTRA_FLAGS
  cmake --preset fuzz -B "$1" -DOCTAVO_SANITIZE="$2" -DCMAKE_CXX_FLAGS="$3" >/dev/null
  cmake --build "$1" --target import_fuzz artifact_fuzz octavo >/dev/null
}
build build/fuzz "address,undefined,fuzzer-no-link" ""
# Coverage is counted by a build of its own, which replays the corpus that fuzzing found.
build build/fuzz-coverage "fuzzer-no-link" "-fprofile-instr-generate -fcoverage-mapping"

mkdir -p "$work/import" "$work/artifact" "$work/findings"
cp tests/data/*.onnx "$work/import/" 2>/dev/null || true
for model in examples/digits/digits.onnx "$data"/*.onnx; do
  [ -f "$model" ] && [ "$(stat -c %s "$model")" -lt 1000000 ] || continue
  cp "$model" "$work/import/"
  name=$(basename "$model" .onnx)
  build/fuzz-coverage/bin/octavo compile "$model" -o "$work/artifact/$name.octv" --calibrate random --target scalar >/dev/null 2>&1 || true
done

for target in import artifact; do
  build/fuzz/bin/${target}_fuzz "$work/$target" -max_total_time="$seconds" -max_len=600000 -rss_limit_mb=4096 -timeout=30 \
    -artifact_prefix="$work/findings/" -print_final_stats=1 -detect_leaks=1 >"$work/$target.log" 2>&1 || { tail -n 40 "$work/$target.log"; exit 1; }
  grep -E 'stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' "$work/$target.log" | sed "s/^/$target /"
  LLVM_PROFILE_FILE="$work/$target.profraw" build/fuzz-coverage/bin/${target}_fuzz -runs=0 "$work/$target" >/dev/null 2>&1 || true
  llvm-profdata-16 merge -o "$work/$target.profdata" "$work/$target.profraw"
  llvm-cov-16 report build/fuzz-coverage/bin/${target}_fuzz -instr-profile="$work/$target.profdata" \
    -ignore-filename-regex='^((?!src/'$target').)*$' "src/$target" | tail -n 1 | awk -v t="$target" '{ print t " line coverage " $10 }'
done
