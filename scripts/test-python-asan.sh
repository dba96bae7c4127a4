#!/bin/sh
# Tests of the Python package whose extension, library and program run under address, leak and undefined-behaviour sanitizers,
# those without torch. Python is the system's: the runtime is loaded before it.
#   scripts/test-python-asan.sh [PYTEST OPTIONS...]
set -eu
cd "$(dirname "$0")/.."
here=$PWD
build=$here/build/asan-python
venv=$build/venv
skip() {
  echo "  Python package under sanitizers: $1"
  echo "0 passed, 0 failed, 1 skipped"
  exit
}
command -v clang++-16 >/dev/null || skip "no clang-16 (make test-asan installs it)"
if [ ! -x "$venv/bin/pytest" ]; then
  { python3.11 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check "nanobind>=2.4" numpy pytest; } >/dev/null 2>&1 ||
    skip "pip brings no packages on this machine"
fi
{ cmake --preset asan-python -DPython_EXECUTABLE="$venv/bin/python" && cmake --build "$build" --target octavo_python octavo_packaged; } >"$build.log" 2>&1 ||
  { tail -n 40 "$build.log"; exit 1; }
rm -rf "$build/package"
cmake --install "$build" --component python --prefix "$build/package" >/dev/null
cp -r python/octavo/. "$build/package/octavo/"
runtime=$(clang++-16 -print-file-name=libclang_rt.asan-x86_64.so)
# Left out: limits of time and memory, and what only an installed wheel has.
LD_PRELOAD="$runtime $(g++ -print-file-name=libstdc++.so.6)" PYTHONMALLOC=malloc \
  ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
  LSAN_OPTIONS="suppressions=$here/python/tests/lsan.supp:print_suppressions=0" \
  PYTHONPATH=$build/package OCTAVO_SOURCE_DIR=$here \
  "$venv/bin/python" -m pytest -q -p no:cacheprovider -rs -m "not long" --ignore=python/tests/test_overhead.py \
  -k "not memory_does_not_grow and not importing_is_quick and not command_comes_with_the_wheel" "$@" python/tests >"$build/tests.log" 2>&1 || failed=1
grep -v '^$' "$build/tests.log"
if grep -q '^nanobind: leaked' "$build/tests.log"; then echo "failed: objects of the extension are left at exit" && failed=1; fi
exit "${failed:-0}"
