"""Prints the tables of docs/conformance.md from the results.jsonl of torchvision_networks.py."""

import argparse
import math
import pathlib

import networks
from torchvision_networks import DIALECTS, rows_of

TITLES = {"qdq_u8": "QDQ u8", "qdq_s8": "QDQ s8", "qop_u8": "QOp u8", "qop_s8": "QOp s8"}


def table(titles, rows):
    print("| " + " | ".join(titles) + " |")
    print("|" + " --- |" * len(titles))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def decibels(value):
    return "equal" if math.isinf(value) else f"{value:.1f}"


def differing(result):
    return str(sum(c["differing"] for c in result["operators"].values()))


def network_rows(results):
    for row in results:
        whole = [f"{decibels(row[d]['sqnr_octavo'])} / {decibels(row[d]['sqnr_ort_unoptimized'])}" for d in DIALECTS]
        elements = sum(c["elements"] for c in row["qdq_u8"]["operators"].values())
        yield [
            row["name"],
            f"{row['parameters'] / 1e6:.1f} M",
            f"{row['seed']}{'s' if row.get('images') == 'synthetic' else ''}, {row['answers']}",
            f"{row['fp32']['relative_error']:.0e}",
            f"{elements / 1e6:.1f} M",
            *(differing(row[d]) for d in DIALECTS),
            *whole,
            decibels(row["qdq_s8"]["sqnr_octavo_to_ort_qop_s8"]) if "sqnr_octavo_to_ort_qop_s8" in row["qdq_s8"] else "",
        ]


def operator_rows(results, dialect):
    totals = {}
    for row in results:
        for operator, count in row[dialect]["operators"].items():
            total = totals.setdefault(operator, {"networks": 0, "tensors": 0, "elements": 0, "differing": 0, "largest": 0, "ties": []})
            total["networks"] += 1
            for key in ("tensors", "elements", "differing"):
                total[key] += count[key]
            total["largest"] = max(total["largest"], count.get("largest", 0))
            total["ties"] += count.get("ties", [])
    for operator, total in sorted(totals.items()):
        ties = [t for t in total["ties"] if t is not None]
        furthest = f"{max(ties):.0e}" if ties else ""
        counts = [f"{total[key]:,}" for key in ("networks", "tensors", "elements", "differing")]
        yield [TITLES[dialect], operator, *counts, str(total["largest"] or ""), furthest]


def float_nodes(results):
    """Per network and dialect the types of the operators that stay in float, with their number."""
    for row in results:
        for dialect in DIALECTS:
            kinds = [island.split("(")[1].split(")")[0] for island in row[dialect]["islands"]]
            if kinds:
                yield [row["name"], TITLES[dialect], ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=pathlib.Path)
    found = rows_of(parser.parse_args().results)
    results = [found[name] for name in networks.NAMES if name in found]
    print(f"{len(results)} networks; reference kernels used: {sum(len(r[d]['reference_kernels']) for r in results for d in DIALECTS)}\n")
    titles = ["network", "parameters", "seed, answers", "fp32", "values", *TITLES.values(), *(f"dB {t}" for t in TITLES.values()), "dB QDQ s8 : QOp s8"]
    table(titles, network_rows(results))
    titles = ["dialect", "operator", "networks", "tensors", "values", "differing", "largest", "from a tie"]
    table(titles, (row for dialect in DIALECTS for row in operator_rows(results, dialect)))
    table(["network", "dialect", "float operators"], float_nodes(results))


if __name__ == "__main__":
    main()
