"""Sentence embeddings and scores of pairs, as sentence_transformers has them with backend="onnx":

    from octavo.sentence_transformers import SentenceTransformer
    embeddings = SentenceTransformer("all-MiniLM-L6-v2").encode(["one sentence", "another"])

Models are folders on disk. Needs the `tokenizers` package; torch only where tensors are asked for."""

from ._cross_encoder import CrossEncoder
from ._sentence_transformer import SentenceTransformer

__all__ = ["CrossEncoder", "SentenceTransformer"]
