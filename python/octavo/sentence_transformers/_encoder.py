"""Texts through a network: tokenized, sorted by length, padded batch by batch."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, Union

import numpy as np

from .. import _cache, _core
from .._compile import compile as compile_model
from .._errors import usage
from .._model import Model, load
from .._progress import shown
from .._words import PathLike
from ._folder import Folder, unsupported

Text = Union[str, "tuple[str, str]"]
_COLUMNS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


def _tokenizer_of(folder: Folder, given: Any, max_length: int | None) -> Any:
    import tokenizers

    if given is None or isinstance(given, (str, os.PathLike)):
        path = folder.file("tokenizer.json") if given is None else os.fspath(given)
        if not os.path.isfile(path):
            raise usage("tokenizer", f"no '{path}'", "a tokenizer.json beside the model, or tokenizer=")
        given = tokenizers.Tokenizer.from_file(path)
    own = given.truncation
    limit = max_length or (own["max_length"] if own else None)
    if limit:
        given.enable_truncation(limit)
    padding = given.padding or {}
    token = padding.get("pad_token") or next(
        (each for each in ("[PAD]", "<pad>") if given.token_to_id(each) is not None), "[PAD]"
    )
    number = padding.get("pad_id", folder.pad_token_id())
    given.enable_padding(
        pad_id=given.token_to_id(token) or 0 if number is None else number,
        pad_token=token,
        direction=padding.get("direction", "right"),
    )
    return given


class Encoder:
    """A network over tokens with its tokenizer.

    `calibrate`: texts (or pairs) for int8; the other options are those of `octavo.compile`. The compiled model is
    kept in the cache."""

    def __init__(
        self,
        folder: Folder,
        tokenizer: Any,
        max_length: int | None,
        calibrate: Iterable[Text] | None,
        threads: int,
        options: Mapping[str, Any],
    ) -> None:
        self.tokenizer = _tokenizer_of(folder, tokenizer, max_length or folder.max_seq_length())
        if _core.is_compiled(folder.model, None):
            late = [name for name, value in {"calibrate": calibrate, **options}.items() if value is not None]
            if late:
                raise usage(folder.model, f"a compiled model and '{late[0]}'", "a model file to compile")
            self.model: Model = load(folder.model, threads=threads)
        else:
            settings: dict[str, Any] = {
                "unquantized": "fp32",
                "cache_dir": _cache.default_directory(),
                "progress": False,
                **options,
            }
            samples = None if calibrate is None else (self.arrays([text]) for text in calibrate)
            self.model = compile_model(folder.model, samples, threads=threads, **settings)
        self._inputs = [each.name for each in self.model.inputs]
        strange = [name for name in self._inputs if name not in _COLUMNS]
        if strange:
            raise unsupported(f"{folder.model}, input '{strange[0]}'", "a network that takes it", ", ".join(_COLUMNS))

    @property
    def max_length(self) -> int | None:
        """Tokens that a text has at most."""
        return None if self.tokenizer.truncation is None else int(self.tokenizer.truncation["max_length"])

    @max_length.setter
    def max_length(self, value: int) -> None:
        self.tokenizer.enable_truncation(value)

    def arrays(self, texts: Sequence[Text]) -> dict[str, np.ndarray]:
        """s64 [texts, tokens] by name: ids, mask and types."""
        encodings = self.tokenizer.encode_batch(list(texts))
        return {
            name: np.array([getattr(each, column) for each in encodings], np.int64) for name, column in _COLUMNS.items()
        }

    def run(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The network's outputs by name."""
        results: dict[str, np.ndarray] = self.model.run({name: arrays[name] for name in self._inputs})
        return results

    def prompt_length(self, prompt: str) -> int:
        """Tokens in front of a text that a prompt takes."""
        encoding = self.tokenizer.encode(prompt)
        mask = [special for special, real in zip(encoding.special_tokens_mask, encoding.attention_mask) if real]
        return len(mask) - (1 if mask and mask[-1] else 0)

    def each(
        self,
        texts: Sequence[Text],
        batch_size: int,
        show_progress_bar: bool | None,
        work: Callable[[dict[str, np.ndarray], dict[str, np.ndarray]], Sequence[Any]],
    ) -> list[Any]:
        """What `work(arrays, outputs)` gives for each text, in the order of the texts. Long texts go first, so that a
        batch pads little."""
        if batch_size < 1:
            raise usage("batch_size", f"{batch_size}", "at least 1")
        order = sorted(range(len(texts)), key=lambda index: -_size(texts[index]))
        found: list[Any] = [None] * len(texts)
        bar = shown(True) if show_progress_bar else None
        for batch in _batches(order, batch_size):
            arrays = self.arrays([texts[index] for index in batch])
            for index, result in zip(batch, work(arrays, self.run(arrays))):
                found[index] = result
            if bar is not None:
                bar("texts", sum(each is not None for each in found), len(texts))
        if bar is not None:
            bar.close()
        return found


def _size(text: Text) -> int:
    return len(text) if isinstance(text, str) else sum(map(len, text))


def _batches(order: list[int], size: int) -> Iterator[list[int]]:
    for first in range(0, len(order), size):
        yield order[first : first + size]


def as_asked(rows: list[np.ndarray], width: Sequence[int], convert_to_numpy: bool, convert_to_tensor: bool) -> Any:
    """One array, one tensor, or a list of tensors."""
    if convert_to_numpy and not convert_to_tensor:
        return np.stack(rows) if rows else np.zeros((0, *width), np.float32)
    import torch

    tensors = [torch.from_numpy(np.array(row)) for row in rows]
    if not convert_to_tensor:
        return tensors
    return torch.stack(tensors) if tensors else torch.zeros((0, *width))


class OverTexts:
    """What has a network over tokens inside. `folder`: with `file_name` of model_kwargs, whose other entries are about ONNX
    Runtime. Raises UnsupportedError for another device than the CPU and other backends than onnx."""

    _encoder: Encoder

    def __init__(
        self, path: PathLike, device: str | None, backend: str, model_kwargs: Mapping[str, Any] | None
    ) -> None:
        if device not in (None, "cpu") or backend != "onnx":
            raise unsupported(type(self).__name__, f"device={device!r}, backend={backend!r}", "the CPU and onnx")
        self._folder = Folder(path, (model_kwargs or {}).get("file_name"))

    @property
    def octavo(self) -> Model:
        """The compiled model."""
        return self._encoder.model

    @property
    def tokenizer(self) -> Any:
        """The tokenizers.Tokenizer."""
        return self._encoder.tokenizer
