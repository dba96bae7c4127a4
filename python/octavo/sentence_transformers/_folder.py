"""What lies in a model's folder: the ONNX file, the tokenizer, and how both are meant to be used."""

from __future__ import annotations

import json
import os
from typing import Any

from .._errors import Problem, UnsupportedError, usage
from .._words import PathLike

_MODELS = ("onnx/model.onnx", "model.onnx", "onnx/model.octv", "model.octv")
_LEGACY_POOLING = "pooling_mode_"
POOLING_MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


def unsupported(where: str, found: str, expected: str) -> UnsupportedError:
    """An error in the form of all others."""
    return UnsupportedError(
        [Problem("unsupported", where, found, expected, "", f"{where}: found {found}, expected {expected}")]
    )


class Folder:
    """A folder in the layout of sentence_transformers or transformers, or an ONNX file in one. Raises UsageError
    where there is no model."""

    def __init__(self, path: PathLike, file_name: str | None = None) -> None:
        given = os.path.expanduser(os.fspath(path))
        if os.path.isdir(given):
            self.path = given
            names = (file_name, f"onnx/{file_name}") if file_name else _MODELS
            found = [name for name in names if os.path.isfile(self.file(name))]
            if not found:
                raise usage("model", f"the folder '{given}' without {' or '.join(names)}", "an ONNX file in it")
            self.model = self.file(found[0])
        elif os.path.isfile(given):
            self.path, self.model = os.path.dirname(given), given
        else:
            raise usage(
                "model",
                f"'{given}', which is not there",
                "a folder with an ONNX file, or the file",
                "Nothing is downloaded",
            )

    def file(self, name: str) -> str:
        """A path inside."""
        return os.path.join(self.path, name)

    def read(self, name: str) -> Any:
        """What a JSON file holds; an empty object where there is none."""
        if not os.path.isfile(self.file(name)):
            return {}
        with open(self.file(name), encoding="utf-8") as file:
            return json.load(file)

    def max_seq_length(self) -> int | None:
        """Tokens that the model takes at most, special ones included."""
        told = self.read("sentence_bert_config.json").get("max_seq_length")
        limits = [
            told,
            self.read("tokenizer_config.json").get("model_max_length"),
            self.read("config.json").get("max_position_embeddings"),
        ]
        known = [int(each) for each in limits if each is not None and each < 1 << 30]
        return known[0] if told is not None else min(known, default=None)

    def pad_token_id(self) -> int | None:
        """Of the model's configuration."""
        found = self.read("config.json").get("pad_token_id")
        return None if found is None else int(found)

    def modules(self) -> list[tuple[str, str]]:
        """Kind and folder of what stands behind the network; pooling by the mean where the folder does not say."""
        listed = self.read("modules.json") or [
            {"type": "Transformer", "path": ""},
            {"type": "Pooling", "path": "1_Pooling"},
        ]
        kinds = [(each["type"].rpartition(".")[2], each["path"]) for each in listed]
        strange = [kind for kind, _ in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
        if strange:
            raise unsupported("modules.json", f"a module '{strange[0]}'", "Transformer, Pooling and Normalize")
        return kinds

    def pooling(self) -> tuple[tuple[str, ...], bool]:
        """Modes, and whether tokens of the prompt count."""
        place = next((path for kind, path in self.modules() if kind == "Pooling"), "")
        told = self.read(os.path.join(place, "config.json")) if place else {}
        modes = told.get("pooling_mode") or [name for key, name in _legacy_names(told) if told[key]] or "mean"
        modes = (modes,) if isinstance(modes, str) else tuple(modes)
        strange = [mode for mode in modes if mode not in POOLING_MODES]
        if strange:
            raise unsupported("pooling_mode", f"'{strange[0]}'", ", ".join(POOLING_MODES))
        return modes, bool(told.get("include_prompt", True))


def _legacy_names(told: dict[str, Any]) -> list[tuple[str, str]]:
    words = {"cls_token": "cls", "max_tokens": "max", "mean_tokens": "mean"}
    keys = [key for key in told if key.startswith(_LEGACY_POOLING)]
    return [(key, words.get(key.removeprefix(_LEGACY_POOLING), key.removeprefix(_LEGACY_POOLING))) for key in keys]
