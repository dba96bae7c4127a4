#!/bin/sh
# Tests of the Python package as users have it: the wheels are built, and each is installed into a fresh environment of its Python
# (that of the stable ABI: of every Python from 3.12 on), away from the build; there python/tests run, mypy checks the types, and
# examples run; then stand-ins and metrics beside the packages that they stand in for or use. Closes with one summary line. Where pip brings
# nothing, because there is no network, all of it is skipped.
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
tests() {  # tests PYTEST OPTIONS AND FILES...: in the copy of python/tests
  (cd "$work/tests" && OCTAVO_SOURCE_DIR=$here "$work/venv/bin/python" -m pytest -q -p no:cacheprovider -rs "$@") >"$work/log" 2>&1 || true
  grep -v '^$' "$work/log"
  tail -n 1 "$work/log" >>"$counts"
}
test_wheel() {  # test_wheel WHEEL PYTHON
  rm -rf "$work/venv" "$work/tests"
  "$2" -m venv "$work/venv"
  "$work/venv/bin/pip" install -q --disable-pip-version-check "$here/$1" pytest mypy
  cp -r python/tests "$work/tests"
  echo "$(basename "$1"), $2:"
  tests .
  check "mypy" "$work/venv/bin/python" -m mypy --config-file pyproject.toml python/octavo
  for example in digits litert_interpreter onnxruntime_session; do
    check "examples/python/$example.py" env XDG_CACHE_HOME="$work/cache" "$work/venv/bin/python" "examples/python/$example.py"
  done
  # quant_pre_process of onnxruntime needs sympy.
  if "$work/venv/bin/pip" install -q --disable-pip-version-check onnx==1.23.2 onnxruntime sympy ai-edge-litert tokenizers scipy pycocotools jiwer >"$work/log" 2>&1; then
    echo "$(basename "$1"), $2, beside onnx, onnxruntime, ai-edge-litert, tokenizers, scipy, pycocotools and jiwer:"
    tests -m "not long" test_litert.py test_metrics.py test_onnx_backend.py test_onnxruntime.py test_sentence_transformers.py test_verbs.py
  else
    echo "  stand-ins beside the real packages: pip does not bring them for $2 ($(tail -n 1 "$work/log"))"
    echo "1 skipped" >>"$counts"
  fi
}
for wheel in build/wheels/*-cp311-cp311-* build/wheels/*-cp312-abi3-*; do
  case $wheel in *abi3*) pythons="python3.12 python3.13 python3.14" ;; *) pythons=python3.11 ;; esac
  is_tested=no
  for python in $pythons; do
    if [ -f "$wheel" ] && "$python" -c '' 2>/dev/null; then test_wheel "$wheel" "$python" && is_tested=yes; fi
  done
  if [ "$is_tested" = no ]; then
    echo "  wheel for $pythons: no such Python on this machine"
    echo "1 skipped" >>"$counts"
  fi
done
awk '
  { found = 0; for (i = 1; i < NF; i++) if ($(i + 1) ~ /^(passed|failed|error|errors|skipped)/) { n[$(i + 1)] += $i; found = 1 } if (!found) n["failed"]++ }
  END {
    for (word in n) { plain = word; sub(/,$/, "", plain); if (plain ~ /^error/) plain = "failed"; total[plain] += n[word] }
    printf "%d passed, %d failed, %d skipped\n", total["passed"], total["failed"], total["skipped"]
    exit total["failed"] > 0
  }' "$counts"
