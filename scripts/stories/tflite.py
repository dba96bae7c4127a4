"""Story: TFLite files whose weights are in bytes and whose activations are in floats (dynamic range), beside full integer and fp32.

    python scripts/stories/tflite.py

A dynamic-range file quantizes every activation while it runs, or dequantizes weights, where no kernel takes both: it is smaller, and not
faster. The same networks in full integer are what is fast. The files are those of $OCTAVO_DATA.
Needs: pip install ai-edge-litert; OCTAVO_DATA; build/bin/octavo
"""

import os
import sys
from pathlib import Path

import common

sys.path.insert(0, str(common.SOURCES / "tests" / "diagnose"))


def main():
    given = common.arguments(__doc__)
    import spoil

    models = Path(os.environ["OCTAVO_DATA"]) / "models"
    print(f"{common.engines.version_of('litert')}, {common.told_machine(given.threads)}\n")
    rows = []
    for network, floats, integers in (("mlperf_vww96", "mlperf_vww96_fp32", "mlperf_vww96_int8"), ("mlperf_ic_resnet8", "mlperf_ic_resnet8_fp32", "mlperf_ic_resnet8_int8"), ("mlperf_kws", None, "mlperf_kws_int8")):
        files = {"full integer": models / f"{integers}.tflite"}
        if floats:
            made = given.folder / f"{network}_dynamic.tflite"
            made.write_bytes(spoil.dynamic_tflite(None, network))
            files = {"fp32": models / f"{floats}.tflite", "dynamic range": made, **files}
        else:
            files = {"dynamic range": models / "mlperf_kws_dynamic_range.tflite", **files}
        sessions = {name: common.engines.LitertSession(str(path), given.threads) for name, path in files.items()}
        own = {"Octavo of full integer": common.OctavoRun(given, files["full integer"], "int8", None)}
        times = common.timed(given, {name: session.run for name, session in sessions.items()}, own)
        for name, each in times.items():
            size = f"{files[name].stat().st_size / 1024:.0f} KB" if name in files else ""
            rows.append([network, name, size, f"{each['min_ms'] * 1e3:.0f}", f"{each['median_ms'] * 1e3:.0f}"])
    common.table(["network", "file", "size", "us", "median"], rows)


if __name__ == "__main__":
    main()
