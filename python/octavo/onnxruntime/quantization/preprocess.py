"""`python -m octavo.onnxruntime.quantization.preprocess --input MODEL --output MODEL`: quant_pre_process, as
onnxruntime's pages call it."""

from __future__ import annotations

import argparse

from .shape_inference import quant_pre_process


def main() -> None:
    """Reads the command line; options about steps that Octavo does not need are accepted."""
    parser = argparse.ArgumentParser(prog="preprocess", description=quant_pre_process.__doc__)
    parser.add_argument("--input", required=True, help="a model file")
    parser.add_argument("--output", required=True, help="the file to write")
    for name in ("skip_optimization", "skip_onnx_shape", "skip_symbolic_shape", "auto_merge", "guess_output_rank"):
        parser.add_argument(f"--{name}", default=False)
    parser.add_argument("--int_max", type=int, default=2**31 - 1)
    parser.add_argument("--verbose", type=int, default=0)
    parser.add_argument("--save_as_external_data", action="store_true")
    parser.add_argument("--all_tensors_to_one_file", action="store_true")
    parser.add_argument("--external_data_location", default=None)
    parser.add_argument("--external_data_size_threshold", type=int, default=1024)
    given = vars(parser.parse_args())
    quant_pre_process(given.pop("input"), given.pop("output"), **given)


if __name__ == "__main__":
    main()
