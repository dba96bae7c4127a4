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

# An apt of its own, which knows of nothing installed: it fetches these packages and all that they depend on.
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
cat >"$apt/apt.conf" <<EOF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Debug::NoLocking "true";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
EOF
export APT_CONFIG="$apt/apt.conf"
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --download-only $packages >/dev/null
rm -rf "$root"
mkdir -p "$root"
for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
# Libraries that packages name by absolute paths are meant below the root.
find "$root" -type l -lname '/*' | while read -r link; do ln -sfn "$root$(readlink "$link")" "$link"; done
cp scripts/packages-arm64-root.txt "$root/packages.txt"
echo "libraries of arm64: build/arm64-root"
