#!/bin/sh
# Builds the fuzz targets with all of Octavo under the address and undefined-behaviour sanitizers, runs each for a while on seeds made of real
# files, and prints executions per second and, by the preset fuzz, the line coverage of what it is for. Ends with an error at the first finding, which
# lies in build/PRESET/runs/findings/ then. The corpus stays in build/PRESET/runs/ and is continued by the next call.
#   [PRESET=asan-ubsan] scripts/fuzz.sh [SECONDS [TARGET...]]
# TARGET: import, artifact, pt2, tflite. OCTAVO_DATA: a folder with models/, more seeds (default ../shared/data)
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-600}
[ $# -eq 0 ] || shift
targets=${*:-import artifact pt2 tflite}
preset=${PRESET:-fuzz}
fuzz=build/$preset
work=$fuzz/runs
largest=100000  # bytes of a seed; larger ones only slow it down

build() {  # build FOLDER TARGETS...
  folder=$1
  shift
  cmake --build "$folder" --target "$@" >"$folder/fuzz-build.log" 2>&1 || { tail -n 40 "$folder/fuzz-build.log"; exit 1; }
}
[ -f build/build.ninja ] || cmake --preset release >/dev/null
build build octavo import_tests errors_tests
cmake --preset "$preset" >/dev/null
build "$fuzz" import_fuzz artifact_fuzz pt2_fuzz tflite_fuzz
mkdir -p "$work/import" "$work/artifact" "$work/pt2" "$work/tflite" "$work/models" "$work/tflite-models" "$work/findings"

# Models: the shipped and the given ones, those of the tests, and the node tests of the onnx package where `make test` has fetched them.
for model in examples/digits/digits.onnx "${OCTAVO_DATA:-../shared/data}"/models/*.onnx; do
  [ ! -f "$model" ] || cp "$model" "$work/models/"
done
chmod -R u+w "$work/models"
if [ ! -f "$work/models/complete" ]; then
  OCTAVO_SAVE_MODELS=$PWD/$work/models build/bin/import_tests >/dev/null
  OCTAVO_SAVE_MODELS=$PWD/$work/models build/bin/errors_tests --gtest_filter='*BrokenOnnx*:*BrokenExternalData*:Tflite*' >/dev/null
  nodes=build/conformance/onnx/onnx/backend/test/data/node
  grep -v '^#' tests/conformance/passing.txt | while read -r name; do
    [ ! -f "$nodes/$name/model.onnx" ] || cp "$nodes/$name/model.onnx" "$work/models/$name.onnx"
  done
  mv "$work"/models/*.tflite "$work/tflite-models/"
  cp tests/import/litert*/*.tflite tests/import/mediapipe/*.tflite "$work/tflite-models/"
  cp tests/import/ort_optimised/*.ort "$work/models/"
  touch "$work/models/complete"
fi
find "$work/models" -type f -name '*.onnx' -size +"$largest"c -delete

# Compiled models: every seed for every set of instructions that compiles in no time.
if [ ! "$work/compiled" -nt build/bin/octavo ]; then  # another program may write another version
  rm -f "$work"/artifact/seed-*
  find "$work/models" -type f -name '*.onnx' -print0 | xargs -0 -n 8 -P "$(nproc)" sh -c '
    compile() {  # compile NAME OPTIONS...
      out=$0/artifact/seed-$(basename "$model" .onnx)-$1
      shift
      timeout 10 build/bin/octavo compile "$model" -o "$out.octv" --allow-reference "$@" >/dev/null 2>&1 || true
    }
    for model in "$@"; do
      compile f --precision fp32
      compile q --calibrate random
      compile s --calibrate random --target scalar
    done' "$work"
  find "$work/artifact" -type f -size +"$largest"c -delete
  touch "$work/compiled"
fi

fuzz_target() {
  target=$1
  seeds=
  [ "$target" != import ] || seeds=$work/models
  [ "$target" != tflite ] || seeds=$work/tflite-models
  [ "$target" != pt2 ] || seeds=tests/import/pt2
  sources=src/$target
  case $target in pt2 | tflite) sources=src/import/$target ;; esac
  log=$work/$target.log
  LLVM_PROFILE_FILE=$work/$target.profraw "$fuzz/bin/${target}_fuzz" -max_total_time="$seconds" -max_len="$largest" -rss_limit_mb=4096 -timeout=60 \
    -reload=0 -artifact_prefix="$work/findings/" -print_final_stats=1 "$work/$target" $seeds >"$log" 2>&1 || { tail -n 60 "$log"; exit 1; }
  awk -v t="$target" '/^stat::number_of_executed_units/ { n = $2 } /^stat::average_exec_per_sec/ { r = $2 } /^stat::peak_rss_mb/ { m = $2 }
    END { printf "%s: %d executions, %d per second, at most %d MB, no finding\n", t, n, r, m }' "$log"
  [ "$preset" = fuzz ] || return 0
  llvm-profdata-16 merge -o "$work/$target.profdata" "$work/$target.profraw"
  llvm-cov-16 report "$fuzz/bin/${target}_fuzz" -instr-profile="$work/$target.profdata" $(find "$PWD/$sources" -name '*.cpp' -o -name '*.h') \
    >"$work/$target.coverage"
  awk -v t="$target" -v s="$sources" '$1 == "TOTAL" { print t ": " $10 " of the lines of " s "/ covered (" $8 - $9 " of " $8 ")" }' "$work/$target.coverage"
}

# Two at a time: each of them uses one core.
set -- $targets
while [ $# -gt 0 ]; do
  fuzz_target "$1" &
  first=$!
  [ $# -lt 2 ] || fuzz_target "$2"
  wait "$first"
  shift
  [ $# -eq 0 ] || shift
done
