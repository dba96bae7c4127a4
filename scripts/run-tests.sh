#!/bin/sh
# Runs the tests of a build folder (default: build) with ctest, lists the skipped ones with their reasons, and closes with one summary line.
#   scripts/run-tests.sh [BUILD [ctest options...]]
set -u
build=${1:-build}
[ $# -gt 0 ] && shift
log=$build/tests.log
ctest --test-dir "$build" --output-on-failure -j "$(nproc)" "$@" >"$log" 2>&1
code=$?
grep -vE ' Passed +[0-9.]+ sec$|^ *Start +[0-9]+:|\*\*\*Skipped' "$log"
# The last-test log holds each test's output after its name; a skipped one states its reason in the line after "Skipped".
reasons=$(awk '
  /^[0-9]+\/[0-9]+ Test: / { name = $3 }
  /: Skipped$/ { getline reason; print "  " name ": " reason }
' "$build/Testing/Temporary/LastTest.log" 2>/dev/null | sort -u)
[ -z "$reasons" ] || printf 'skipped, with reasons:\n%s\n' "$reasons"
awk '
  / Passed +[0-9.]+ sec$/ { passed++ }
  /\*\*\*Failed|\*\*\*Timeout|\*\*\*Exception|\*\*\*Not Run/ { failed++ }
  /\*\*\*Skipped/ { skipped++ }
  END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$log"
exit $code
