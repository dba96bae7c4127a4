#!/bin/sh
# Installs what cross building for aarch64 needs: a compiler and qemu-user on this machine (root or sudo), and the libraries of arm64 in a folder of
# their own, build/arm64-root, which cmake/arm64.cmake and scripts/test-arm64.sh read. Nothing that is installed is replaced: packages of two
# architectures side by side have to be of the same version, and would upgrade this machine's.
set -eu
cd "$(dirname "$0")/.."
scripts/install-packages.sh packages-arm64.txt

root=$PWD/build/arm64-root
packages=$(grep -hv '^#' scripts/packages-arm64-root.txt)
cmp -s scripts/packages-arm64-root.txt "$root/packages.txt" && exit 0

# shellcheck disable=SC2086
scripts/unpack-arm64.sh "$root" $packages
cp scripts/packages-arm64-root.txt "$root/packages.txt"
echo "libraries of arm64: build/arm64-root"
