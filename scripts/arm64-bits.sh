#!/bin/sh
# Compiles quantized models here for each target of aarch64, runs them on a picture under qemu-user as processors that have no more than the target needs,
# and compares the bytes of their outputs with those that this machine computes for itself; then that a processor refuses a file for one that has more (exit 5),
# and one of this machine (exit 2). After make build and make arm64 (or their targets octavo and answer_picture).
#   scripts/arm64-bits.sh PICTURE.bmp MODEL...
#   OPTIONS="--calibrate random --shape input_ids=1x16;attention_mask=1x16" scripts/arm64-bits.sh PICTURE.bmp ENCODER.onnx     options of octavo compile
#   BUILD=build/arm64-runtime scripts/arm64-bits.sh ...     the runtime library that clang built
#   KEEP=FILE scripts/arm64-bits.sh ...     what is the same is noted there, and not done again while the program stays as it is
set -u
[ $# -ge 2 ] || { sed -n '2,9s/^# //p' "$0"; exit 2; }
picture=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$(cd "$(dirname "$0")/.." && pwd)
here=$root/build/bin there=$root/${BUILD:-build/arm64}
keep=${KEEP:-$work/keep}
[ "$keep" -nt "$there/bin/answer_picture" ] || : >"$keep"
differ=0
compile() {
  # shellcheck disable=SC2086
  "$here/octavo" compile "$@" ${OPTIONS:-} >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
answer() {  # answer CPU FILE RESULT
  qemu-aarch64 -cpu "$1" -L "$root/build/arm64-root" "$there/bin/answer_picture" "$2" "$picture" "$3" 2>"$work/log"
}
refused() {  # refused CPU FILE EXIT PART-OF-THE-MESSAGE
  answer "$1" "$2" "$work/none.bin"
  code=$?
  if [ $code -eq "$3" ] && grep -q "$4" "$work/log"; then
    echo "refused    as $1: $4"
  else
    differ=$((differ + 1))
    echo "NOT REFUSED as $1: exit $code, expected $3 and '$4'; $(cat "$work/log")"
  fi
}
for model in "$@"; do
  name=$(basename "$model")
  if [ "$(grep -cF "same       $name " "$keep")" -eq 5 ]; then
    echo "same       $name, as before"
    continue
  fi
  compile "$model" -o "$work/host.octv"
  "$here/answer_picture" "$work/host.octv" "$picture" "$work/host.bin" || exit 1
  for pair in arm64-neon:cortex-a72 arm64-neon:cortex-a76 arm64-dotprod:cortex-a76 arm64-i8mm:max,sve=off arm64-i8mm:max,sve256=on; do
    target=${pair%%:*} cpu=${pair#*:}
    compile "$model" --target "$target" -o "$work/$target.octv"
    if answer "$cpu" "$work/$target.octv" "$work/arm.bin" && cmp -s "$work/host.bin" "$work/arm.bin"; then
      echo "same       $name $target as $cpu: $(wc -c <"$work/arm.bin") bytes" | tee -a "$keep"
    else
      differ=$((differ + 1))
      echo "DIFFERENT  $name $target as $cpu"
      cat "$work/log"
    fi
  done
done
if [ -f "$work/host.octv" ]; then
  refused cortex-a72 "$work/arm64-dotprod.octv" 5 "which needs dotprod"
  refused cortex-a76 "$work/arm64-i8mm.octv" 5 "which needs i8mm"
  refused max "$work/host.octv" 2 "a file for another processor, which holds: "
fi
[ "$differ" -eq 0 ]
