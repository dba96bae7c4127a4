"""What people have as a model, as a file's name or bytes."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from typing import Any, Iterator, NamedTuple, Sequence

from ._errors import usage


class Source(NamedTuple):
    """A path, or bytes with a name for messages."""

    name: str
    content: bytes | bytearray | memoryview | None = None

    @property
    def is_file(self) -> bool:
        return self.content is None

    def read(self) -> bytes | bytearray | memoryview:
        """The bytes, read where they are a file's. Raises OSError."""
        if self.content is not None:
            return self.content
        with open(self.name, "rb") as file:
            return file.read()


def _type_names(model: object) -> set[str]:
    return {f"{each.__module__}.{each.__qualname__}" for each in type(model).__mro__}


@contextmanager
def _evaluating(module: Any) -> Iterator[Any]:
    """The module as it is used, not trained, and as it was afterwards."""
    was_training = module.training
    module.eval()
    try:
        yield module
    finally:
        module.train(was_training)


def _exported(module: Any, example_inputs: Sequence[Any] | None, dynamic_shapes: Any) -> Any:
    import torch

    if example_inputs is None:
        raise usage("model", "an nn.Module alone", "example inputs beside it", "octavo.compile(module, example_inputs=(x,))")
    with _evaluating(module):
        return torch.export.export(module, tuple(example_inputs), dynamic_shapes=dynamic_shapes)


def with_plain_tensors(program: Any) -> Any:
    """A `torch.export.ExportedProgram` without parameters that are several tensors in one (torchao's): with these instead."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    tensors = [*program.state_dict.values(), *program.constants.values()]
    return program.run_decompositions({}) if any(map(is_traceable_wrapper_subclass, tensors)) else program


def _saved(program: Any) -> bytes:
    import torch

    file = io.BytesIO()
    torch.export.save(with_plain_tensors(program), file)
    return file.getvalue()


def source_of(model: Any, example_inputs: Sequence[Any] | None = None, dynamic_shapes: Any = None) -> Source:
    """A path, the bytes of a file (ONNX, TFLite, `.pt2`, `.octv`), an `onnx.ModelProto`, a `torch.export.ExportedProgram`, an
    `nn.Module` with example inputs, a `QatModule`, or a compiled model as `Source`. Raises UsageError for anything else, and what torch raises
    where it cannot export."""
    if isinstance(model, Source):
        return model
    if isinstance(model, (str, os.PathLike)):
        return Source(os.fspath(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Source("model", model)
    if hasattr(model, "to_bytes") and type(model).__module__.startswith("octavo."):
        return Source(model.source, model.to_bytes())
    if hasattr(model, "to_pt2e") and type(model).__module__.startswith("octavo."):
        return Source("QatModule", _saved(model.to_pt2e()))
    names = _type_names(model)
    if "torch.nn.modules.module.Module" in names:
        return Source(type(model).__name__, _saved(_exported(model, example_inputs, dynamic_shapes)))
    if "torch.export.exported_program.ExportedProgram" in names:
        return Source("ExportedProgram", _saved(model))
    if hasattr(model, "SerializeToString"):
        return Source(type(model).__name__, model.SerializeToString())
    raise usage("model", f"an object of type '{type(model).__name__}'", "a path, a file's bytes, an onnx.ModelProto, a torch.export.ExportedProgram, or an nn.Module with example_inputs")
