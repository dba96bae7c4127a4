#!/usr/bin/env bash
# What a build from nothing costs: builds into a folder of its own, without a compiler cache, and compares the CPU time with scripts/build-cost.txt, so that
# a build that becomes slower is noticed when it does. Machines differ, and so does one machine from hour to hour: the unit is the time that compiling one
# fixed source takes here, measured before and after. Warns beyond a tenth; never fails.
#   scripts/build-cost.sh [FOLDER]        default: build
#   scripts/build-cost.sh --write FOLDER  writes the number anew
set -euo pipefail
cd "$(dirname "$0")/.."
export CCACHE_DISABLE=1
writes=no
[ "${1:-}" != --write ] || { writes=yes; shift; }
folder=${1:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%U %S'
exec 3>&2
cpu_seconds() {  # cpu_seconds COMMAND...: user and system time of it and its children
  { time "$@" >"$work/log" 2>&1 || { cat "$work/log" >&3; exit 1; }; } 2>&1 | awk 'END { print $1 + $2 }'
}
cat >"$work/reference.cpp" <<'SOURCE'
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
std::map<std::string, double> sums(const nlohmann::json& rows, const std::regex& names) {
  std::map<std::string, double> result;
  for (const auto& row : rows)
    if (std::regex_match(row.at("name").get<std::string>(), names)) result[row.at("name")] += row.at("value").get<double>();
  return result;
}
SOURCE
reference() {  # of one, as the mean of five
  cpu_seconds bash -c 'for turn in 1 2 3 4 5; do g++ -std=c++20 -O2 -c "$1/reference.cpp" -o "$1/reference.o"; done' - "$work" | awk '{ print $1 / 5 }'
}
[ ! -d "$folder" ] || [ ! -f "$folder/.ninja_log" ] || { echo "build cost: $folder is built already, so nothing is measured"; exit 0; }
cmake --preset release -B "$folder" >/dev/null
before=$(reference)
build=$(cpu_seconds cmake --build "$folder")
after=$(reference)
read -r units seconds <<<"$(awk -v b="$build" -v r="$before" -v s="$after" 'BEGIN { printf "%.0f %.0f\n", 2 * b / (r + s), b }')"
if [ "$writes" = yes ]; then
  sed -i "s/^[0-9]*$/$units/" scripts/build-cost.txt
fi
known=$(grep -v '^#' scripts/build-cost.txt)
awk -v units="$units" -v known="$known" -v seconds="$seconds" 'BEGIN {
  difference = 100 * (units / known - 1)
  printf "build cost: %d CPU seconds, %d times the reference source; the repository says %d (%+.0f %%)\n", seconds, units, known, difference
  if (difference > 10) print "warning: a build from nothing has become more than a tenth slower; scripts/build_times.py says where"
  if (difference < -10) print "warning: a build from nothing has become more than a tenth faster: scripts/build-cost.sh --write keeps the number true"
}'
