#!/bin/sh
# The runtime library's size without symbols, which may not grow (1.5 MB, for phones), and what it exports: the C API and nothing else.
#   scripts/runtime-size.sh build/arm64-runtime/lib/liboctavo_runtime.so
set -eu
most=1500000
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
llvm-strip-16 -o "$stripped" "$1"
bytes=$(wc -c <"$stripped")
others=$(llvm-nm-16 -D --defined-only "$stripped" | awk '{ print $3 }' | grep -vc '^octavo_' || true)
echo "$1: $bytes bytes stripped, at most $most; $(llvm-nm-16 -D --defined-only "$stripped" | wc -l) functions exported, $others of them not of the C API"
[ "$bytes" -le "$most" ] && [ "$others" -eq 0 ]
