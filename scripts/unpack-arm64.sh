#!/bin/sh
# Fetches Debian's packages of arm64, and all that they depend on, and unpacks them into a folder. Nothing is installed on this machine.
#   scripts/unpack-arm64.sh FOLDER PACKAGE...
set -eu
root=$1
shift

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
apt-get install -y -qq --download-only "$@" >/dev/null
rm -rf "$root"
mkdir -p "$root"
root=$(cd "$root" && pwd)
for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
# Libraries that packages name by absolute paths are meant below the root.
find "$root" -type l -lname '/*' | while read -r link; do ln -sfn "$root$(readlink "$link")" "$link"; done
