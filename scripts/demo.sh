#!/bin/sh
# The demo: the shipped network calibrated, compiled and evaluated; two large networks timed in fp32 and int8; what to try next.
#   scripts/demo.sh path/to/octavo
set -eu
octavo=$1
examples=$(dirname "$0")/../examples/digits
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() {
  printf '$ octavo %s\n' "$*" | sed "s#$work/##g; s#$examples/#examples/digits/#g"
  "$octavo" "$@"
}

say "1. A small trained network (convolution, depthwise, squeeze-excite, SiLU, residuals) goes from fp32 to int8"
show compile "$examples/digits.onnx" -o "$work/digits-fp32.octv" --precision fp32
show compile "$examples/digits.onnx" -o "$work/digits-int8.octv" --calibrate "$examples/calibration.npz" --preprocess tf
show evaluate "$work/digits-fp32.octv" "$work/digits-int8.octv" --images "$examples/test.npz" --preprocess tf

say "2. Two large networks with seeded weights, fp32 and int8 measured in turns"
for name in resnet18 efficientnet_v2_s; do
  show zoo "$name" -o "$work/$name.onnx"
  show bench "$work/$name.onnx" --compare fp32,int8 --calibrate random --seconds 5
done

say "3. Your own model"
cat <<'NEXT'
  octavo inspect  model.onnx                                              what is in it
  octavo compile  model.onnx -o model.octv --calibrate images/ --preprocess torch
  octavo evaluate model.onnx model.octv --images images/ --labels labels.txt --preprocess torch
  octavo bench    model.onnx --compare fp32,int8 --calibrate images/ --preprocess torch
  octavo --help, and docs/cli.md
NEXT
