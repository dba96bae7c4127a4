#!/bin/sh
# A small part of what is shown of aarch64 (docs/arm.md), in minutes: the runtime library for phones is built by clang, its size and exports are checked, and
# small models that the tests have, compiled by build/bin/octavo for each target, give this machine's bytes under qemu-user. Closes with one summary line;
# where packages for aarch64 cannot be had, because there is no network, all of it is skipped.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { scripts/install-arm64.sh && scripts/install-packages.sh packages-fuzz.txt; } >"$log" 2>&1; then
  echo "  arm64: the packages for aarch64 cannot be had on this machine ($(tail -n 1 "$log"))"
  echo "0 passed, 0 failed, 1 skipped"
  exit
fi
cmake --preset arm64-runtime >/dev/null
cmake --build build/arm64-runtime
scripts/runtime-size.sh build/arm64-runtime/lib/liboctavo_runtime.so

export BUILD=build/arm64-runtime
failed=0
{
  # What processors refuse is asked of the last model: one with convolutions, whose kernels differ by target.
  scripts/arm64-bits.sh tests/data/images/photo.bmp tests/import/litert/*.tflite tests/import/tfmot/digits.tflite tests/import/pt2/block_qdq.onnx || failed=1
  OPTIONS="--shape input_ids=1x12 --shape attention_mask=1x12" scripts/arm64-bits.sh tests/data/images/photo.bmp \
    tests/import/encoders/bert_ort_qdq.onnx tests/import/encoders/bert_ort_dynamic.onnx || failed=1
} >"$log" 2>&1
grep -vE '^(same|refused) ' "$log" || true
awk -v failed="$failed" '
  /^(same|refused) / { passed++ }
  /^(DIFFERENT|NOT REFUSED) / { different++ }
  END { printf "%d passed, %d failed, 0 skipped\n", passed, different < failed ? failed : different }' "$log"
exit "$failed"
