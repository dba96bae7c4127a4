#!/usr/bin/env python3
"""Where the time of a build went: seconds and objects by folder, from ninja's log, and the slowest objects.

    scripts/build_times.py [BUILD [OTHER]]     default: build; OTHER: a second build folder, in columns beside the first

The times are those of ninja's edges: with as many jobs as cores, on a machine that does nothing else, CPU seconds.
"""

import collections
import pathlib
import sys


def edges(build: pathlib.Path) -> dict[str, float]:
    """Seconds by output; of one that was built several times, the last."""
    seconds = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def folder_of(output: str) -> str:
    """'src/import' of 'CMakeFiles/octavo_import.dir/...', 'tests/import' of 'tests/CMakeFiles/import_tests.dir/...'."""
    parts = output.split("/")
    target = next((part.removesuffix(".dir") for part in parts if part.endswith(".dir")), None)
    if target is None or not output.endswith(".o"):
        return "links and tests found"
    if target.startswith("octavo_") and parts[0] == "CMakeFiles":
        return "src/" + target.removeprefix("octavo_")
    return parts[0] + "/" + target.removesuffix("_tests")


def by_folder(seconds: dict[str, float]) -> dict[str, tuple[float, int]]:
    sums: dict[str, float] = collections.Counter()
    counts: dict[str, int] = collections.Counter()
    for output, value in seconds.items():
        sums[folder_of(output)] += value
        counts[folder_of(output)] += 1
    return {folder: (sums[folder], counts[folder]) for folder in sums}


def main() -> None:
    builds = [pathlib.Path(name) for name in sys.argv[1:] or ["build"]]
    tables = [by_folder(edges(build)) for build in builds]
    folders = sorted(set().union(*tables), key=lambda folder: -tables[0].get(folder, (0, 0))[0])
    for folder in folders:
        cells = [table.get(folder, (0.0, 0)) for table in tables]
        print(f"{folder:30}" + "".join(f"{seconds:9.1f} s {count:5}" for seconds, count in cells))
    print(f"{'all':30}" + "".join(f"{sum(s for s, _ in t.values()):9.1f} s {sum(n for _, n in t.values()):5}" for t in tables))
    if len(builds) == 1:
        print("\nslowest")
        for output, seconds in sorted(edges(builds[0]).items(), key=lambda edge: -edge[1])[:20]:
            print(f"{seconds:9.1f} s  {output}")


if __name__ == "__main__":
    main()
