#!/bin/sh
# Runs each fuzz target for a while from seeds made of real files, then prints executions per second and line coverage of import/ and artifact/.
#   scripts/fuzz.sh [SECONDS]      OCTAVO_DATA: a folder with models/, more seeds (default ../shared/data)
set -eu
seconds=${1:-600}
work=build/fuzz/work
target_bytes=100000  # larger seeds only slow it down
build() {  # build FOLDER SANITIZERS EXTRA_FLAGS TARGETS...
  folder=$1 sanitize=$2 flags=$3
  shift 3
  cmake --preset fuzz -B "$folder" -DOCTAVO_SANITIZE="$sanitize" -DCMAKE_CXX_FLAGS="$flags" >/dev/null
  cmake --build "$folder" --target "$@" >"$folder/build.log" || { tail -n 40 "$folder/build.log"; exit 1; }
}
build build/fuzz "address,undefined,fuzzer-no-link" "" import_fuzz artifact_fuzz
# Coverage is counted by a build of its own, which replays the corpus that fuzzing found.
build build/fuzz-coverage "fuzzer-no-link" "-fprofile-instr-generate -fcoverage-mapping" import_fuzz artifact_fuzz octavo

mkdir -p "$work/import" "$work/artifact" "$work/findings"
seed() {  # seed NAME MODEL: the model, and what it compiles to
  [ -f "$2" ] && [ "$(stat -c %s "$2")" -lt "$target_bytes" ] || return 0
  cp "$2" "$work/import/$1.onnx"
  for options in "--precision fp32" "--calibrate random"; do
    out=$work/artifact/$1$(echo "$options" | tr -d ' -').octv
    [ -f "$out" ] && continue
    LLVM_PROFILE_FILE=/dev/null timeout 30 build/fuzz-coverage/bin/octavo compile "$2" -o "$out" $options --allow-reference >/dev/null 2>&1 || true
  done
}
for model in examples/digits/digits.onnx "${OCTAVO_DATA:-../shared/data}"/models/*.onnx; do
  seed "$(basename "$model" .onnx)" "$model"
done
# The node tests of the onnx package, where `make test` has fetched them: one small model per operator and attribute.
for folder in $(find build -type d -path '*/backend/test/data/node/*' -prune 2>/dev/null); do
  seed "$(basename "$folder")" "$folder/model.onnx"
done

for target in import artifact; do
  build/fuzz/bin/${target}_fuzz "$work/$target" -max_total_time="$seconds" -max_len="$target_bytes" -rss_limit_mb=4096 -timeout=30 \
    -artifact_prefix="$work/findings/" -print_final_stats=1 -detect_leaks=1 >"$work/$target.log" 2>&1 || { tail -n 40 "$work/$target.log"; exit 1; }
  grep -E 'stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' "$work/$target.log" | sed "s/^/$target /"
  LLVM_PROFILE_FILE="$work/$target.profraw" build/fuzz-coverage/bin/${target}_fuzz -runs=0 "$work/$target" >/dev/null 2>&1 || true
  llvm-profdata-16 merge -o "$work/$target.profdata" "$work/$target.profraw"
  llvm-cov-16 report build/fuzz-coverage/bin/${target}_fuzz -instr-profile="$work/$target.profdata" "$PWD/src/$target" |
    awk -v t="$target" '$1 == "TOTAL" { print t " line coverage " $10 }'
done
