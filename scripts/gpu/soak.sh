#!/bin/sh
# On a machine with a CUDA device, in the folder of scripts/gpu/pack.sh, after bits.sh: compute-sanitizer, where it is there; then runs without end of one plan,
# alone and in four contexts, whose memory must not grow.
set -u
cd "$(dirname "$0")" || exit 1
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
network=${1:-mobilenet_v2}
failed=0
[ -f "$network.q.onnx" ] || { echo "$network.q.onnx is not there: ./bits.sh $network" >&2; exit 1; }
./octavo compile "$network.q.onnx" --target cuda --batch 4 -o soak.octv >/dev/null || exit 1
# What an encoder has of its own: attention, norms.
[ ! -f minilm_l6.onnx ] || ./octavo compile minilm_l6.onnx --calibrate random --samples 1 --target cuda -o encoder.octv >/dev/null || failed=1
for plan in soak.octv encoder.octv; do
  [ -f $plan ] || { echo "$plan is not there: ./bits.sh minilm_l6"; continue; }
  for tool in memcheck racecheck synccheck; do
    if command -v compute-sanitizer >/dev/null; then
      timeout 100 compute-sanitizer --target-processes all --tool $tool --error-exitcode 9 ./octavo bench $plan --seconds 0.1 >sanitizer-$tool-$plan.txt 2>&1 && echo "$plan, $tool: clean" || { echo "$plan, $tool: see sanitizer-$tool-$plan.txt"; failed=1; }
    else
      echo "$tool: compute-sanitizer is not there"
    fi
  done
done
used() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -1; }
./octavo bench soak.octv --tensors device --seconds 120 >soak.txt 2>&1 &
soak=$!
sleep 10; before=$(used); sleep 100; after=$(used)
wait $soak || failed=1
echo "device memory after 10 s: $before MiB, after 110 s: $after MiB"
[ "$before" = "$after" ] || failed=1
./octavo bench soak.octv --contexts 4 --threads-per-context 1 --seconds 20 || failed=1
exit $failed
