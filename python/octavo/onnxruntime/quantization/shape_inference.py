"""quant_pre_process: a copy, as Octavo's quantizer infers shapes and optimizes by itself."""

from __future__ import annotations

import os
from typing import Any

from ..._sources import source_of


def quant_pre_process(
    input_model: Any,
    output_model_path: str | os.PathLike[str],
    skip_optimization: bool = False,
    skip_onnx_shape: bool = False,
    skip_symbolic_shape: bool = False,
    auto_merge: bool = False,
    int_max: int = 2**31 - 1,
    guess_output_rank: bool = False,
    verbose: int = 0,
    save_as_external_data: bool = False,
    all_tensors_to_one_file: bool = False,
    external_data_location: str | None = None,
    external_data_size_threshold: int = 1024,
) -> None:
    """Writes the model as it is: what this step does for ONNX Runtime's quantizer, Octavo's does when it quantizes. A
    model with weights in other files is written with them inside, or as `save_as_external_data` and what follows say;
    both need the `onnx` package. Raises OSError."""
    source = source_of(input_model)
    content = bytes(source.read())
    if not save_as_external_data and not (source.is_file and b"location" in content):
        with open(output_model_path, "wb") as file:
            file.write(content)
        return
    import onnx

    proto = onnx.load(source.name) if source.is_file else onnx.load_from_string(content)
    onnx.save_model(
        proto,
        os.fspath(output_model_path),
        save_as_external_data=save_as_external_data,
        all_tensors_to_one_file=all_tensors_to_one_file,
        location=external_data_location,
        size_threshold=external_data_size_threshold,
    )
