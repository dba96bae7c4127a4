#!/bin/sh
# Installs what is missing of the packages listed in the given files (default: packages.txt beside this script), as root or with sudo. On a system without
# dpkg it does nothing: there CMake names what is missing, as Fedora and Arch name it, too (cmake/packages.cmake).
# "PACKAGE [ARCHITECTURE]" is for machines of that architecture alone.
set -eu
cd "$(dirname "$0")"
command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || exit 0
missing=""
for package in $(grep -hv '^#' "${@:-packages.txt}" | awk -v here="[$(dpkg --print-architecture)]" 'NF == 1 || $2 == here { print $1 }'); do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
as_root=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "these packages are missing, and neither root nor sudo is there:$missing" >&2; exit 1; }
  as_root=sudo
fi
echo "installing:$missing"
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
