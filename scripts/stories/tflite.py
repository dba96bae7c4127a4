"""Story: TFLite files whose weights are in bytes and whose activations are in floats (dynamic range), beside full integer and fp32.

    python scripts/stories/tflite.py

A dynamic-range file quantizes every activation while it runs, or dequantizes weights, where no kernel takes both: it is smaller, and not
faster. The same networks in full integer are what is fast. The files are those of $OCTAVO_DATA. Then files that are slow for one reason each, of
LiteRT's own quantizer (networks_litert.py), repaired by `octavo diagnose --write-fixed`.
Needs: pip install ai-edge-litert ai-edge-quantizer; OCTAVO_DATA; build/bin/octavo
"""

import os
import sys
from pathlib import Path

import common
import networks_litert
import prediction

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
    repairs(given, models)


def slow_files(given, models):
    """(why it is slow, network, the network in fp32 where there is one, the file)."""
    from ai_edge_quantizer import recipe

    def floats(*kinds):
        return [*recipe.static_wi8_ai8(), *({"regex": ".*", "operation": kind, "algorithm_key": "no_quantize", "op_config": {}} for kind in kinds)]

    for fault, network, words in (
        ("dynamic range", "mobilenet_v2", recipe.dynamic_wi8_afp32()),
        ("16-bit activations", "mobilenet_v2", recipe.static_wi8_ai16()),
        ("depthwise left in floats", "mobilenet_v2", floats("DEPTHWISE_CONV_2D")),
        ("resizing, concatenation left in floats", "pyramid", floats("RESIZE_NEAREST_NEIGHBOR", "CONCATENATION")),
        ("HARD_SWISH on bytes", "mobilenet_v3_small", recipe.static_wi8_ai8()),
        ("AVERAGE_POOL_2D on bytes", "inception", recipe.static_wi8_ai8()),
    ):
        source = networks_litert.made(given.folder, network)
        yield fault, network, source, prediction.quantized_tflite(given, network, source, words, fault.replace(",", ""))
    kept = given.folder / "mobilenet_v2_1.0_224_quant.tflite"
    kept.write_bytes((models / kept.name).read_bytes())
    yield "u8", "mobilenet_v2 of 2018", None, kept


def repairs(given, models):
    """Each slow file beside fp32, itself repaired, and Octavo of it as it is."""
    rows = []
    for fault, network, source, slow in slow_files(given, models):
        fixed, done = common.repaired(given, slow)
        files = {"fp32": source, "slow": slow, "fixed": fixed} if source else {"slow": slow, "fixed": fixed}
        sessions = {name: common.engines.LitertSession(str(path), given.threads) for name, path in files.items()}
        answers = {name: session.run() for name, session in sessions.items()}
        times = common.timed(given, {name: session.run for name, session in sessions.items()}, {"own": common.OctavoRun(given, slow, "int8", None)})
        told = {name: f"{each['min_ms']:.2f} ({each['median_ms']:.2f})" for name, each in times.items()}
        apart = common.engines.sqnr_db(answers["slow"], answers["fixed"])
        gain = times["slow"]["min_ms"] / times["fixed"]["min_ms"]
        rows.append([network, fault, ", ".join(each["name"] for each in done), told.get("fp32", ""), told["slow"], told["fixed"], f"{gain:.2f}x", "equal" if apart is None else f"{apart:.1f} dB", told["own"]])
        print(rows[-1], file=sys.stderr, flush=True)
    common.table(["network", "slow by", "repair", "fp32", "slow", "repaired", "gain", "answers, repaired to slow", "Octavo of the slow file"], rows)


if __name__ == "__main__":
    main()
