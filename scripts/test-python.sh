#!/bin/sh
# Tests of the Python package as users have it: the wheels are built, and each is installed into a fresh environment of its Python,
# away from the build; there python/tests run, mypy checks the types, and examples run. Closes with one summary line. Where pip
# brings nothing, because there is no network, all of it is skipped.
set -eu
cd "$(dirname "$0")/.."
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
counts=$work/counts
check() {  # check NAME COMMAND...: one more that passed or failed
  name=$1
  shift
  if "$@" >"$work/log" 2>&1; then echo "1 passed" >>"$counts"; else cat "$work/log"; echo "failed: $name"; echo "1 failed" >>"$counts"; fi
}
if ! { python3.11 -m venv "$work/probe" && "$work/probe/bin/pip" download -q --no-deps -d "$work" nanobind; } >"$work/log" 2>&1; then
  echo "  wheels: pip brings no packages on this machine ($(tail -n 1 "$work/log"))"
  echo "0 passed, 0 failed, 1 skipped"
  exit
fi
scripts/wheel.sh
for wheel in build/wheels/*-cp311-cp311-* build/wheels/*-cp312-abi3-*; do
  case $wheel in *abi3*) python=python3.12 ;; *) python=python3.11 ;; esac
  if [ ! -f "$wheel" ]; then
    echo "  wheel for $python: no such Python on this machine"
    echo "1 skipped" >>"$counts"
    continue
  fi
  rm -rf "$work/venv" "$work/tests"
  "$python" -m venv "$work/venv"
  "$work/venv/bin/pip" install -q --disable-pip-version-check "$here/$wheel" pytest mypy
  cp -r python/tests "$work/tests"
  echo "$(basename "$wheel"):"
  (cd "$work/tests" && OCTAVO_SOURCE_DIR=$here "$work/venv/bin/python" -m pytest -q -p no:cacheprovider -rs .) >"$work/log" 2>&1 || true
  grep -v '^$' "$work/log"
  tail -n 1 "$work/log" >>"$counts"
  check "mypy" "$work/venv/bin/python" -m mypy --config-file pyproject.toml python/octavo
  for example in digits litert_interpreter onnxruntime_session; do
    check "examples/python/$example.py" env XDG_CACHE_HOME="$work/cache" "$work/venv/bin/python" "examples/python/$example.py"
  done
done
awk '
  { found = 0; for (i = 1; i < NF; i++) if ($(i + 1) ~ /^(passed|failed|error|errors|skipped)/) { n[$(i + 1)] += $i; found = 1 } if (!found) n["failed"]++ }
  END {
    for (word in n) { plain = word; sub(/,$/, "", plain); if (plain ~ /^error/) plain = "failed"; total[plain] += n[word] }
    printf "%d passed, %d failed, %d skipped\n", total["passed"], total["failed"], total["skipped"]
    exit total["failed"] > 0
  }' "$counts"
