#!/bin/sh
# Runs the node tests of PyPI's onnx 1.22.0 against Octavo and compares with the committed list of passing tests.
#   scripts/conformance/run.sh [RUNNER [FOLDER]] [-- options of conformance_runner]
# RUNNER: build/bin/conformance_runner. FOLDER: the package's backend/test/data/node; where it is not given, the package (data only) is
# installed below build/. Exit 77, with the reason, where there is neither network nor package.
# EMULATOR: what runs RUNNER, for a program of another processor ("qemu-aarch64 -L build/arm64-root").
set -u
skip() {
  printf 'conformance: Skipped\n%s\n' "$1"  # as scripts/run-tests.sh reads it
  exit 77
}
here=$(cd "$(dirname "$0")/../.." && pwd)
runner=$here/build/bin/conformance_runner
folder=
[ $# -gt 0 ] && [ "$1" != -- ] && runner=$1 && shift
[ $# -gt 0 ] && [ "$1" != -- ] && folder=$1 && shift
[ $# -gt 0 ] && shift
build=$(cd "$(dirname "$runner")/.." && pwd)
venv=$build/conformance

if [ -z "$folder" ]; then
  folder=$venv/onnx/onnx/backend/test/data/node
  mkdir -p "$venv"
  exec 9>"$venv/lock"
  flock 9  # of runs side by side one installs it
  if [ ! -f "$venv/complete" ]; then
    python3 -m venv "$venv/venv" >"$venv/install.log" 2>&1 || skip "python3-venv is not installed"
    "$venv/venv/bin/pip" install --no-deps --target "$venv/onnx" onnx==1.22.0 >>"$venv/install.log" 2>&1 ||
      skip "onnx 1.22.0 could not be installed from PyPI ($(tail -n 1 "$venv/install.log"))"
    touch "$venv/complete"
  fi
  exec 9>&-
fi
[ -d "$folder" ] || skip "no node tests in $folder"
# shellcheck disable=SC2086
exec ${EMULATOR:-} "$runner" "$folder" --passing "$here/tests/conformance/passing.txt" \
  --out-of-scope "$here/tests/conformance/out_of_scope.txt" "$@"
