"""Vectors of tokens become one of the text."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

Tokens = Any  # f32 [texts, tokens, width]
Mask = Any  # bool [texts, tokens]
Vectors = Any  # f32 [texts, width]


def _at(tokens: Tokens, places: Any) -> Vectors:
    return np.take_along_axis(tokens, places[:, None, None], axis=1)[:, 0]


def _sum(tokens: Tokens, weights: Any) -> Vectors:
    return np.matmul(weights[:, None, :].astype(np.float32), tokens)[:, 0]


def _count(weights: Any) -> Vectors:
    return np.maximum(weights.sum(axis=1, keepdims=True, dtype=np.float32), np.float32(1e-9))


def _cls(tokens: Tokens, mask: Mask, whole: Mask) -> Vectors:
    return _at(tokens, mask.argmax(axis=1))


def _max(tokens: Tokens, mask: Mask, whole: Mask) -> Vectors:
    return np.where(mask[..., None], tokens, np.float32(-np.inf)).max(axis=1)


def _mean(tokens: Tokens, mask: Mask, whole: Mask) -> Vectors:
    return _sum(tokens, mask) / _count(mask)


def _mean_sqrt(tokens: Tokens, mask: Mask, whole: Mask) -> Vectors:
    return _sum(tokens, mask) / np.sqrt(_count(mask))


def _weighted(tokens: Tokens, mask: Mask, whole: Mask) -> Vectors:
    places = np.arange(1, tokens.shape[1] + 1)[None, :] - whole.argmax(axis=1)[:, None]
    return _sum(tokens, mask * places) / _count(mask * places)


def _last(tokens: Tokens, mask: Mask, whole: Mask) -> Vectors:
    return _at(tokens, tokens.shape[1] - 1 - mask[:, ::-1].argmax(axis=1))


_MODES: dict[str, Callable[[Tokens, Mask, Mask], Vectors]] = {
    "cls": _cls,
    "max": _max,
    "mean": _mean,
    "mean_sqrt_len_tokens": _mean_sqrt,
    "weightedmean": _weighted,
    "lasttoken": _last,
}


def pooled(tokens: Tokens, mask: Any, modes: Sequence[str], prompt_length: int = 0) -> Vectors:
    """f32 [texts, width * modes]. The first `prompt_length` tokens of each text do not count."""
    whole = mask.astype(bool)
    places = np.arange(mask.shape[1])[None, :] - whole.argmax(axis=1)[:, None]
    counted = whole & (places >= prompt_length)
    return np.concatenate([_MODES[mode](tokens, counted, whole) for mode in modes], axis=1)


def normalized(vectors: Vectors) -> Vectors:
    """Rows of length 1; zeros stay."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32(1e-12))
