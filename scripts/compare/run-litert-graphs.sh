#!/bin/sh
# Compares random quantized .tflite graphs with LiteRT, live; LiteRT is installed from PyPI below build/ where it is not there.
#   scripts/compare/run-litert-graphs.sh OCTAVO [options of litert_graphs.py]
# Exit 77, with the reason, where there is neither network nor package.
set -u
skip() {
  printf 'litert_graphs: Skipped\n%s\n' "$1"  # as scripts/run-tests.sh reads it
  exit 77
}
here=$(cd "$(dirname "$0")" && pwd)
octavo=$1
shift
venv=$(cd "$(dirname "$octavo")/.." && pwd)/litert
if [ ! -f "$venv/complete" ]; then
  mkdir -p "$venv"
  python3 -m venv "$venv/venv" >"$venv/install.log" 2>&1 || skip "python3-venv is not installed"
  "$venv/venv/bin/pip" install ai-edge-litert==2.3.0 flatbuffers numpy >>"$venv/install.log" 2>&1 ||
    skip "ai-edge-litert 2.3.0 could not be installed from PyPI ($(tail -n 1 "$venv/install.log"))"
  touch "$venv/complete"
fi
exec "$venv/venv/bin/python" "$here/litert_graphs.py" --octavo "$octavo" "$@"
