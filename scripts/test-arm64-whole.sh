#!/bin/sh
# All that is shown of aarch64 under qemu-user (docs/arm.md): builds programs and tests for it, then runs conformance, the tests of kernels, those of whole
# models, and quantized models beside this machine's bytes, as four processors. What has passed since it was built is not run again. Closes with one
# summary line; where packages for aarch64 cannot be had, because there is no network, all of it is skipped.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! scripts/install-arm64.sh >"$log" 2>&1; then
  echo "  arm64: the packages for aarch64 cannot be had on this machine ($(tail -n 1 "$log"))"
  echo "0 shards passed, 0 failed, 1 skipped"
  exit
fi
cmake --preset arm64 >/dev/null
cmake --build build/arm64 --target octavo answer_picture conformance_runner kernels_tests bits_tests
scripts/test-arm64.sh conformance_runner models kernels_tests bits_tests
