"""SentenceTransformer: an embedding of each text."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Sequence, Unpack

import numpy as np

from .._errors import usage
from .._words import CompileOptions, PathLike
from ._encoder import Encoder, OverTexts, as_asked
from ._folder import unsupported
from ._pooling import normalized, pooled


def _dot(a: Any, b: Any) -> Any:
    return a @ np.swapaxes(b, -1, -2)


def _cosine(a: Any, b: Any) -> Any:
    return _dot(normalized(a), normalized(b))


def _euclidean(a: Any, b: Any) -> Any:
    return -np.linalg.norm(a[:, None] - b[None], axis=-1)


def _manhattan(a: Any, b: Any) -> Any:
    return -np.abs(a[:, None] - b[None]).sum(axis=-1)


_SIMILARITIES: dict[str, Callable[[Any, Any], Any]] = {
    "cosine": _cosine,
    "dot": _dot,
    "euclidean": _euclidean,
    "manhattan": _manhattan,
}


def _rows(embeddings: Any) -> Any:
    array = np.asarray(embeddings.detach().cpu() if hasattr(embeddings, "detach") else embeddings)
    return array[None] if array.ndim == 1 else array


class SentenceTransformer(OverTexts):
    """Texts as vectors, as sentence_transformers.SentenceTransformer(path, backend="onnx").

    `model_name_or_path`: a folder in its layout (`onnx/model.onnx` or `model.onnx`, `tokenizer.json`, `modules.json`,
    `1_Pooling`), or an ONNX file with a tokenizer.json beside it; nothing is downloaded. Where the folder does not
    say it, vectors are the mean over tokens. `tokenizer`: another tokenizer.json, or a tokenizers.Tokenizer.
    `calibrate`: texts, with which an fp32 file becomes int8; `activations="per-token"` does so without. The other
    options are those of `octavo.compile`. `device` is "cpu" or None.

    Raises UsageError, UnsupportedError for modules that are no pooling, and what `octavo.compile` raises."""

    def __init__(
        self,
        model_name_or_path: PathLike,
        *,
        device: str | None = None,
        backend: str = "onnx",
        prompts: Mapping[str, str] | None = None,
        default_prompt_name: str | None = None,
        similarity_fn_name: str | None = None,
        truncate_dim: int | None = None,
        model_kwargs: Mapping[str, Any] | None = None,
        tokenizer: Any = None,
        max_seq_length: int | None = None,
        precision: str | None = None,
        calibrate: Iterable[str] | None = None,
        threads: int = 0,
        **options: Unpack[CompileOptions],
    ) -> None:
        super().__init__(model_name_or_path, device, backend, model_kwargs)
        folder = self._folder
        told = folder.read("config_sentence_transformers.json")
        self.prompts: dict[str, str] = dict(told.get("prompts") or {} if prompts is None else prompts)
        self.default_prompt_name = default_prompt_name or told.get("default_prompt_name")
        self.similarity_fn_name = similarity_fn_name or told.get("similarity_fn_name") or "cosine"
        if self.similarity_fn_name not in _SIMILARITIES:
            raise usage("similarity_fn_name", f"'{self.similarity_fn_name}'", ", ".join(_SIMILARITIES))
        self.truncate_dim = truncate_dim
        self._modes, self._includes_prompt = folder.pooling()
        self._normalizes = any(kind == "Normalize" for kind, _ in folder.modules())
        self._encoder = Encoder(
            folder, tokenizer, max_seq_length, calibrate, threads, {"precision": precision, **options}
        )
        self._output = self._chosen_output()

    def _chosen_output(self) -> Any:
        """The vectors of tokens where the file gives them, else those of texts."""
        outputs = self._encoder.model.outputs
        for rank in (3, 2):
            for each in outputs:
                if len(each.shape) == rank and each.dtype == "float32":
                    return each
        raise unsupported(
            "model",
            f"outputs {', '.join(each.name for each in outputs)}",
            "f32 [texts, tokens, width] or [texts, width]",
        )

    @property
    def device(self) -> str:
        """'cpu'."""
        return "cpu"

    @property
    def max_seq_length(self) -> int | None:
        """Tokens after which a text is cut off."""
        return self._encoder.max_length

    @max_seq_length.setter
    def max_seq_length(self, value: int) -> None:
        self._encoder.max_length = value

    def get_max_seq_length(self) -> int | None:
        """Tokens after which a text is cut off."""
        return self.max_seq_length

    def get_embedding_dimension(self) -> int | None:
        """Numbers of an embedding."""
        width = self._output.shape[-1]
        if not isinstance(width, int):
            return self.truncate_dim
        whole = width * (len(self._modes) if len(self._output.shape) == 3 else 1)
        return min(whole, self.truncate_dim or whole)

    def get_sentence_embedding_dimension(self) -> int | None:
        """Numbers of an embedding."""
        return self.get_embedding_dimension()

    def _prompt(self, prompt: str | None, prompt_name: str | None) -> str:
        name = prompt_name or self.default_prompt_name
        if prompt is not None:
            return prompt
        if name is None:
            return ""
        if name not in self.prompts:
            raise usage("prompt_name", f"'{name}'", f"one of {list(self.prompts)}")
        return self.prompts[name]

    def encode(
        self,
        inputs: str | Sequence[str],
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        output_value: str = "sentence_embedding",
        precision: str = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: str | None = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
    ) -> Any:
        """Embeddings f32 [texts, width], or [width] of one str, as an array (`convert_to_tensor`: a torch tensor;
        neither: a list of tensors). `truncate_dim`: the first so many numbers, before they are normalized.
        `output_value="token_embeddings"`: a list of arrays [tokens, width]. A text's embedding is the same whatever
        it is batched with where the model is int8.

        Raises UsageError; UnsupportedError for embeddings that are not float32."""
        if precision != "float32" or device not in (None, "cpu"):
            raise unsupported("encode", f"precision='{precision}', device={device!r}", "float32 on the CPU")
        if output_value not in ("sentence_embedding", "token_embeddings"):
            raise unsupported("output_value", f"{output_value!r}", "'sentence_embedding' or 'token_embeddings'")
        is_one = isinstance(inputs, str)
        texts = [inputs] if isinstance(inputs, str) else list(inputs)
        before = self._prompt(prompt, prompt_name)
        if output_value == "token_embeddings":
            rows = self._encoder.each(
                [before + text for text in texts], batch_size, show_progress_bar, self._token_rows
            )
            return rows[0] if is_one else rows
        skipped = 0 if self._includes_prompt or not before else self._encoder.prompt_length(before)
        dims = truncate_dim if truncate_dim is not None else self.truncate_dim

        def work(arrays: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> Any:
            vectors: Any = outputs[self._output.name]
            if vectors.ndim == 3:
                vectors = pooled(vectors, arrays["attention_mask"], self._modes, skipped)
            vectors = (normalized(vectors) if self._normalizes else vectors)[:, :dims]
            return normalized(vectors) if normalize_embeddings else vectors

        rows = self._encoder.each([before + text for text in texts], batch_size, show_progress_bar, work)
        found = as_asked(rows, (self.get_embedding_dimension() or 0,), convert_to_numpy, convert_to_tensor)
        return found[0] if is_one else found

    def _token_rows(self, arrays: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        vectors = outputs[self._output.name]
        if vectors.ndim != 3:
            raise unsupported(
                "output_value", "'token_embeddings' of a file that pools by itself", "'sentence_embedding'"
            )
        return [row[mask.astype(bool)] for row, mask in zip(vectors, arrays["attention_mask"])]

    def encode_query(self, inputs: str | Sequence[str], **keywords: Any) -> Any:
        """`encode` with the prompt "query", where there is one."""
        return self._encode_as(("query",), inputs, keywords)

    def encode_document(self, inputs: str | Sequence[str], **keywords: Any) -> Any:
        """`encode` with the prompt "document", "passage" or "corpus", where there is one."""
        return self._encode_as(("document", "passage", "corpus"), inputs, keywords)

    def _encode_as(self, names: Sequence[str], inputs: str | Sequence[str], keywords: dict[str, Any]) -> Any:
        if keywords.get("prompt") is None and keywords.get("prompt_name") is None:
            keywords["prompt_name"] = next((name for name in names if name in self.prompts), None)
        return self.encode(inputs, **keywords)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """f32 [rows of one, rows of the other], by `similarity_fn_name`; distances are negative."""
        return _SIMILARITIES[self.similarity_fn_name](_rows(embeddings1), _rows(embeddings2))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Of each row of one with that of the other: f32 [rows]."""
        measure = _SIMILARITIES[self.similarity_fn_name]
        pairs = zip(_rows(embeddings1), _rows(embeddings2), strict=True)
        return np.array([measure(one[None], other[None])[0, 0] for one, other in pairs], np.float32)
