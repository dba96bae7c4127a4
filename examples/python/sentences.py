"""Sentences as vectors, and which of them are alike. Needs the tokenizers package.

    python examples/python/sentences.py FOLDER [SENTENCES.txt]

FOLDER is a model of sentence_transformers with an ONNX file. With SENTENCES.txt, one a line, the model becomes int8
by them."""

from __future__ import annotations

import sys
from pathlib import Path

from octavo.sentence_transformers import SentenceTransformer

SENTENCES = ["A man is playing a guitar.", "Someone plays an instrument.", "The stock market fell today."]


def main(folder: str, texts: str | None) -> None:
    calibrate = Path(texts).read_text(encoding="utf-8").splitlines() if texts else None
    model = SentenceTransformer(folder, calibrate=calibrate)
    embeddings = model.encode(SENTENCES, normalize_embeddings=True)
    print(model.octavo)
    for sentence, row in zip(SENTENCES, model.similarity(embeddings, embeddings)):
        print(" ".join(f"{value:5.2f}" for value in row), sentence)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
