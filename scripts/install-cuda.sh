#!/bin/sh
# Unpacks CUDA's compiler (scripts/packages-cuda.txt, from PyPI) into a folder of its own, build/cuda-root, which cmake/cuda.cmake reads. Nothing is
# installed, and no device and no driver is needed.
set -eu
cd "$(dirname "$0")/.."
root=$PWD/build/cuda-root
cmp -s scripts/packages-cuda.txt "$root/packages.txt" && exit 0

wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
grep -v '^#' scripts/packages-cuda.txt >"$wheels/packages.txt"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$wheels" --requirement "$wheels/packages.txt"
rm -rf "$root"
mkdir -p "$root"
for wheel in "$wheels"/*.whl; do python3 -m zipfile -e "$wheel" "$root"; done
rm -rf "$root"/*.dist-info
chmod +x "$root"/nvidia/cu13/bin/* "$root"/nvidia/cu13/nvvm/bin/*
cp scripts/packages-cuda.txt "$root/packages.txt"
echo "CUDA's compiler: build/cuda-root"
