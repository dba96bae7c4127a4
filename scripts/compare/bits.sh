#!/usr/bin/env bash
# Hashes of what a binary answers on quantized models: a line per model, rounding profile and target. Two binaries, or
# two machines, that promise the same bits print the same lines.
#   scripts/compare/bits.sh OCTAVO [TARGET ...] >new.txt; diff old.txt new.txt
# Targets default to those of this machine. Models are the quantized files of ../shared/data (or $OCTAVO_DATA) and of
# tests/import, and fp32 files with the scales stored in tests/bits/scales; fp32 and auto are left out, which oneDNN
# computes. scalar takes small models only.
set -euo pipefail
octavo=$(realpath "$1")
shift
root=$(realpath "$(dirname "$0")/../..")
data=${OCTAVO_DATA:-$root/../shared/data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  targets=(scalar)
  machine=$("$octavo" inspect --machine)
  for target in avx2 avxvnni avx512vnni; do grep -qw "$target" <<<"$machine" && targets+=("$target"); done
  grep -qw amx_int8 <<<"$machine" && targets+=(amx)
fi

# inputs MODEL FOLDER: a seeded .npy per input of the model, at batch 1, named NAME=FILE on standard output.
inputs() {
  "$octavo" inspect "$1" --json "$2/model.json" >/dev/null
  python3 - "$2" <<'PYTHON'
import array, json, math, pathlib, random, sys

folder = pathlib.Path(sys.argv[1])
for index, tensor in enumerate(json.load(open(folder / "model.json"))["inputs"]):
    shape = [size if isinstance(size, int) and size > 0 else 1 for size in tensor["shape"]]
    draw = random.Random(index + 1)
    count = math.prod(shape)
    kinds = {"f32": ("<f4", "f", lambda: draw.gauss(0, 1)), "u8": ("|u1", "B", lambda: draw.randrange(256)),
             "s8": ("|i1", "b", lambda: draw.randrange(-128, 128))}
    code, letter, value = kinds[tensor["dtype"]]
    header = repr({"descr": code, "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path = folder / f"input{index}.npy"
    values = array.array(letter, (value() for _ in range(count)))
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values.tobytes())
    print(f"{tensor['name']}={path}")
PYTHON
}

# answer LABEL MODEL OPTION...: a line of hashes per target.
answer() {
  local label=$1 model=$2 folder="$work/in" options=()
  shift 2
  mkdir -p "$folder"
  while read -r input; do options+=(--input "$input"); done < <(inputs "$model" "$folder")
  for target in "${targets[@]}"; do
    [ "$target" != scalar ] || [ "$(stat -c %s "$model")" -lt 600000 ] || continue
    rm -rf "$work/out" && mkdir "$work/out"
    local hash
    if hash=$("$octavo" run "$model" "${options[@]}" --output-dir "$work/out" --target "$target" "$@" 2>&1); then
      hash=$(cd "$work/out" && sha256sum -- * | sha256sum | cut -c1-16)
    else
      hash="refused ($(tail -n 1 <<<"$hash" | sed "s#$data#DATA#g; s#$root#.#g"))"
    fi
    echo "$label $target $hash"
  done
}

for model in "$data"/models/*{qdq,qop}*.onnx "$root"/tests/import/pt2/pt2e*.pt2; do
  [ ! -e "$model" ] || answer "$(basename "$model")" "$model"
done
for model in "$data"/models/*{quant,int8,ptq,floatio,dynamic_range}.tflite "$data"/tflite_graphs/*.tflite; do
  [ -e "$model" ] || continue
  for profile in tflite-xnnpack tflite-double tflite-single; do
    answer "$(basename "$model") $profile" "$model" --rounding "$profile"
  done
done
for scales in "$root"/tests/bits/scales/*.json; do
  model=$data/models/$(basename "$scales" .json).onnx
  [ ! -e "$model" ] || answer "$(basename "$model") scales" "$model" --scales "$scales"
done
