#!/bin/sh
# Runs the tests of a build folder (default: build) with ctest, lists the skipped ones with their reasons, and closes
# with one summary line. A skipped test that could have run here counts as failed.
#   scripts/run-tests.sh [BUILD [ctest options...]]
set -u
build=${1:-build}
[ $# -gt 0 ] && shift
scripts=$(dirname "$0")
log=$build/tests.log
export TSAN_OPTIONS="suppressions=$(cd "$scripts/.." && pwd)/tests/tsan_suppressions.txt ${TSAN_OPTIONS:-}"
ctest --test-dir "$build" --no-tests=error --output-on-failure -j "$(nproc)" "$@" >"$log" 2>&1
code=$?
grep -vE ' Passed +[0-9.]+ sec$|^ *Start +[0-9]+:|\*\*\*Skipped' "$log"
# The last-test log holds each test's output after its name; a skipped one states its reason in the line after "Skipped".
reasons=$(awk '
  /^[0-9]+\/[0-9]+ Test: / { name = $3 }
  /: Skipped$/ { getline reason; print "  " name ": " reason }
' "$build/Testing/Temporary/LastTest.log" 2>/dev/null | sort -u)
[ -z "$reasons" ] || printf 'skipped, with reasons:\n%s\n' "$reasons"
case $(uname -m) in  # under qemu-user /proc/cpuinfo may be that of the machine around it
  aarch64) has=$(grep -m 1 ^Features /proc/cpuinfo | cut -d: -f2 | sed 's/\<asimd\>/neon/; s/\<asimddp\>/dotprod/') ;;
  *) has=$(grep -m 1 ^flags /proc/cpuinfo | cut -d: -f2 | tr _ ' ' | sed 's/avx512 vnni/avx512vnni/; s/amx int8/amx_int8/') ;;
esac
[ ! -d "${OCTAVO_DATA:-../shared/data}/models" ] || has="$has models"
[ ! -x "$build/bin/octavo" ] || has="$has program"
could=$(printf '%s\n' "$reasons" | awk -v has="$has" -f "$scripts/check-skips.awk") || code=1
[ -z "$could" ] || printf '%s\n' "$could"
awk -v could="$(printf '%s' "$could" | grep -c .)" '
  / Passed +[0-9.]+ sec$/ { passed++ }
  /\*\*\*Failed|\*\*\*Timeout|\*\*\*Exception|\*\*\*Not Run/ { failed++ }
  /\*\*\*Skipped/ { skipped++ }
  END { printf "%d passed, %d failed, %d skipped\n", passed, failed + could, skipped - could }' "$log"
exit $code
