#!/usr/bin/env bash
# Two revisions of the program side by side: run time, loading, compiling, memory and file size of five networks, at
# batch 1 and 64, on 1 and 2 threads. The two binaries alternate, and the old one runs twice a round under two names:
# its ratio to itself is what the machine's noise makes of no change.
#   scripts/compare/revisions.sh OLD NEW [ROUNDS, default 30] [BATCHES, default "1 64"] [THREADS, default "1 2"]
# Prints, per network, batch and threads: minima in ms, new/old and old/old of the minima.
set -euo pipefail
old=$(realpath "$1") new=$(realpath "$2") rounds=${3:-30} batches=${4:-1 64} threads=${5:-1 2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
declare -A program=([old]=$old [again]=$old [new]=$new)
networks="resnet18 mobilenet_v2 efficientnet_v2_s squeezenet1_1 vgg16"

ms() { date +%s%N | cut -c1-13; }

# compile NAME VARIANT BATCH: the compiled file, and a line with what making it took.
compile() {
  local start=$(ms)
  /usr/bin/time -f %M -o "$work/rss" "${program[$2]}" compile "$work/$1.onnx" -o "$work/$1-$2-$3.octv" --batch "$3" \
    --calibrate random --precision int8 --tune off >/dev/null 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
  echo "$1 $3 0 $2 compile_ms $(($(ms) - start))"
  echo "$1 $3 0 $2 compile_kb $(cat "$work/rss")"
  echo "$1 $3 0 $2 file_kb $(($(stat -c %s "$work/$1-$2-$3.octv") / 1024))"
}

# bench NAME VARIANT BATCH THREADS: one process, the least of its runs.
bench() {
  "${program[$2]}" bench "$work/$1-$2-$3.octv" --batch "$3" --threads "$4" --seconds 0.3 --json "$work/bench.json" \
    >/dev/null 2>&1
  python3 - "$work/bench.json" "$1 $3 $4 $2" <<'PYTHON'
import json, sys

run = json.load(open(sys.argv[1]))["runs"][0]
for key, value in (("run_ms", run["latency_ms"]["min"]), ("load_ms", run["load_ms"]), ("rss_mb", run["peak_rss_mb"])):
    print(sys.argv[2], key, value)
PYTHON
}

for network in $networks; do
  "$new" zoo "$network" -o "$work/$network.onnx" >/dev/null
  for batch in $batches; do
    for variant in old new again; do compile "$network" "$variant" "$batch"; done
  done
done >"$work/results"
for ((round = 1; round <= rounds; round++)); do
  echo "round $round of $rounds" >&2
  for network in $networks; do
    for batch in $batches; do
      for count in $threads; do
        for variant in old new again; do bench "$network" "$variant" "$batch" "$count"; done
      done
    done
  done
done >>"$work/results"

python3 - "$work/results" <<'PYTHON'
import collections, sys

least = collections.defaultdict(dict)
for line in open(sys.argv[1]):
    network, batch, threads, variant, key, value = line.split()
    case = least[network, int(batch), int(threads), key]
    case[variant] = min(float(value), case.get(variant, float("inf")))
print(f"{'network':20} {'batch':>5} {'threads':>7} {'what':>10} {'old':>10} {'new':>10} {'new/old':>8} {'old/old':>8}")
for (network, batch, threads, key), case in least.items():
    old = min(case["old"], case["again"])
    print(f"{network:20} {batch:5} {threads or '':>7} {key:>10} {old:10.3f} {case['new']:10.3f} {case['new'] / old:8.3f} "
          f"{max(case['old'], case['again']) / old:8.3f}")
PYTHON
