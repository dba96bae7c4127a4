#!/bin/sh
# Tests of the Python package beside the packages that it works with (torch, torchao, executorch, transformers): those that are marked
# `long`, by a Python that has them: $OCTAVO_LONG_PYTHON, else python3. What that Python lacks is skipped and counted.
#   scripts/test-python-long.sh [PYTEST OPTIONS...]      after `make wheel`
set -eu
cd "$(dirname "$0")/.."
python=${OCTAVO_LONG_PYTHON:-python3}
if ! "$python" -c 'import pytest, torch' 2>/dev/null; then
  echo "  Python package, long: $python has no pytest or no torch (set OCTAVO_LONG_PYTHON)"
  echo "0 passed, 0 failed, 1 skipped"
  exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tag=$("$python" -c 'import sys; print("cp311-cp311" if sys.version_info < (3, 12) else "cp312-abi3")')
"$python" -m pip install -q --disable-pip-version-check --no-deps --target "$work/package" build/wheels/*-"$tag"-*.whl
PYTHONPATH=$work/package OCTAVO_SOURCE_DIR=$PWD "$python" -m pytest -q -p no:cacheprovider --show-capture=no -rs -m long "$@" python/tests
