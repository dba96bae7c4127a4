"""CrossEncoder: a score of each pair of texts."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Sequence, Unpack

import numpy as np

from .._errors import usage
from .._words import CompileOptions, PathLike
from ._encoder import Encoder, OverTexts, as_asked
from ._folder import Folder, unsupported

Activation = Callable[[Any], Any]


def _identity(logits: Any) -> Any:
    return logits


def _sigmoid(logits: Any) -> Any:
    return 1 / (1 + np.exp(-logits))


def _softmax(scores: Any) -> Any:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


_BY_NAME: dict[str, Activation] = {"Sigmoid": _sigmoid, "Identity": _identity}


def _told_activation(folder: Folder) -> str | None:
    """The name in the folder's configuration, as "torch.nn.modules.linear.Identity"."""
    config = folder.read("config.json")
    places = (folder.read("config_sentence_transformers.json"), config.get("sentence_transformers") or {})
    for place in places:
        if place.get("activation_fn"):
            return str(place["activation_fn"])
    found = config.get("sbert_ce_default_activation_function")
    return None if found is None else str(found)


def _applied(function: Activation, logits: np.ndarray) -> np.ndarray:
    """Of numpy's or torch's functions and modules."""
    if type(function).__module__.startswith("torch") or getattr(function, "__module__", "").startswith("torch"):
        import torch

        return np.asarray(function(torch.from_numpy(logits)))
    return np.asarray(function(logits))


class CrossEncoder(OverTexts):
    """Scores of pairs of texts, as sentence_transformers.CrossEncoder(path, backend="onnx").

    `model_name_or_path`, `tokenizer`, `calibrate` (pairs of texts) and options as for SentenceTransformer.
    `activation_fn`: of numpy arrays or torch tensors; default: what the folder says, else the sigmoid where there is
    one label. Raises what SentenceTransformer raises."""

    def __init__(
        self,
        model_name_or_path: PathLike,
        *,
        device: str | None = None,
        backend: str = "onnx",
        num_labels: int | None = None,
        max_length: int | None = None,
        activation_fn: Activation | None = None,
        model_kwargs: Mapping[str, Any] | None = None,
        tokenizer: Any = None,
        precision: str | None = None,
        calibrate: Iterable[tuple[str, str]] | None = None,
        threads: int = 0,
        **options: Unpack[CompileOptions],
    ) -> None:
        super().__init__(model_name_or_path, device, backend, model_kwargs)
        folder = self._folder
        self._encoder = Encoder(folder, tokenizer, max_length, calibrate, threads, {"precision": precision, **options})
        output = self._encoder.model.outputs[0]
        if len(output.shape) != 2 or not isinstance(output.shape[1], int):
            raise unsupported("model", f"an output '{output.name}' {list(output.shape)}", "logits f32 [pairs, labels]")
        self._output = output.name
        self.num_labels: int = output.shape[1]
        if num_labels not in (None, self.num_labels):
            raise usage("num_labels", f"{num_labels}", f"{self.num_labels}, as the model has")
        self.activation_fn: Activation = activation_fn or self._default_activation(folder)

    def _default_activation(self, folder: Folder) -> Activation:
        told = _told_activation(folder)
        if told is None:
            return _sigmoid if self.num_labels == 1 else _identity
        name = told.rpartition(".")[2]
        if name not in _BY_NAME:
            raise unsupported("activation_fn", f"'{told}'", "Sigmoid or Identity, or activation_fn=")
        return _BY_NAME[name]

    @property
    def max_length(self) -> int | None:
        """Tokens after which a pair is cut off."""
        return self._encoder.max_length

    def predict(
        self,
        inputs: Sequence[Any],
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        activation_fn: Activation | None = None,
        apply_softmax: bool | None = False,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
    ) -> Any:
        """Scores f32 [pairs], or [pairs, labels] where there are several, of a list of pairs; of one pair without
        that axis. As an array (`convert_to_tensor`: a torch tensor; neither: a list of tensors). Raises
        UsageError."""
        is_one = len(inputs) > 0 and isinstance(inputs[0], str)
        pairs = [inputs] if is_one else list(inputs)
        wrong = [pair for pair in pairs if len(pair) != 2 or not all(isinstance(text, str) for text in pair)]
        if wrong:
            raise usage("inputs", f"{wrong[0]!r}", "two texts")
        function = activation_fn or self.activation_fn

        def work(arrays: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> Any:
            scores = _applied(function, outputs[self._output])
            scores = _softmax(scores) if apply_softmax and self.num_labels > 1 else scores
            return scores[:, 0] if self.num_labels == 1 else scores

        rows = self._encoder.each([(one, other) for one, other in pairs], batch_size, show_progress_bar, work)
        found = as_asked(rows, () if self.num_labels == 1 else (self.num_labels,), convert_to_numpy, convert_to_tensor)
        return found[0] if is_one else found

    def rank(
        self,
        query: str,
        documents: Sequence[str],
        top_k: int | None = None,
        return_documents: bool = False,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        activation_fn: Activation | None = None,
    ) -> list[dict[str, Any]]:
        """The documents that fit the query best, first: [{"corpus_id", "score", "text"}]. Raises UsageError where
        there are several labels."""
        if self.num_labels != 1:
            raise usage("rank", f"{self.num_labels} labels", "1")
        scores = self.predict([(query, text) for text in documents], batch_size, show_progress_bar, activation_fn)
        found: list[dict[str, Any]] = [
            {"corpus_id": index, "score": float(score)} for index, score in enumerate(scores)
        ]
        if return_documents:
            for each in found:
                each["text"] = documents[each["corpus_id"]]
        return sorted(found, key=lambda each: -each["score"])[:top_k]
