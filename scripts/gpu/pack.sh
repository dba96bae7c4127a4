#!/bin/sh
# Makes build/gpu.tar.xz: all that a bare machine with a CUDA device needs to say whether plans for devices are right, and how fast: the program with the
# libraries that it links, the kernels, and the commands below. Networks of the zoo are made there; files of others are carried where they are named.
#   scripts/gpu/pack.sh [MODEL...]
#   on the machine: tar xf gpu.tar.xz && cd gpu && ./all.sh, or ./kernels.sh; ./bits.sh; ./tune.sh; ./tf32.sh; ./peers.py | tee peers.txt; ./soak.sh (each under nine minutes); ./table.sh
set -eu
cd "$(dirname "$0")/../.."
make -s cuda >/dev/null
cmake --build build --target octavo kernels_tests >/dev/null
folder=build/gpu
rm -rf "$folder"
mkdir -p "$folder/lib" "$folder/models"
for program in octavo kernels_tests; do strip -o "$folder/$program" build/bin/$program; done
cp build/cuda/lib/liboctavo_cuda.so "$folder/lib"
# What any glibc machine has stays out.
ldd build/bin/octavo build/bin/kernels_tests | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' | sort -u | xargs -I{} cp -L {} "$folder/lib"
cp scripts/gpu/*.sh scripts/gpu/peers.py "$folder"
rm "$folder/pack.sh"
for model in "$@"; do cp "$model" "$folder/models"; done
tar -C build -cJf "$folder.tar.xz" gpu
bytes=$(stat -c %s "$folder.tar.xz")
echo "$folder.tar.xz: $bytes bytes"
[ "$bytes" -le $((64 << 20)) ] || { echo "$0: more than 64 MiB: name fewer models" >&2; exit 1; }
