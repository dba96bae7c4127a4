#!/bin/sh
# On a machine with a CUDA device, in the folder of scripts/gpu/pack.sh: all of it, and the table of docs/cuda.md in table.md. Under forty minutes.
set -u
cd "$(dirname "$0")" || exit 1
failed=0
timeout 540 ./kernels.sh || failed=1
timeout 540 ./bits.sh || failed=1
timeout 540 ./tune.sh || failed=1
timeout 540 ./tf32.sh >tf32.txt || failed=1
cat tf32.txt
timeout 540 python3 peers.py | tee peers.txt
timeout 540 ./soak.sh >soaked.txt || failed=1
cat soaked.txt
./table.sh
exit $failed
