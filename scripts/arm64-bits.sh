#!/bin/sh
# Compiles quantized models here for each target of aarch64, runs them on a picture under qemu-user as processors that have no more than the target needs,
# and compares the bytes of their outputs with those that this machine computes for itself. After make build and make arm64 (or their targets octavo and
# answer_picture).
#   scripts/arm64-bits.sh PICTURE.bmp MODEL...
set -u
[ $# -ge 2 ] || { sed -n '2,5s/^# //p' "$0"; exit 2; }
picture=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$(cd "$(dirname "$0")/.." && pwd)
here=$root/build/bin there=$root/build/arm64
differ=0
for model in "$@"; do
  name=$(basename "$model")
  "$here/octavo" compile "$model" -o "$work/host.octv" >/dev/null && "$here/answer_picture" "$work/host.octv" "$picture" "$work/host.bin" || exit 1
  for pair in arm64-neon:cortex-a72 arm64-neon:cortex-a76 arm64-dotprod:cortex-a76 arm64-i8mm:max,sve=off arm64-i8mm:max,sve256=on; do
    target=${pair%%:*} cpu=${pair#*:}
    "$here/octavo" compile "$model" --target "$target" -o "$work/arm.octv" >/dev/null || exit 1
    if qemu-aarch64 -cpu "$cpu" -L "$root/build/arm64-root" "$there/bin/answer_picture" "$work/arm.octv" "$picture" "$work/arm.bin" &&
      cmp -s "$work/host.bin" "$work/arm.bin"; then
      echo "same       $name $target as $cpu: $(wc -c <"$work/arm.bin") bytes"
    else
      differ=$((differ + 1))
      echo "DIFFERENT  $name $target as $cpu"
    fi
  done
done
[ "$differ" -eq 0 ]
