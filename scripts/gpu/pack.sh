#!/bin/sh
# Makes build/gpu.tar.xz: all that a bare machine with a CUDA device needs to say whether plans for devices are right, and how fast: the program with the
# libraries that it links, the kernels, and the commands below. No model is in it; they are made there.
#   scripts/gpu/pack.sh
#   on the machine: tar xf gpu.tar.xz && cd gpu, then ./bits.sh; ./peers.py; ./soak.sh      (each under nine minutes)
set -eu
cd "$(dirname "$0")/../.."
make -s cuda >/dev/null
cmake --build build --target octavo >/dev/null
folder=build/gpu
rm -rf "$folder"
mkdir -p "$folder/lib"
strip -o "$folder/octavo" build/bin/octavo
cp build/cuda/lib/liboctavo_cuda.so "$folder/lib"
# What any glibc machine has stays out.
ldd build/bin/octavo | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' | xargs -I{} cp -L {} "$folder/lib"
cp scripts/gpu/bits.sh scripts/gpu/peers.py scripts/gpu/soak.sh "$folder"
tar -C build -cJf "$folder.tar.xz" gpu
bytes=$(stat -c %s "$folder.tar.xz")
echo "$folder.tar.xz: $bytes bytes"
[ "$bytes" -le $((64 << 20)) ]
