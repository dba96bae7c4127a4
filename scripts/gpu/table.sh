#!/bin/sh
# bits.txt and peers.txt as the table of docs/cuda.md, in ms; what was not measured is empty.
cd "$(dirname "$0")" || exit 1
cat bits.txt peers.txt 2>/dev/null | awk '
  / batch [0-9]+: .*predicted/ {
    key = $1 " | " substr($3, 1, length($3) - 1); order[++rows] = key
    bits[key] = /the same bytes/ ? "same" : "OTHER"
    split($0, part, "; "); split(part[2], time, " "); ours[key] = time[1]; predicted[key] = $(NF - 1)
    split(part[2], places, ", "); split(places[2], time, " "); copied[key] = time[1]
  }
  / batch [0-9]+ (fp32|tf32|fp16) (eager|compiled): [0-9.]+ ms/ {
    key = $1 " | " $3; how = $5; sub(":", "", how); theirs[key, $4 " " how] = $6
    if (!(key in ours)) { order[++rows] = key; ours[key] = "" }
  }
  END {
    count = split("fp32 eager,fp32 compiled,tf32 eager,tf32 compiled,fp16 eager,fp16 compiled", ways, ",")
    line = "| network | batch | bytes | predicted | Octavo, int8 | with copies |"; rule = "| --- | --- | --- | --- | --- | --- |"
    for (i = 1; i <= count; ++i) { line = line " PyTorch " ways[i] " |"; rule = rule " --- |" }
    print line; print rule
    for (row = 1; row <= rows; ++row) {
      key = order[row]; line = "| " key " | " bits[key] " | " predicted[key] " | " ours[key] " | " copied[key] " |"
      for (i = 1; i <= count; ++i) line = line " " theirs[key, ways[i]] " |"
      print line
    }
  }' | tee table.md
