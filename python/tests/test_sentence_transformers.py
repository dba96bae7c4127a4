"""octavo.sentence_transformers: texts in, vectors and scores out; by hand, and beside onnxruntime and
sentence_transformers."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any, Sequence

import numpy as np
import onnx_file
import pytest
from conftest import ROOT

import octavo

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

from octavo.sentence_transformers import CrossEncoder, SentenceTransformer  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "small", "cat", "sat", "on", "the", "mat"]
TABLE = np.random.default_rng(7).standard_normal((len(WORDS), 4)).astype(np.float32)
TEXTS = ["a cat", "the small cat sat on the mat", "mat", "on the mat sat a dog"]
DATA = Path(os.environ.get("OCTAVO_DATA", ROOT.parent / "shared/data"))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def write_tokenizer(folder: Path) -> None:
    """Words in order between [CLS] and [SEP]."""
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.save(str(folder / "tokenizer.json"))


def ids_of(text: str, other: str | None = None) -> list[int]:
    def words(one: str) -> list[int]:
        return [WORDS.index(word) if word in WORDS else 1 for word in one.split()]

    return [2, *words(text), 3, *([*words(other), 3] if other is not None else [])]


def ends() -> list[bytes]:
    return [onnx_file.value(name, onnx_file.INT64, ["batch", "tokens"]) for name in ("input_ids", "attention_mask")]


def embedder() -> bytes:
    """Rows of the table."""
    output = onnx_file.value("last_hidden_state", onnx_file.FLOAT, ["batch", "tokens", 4])
    return onnx_file.model(
        [onnx_file.node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        ends(),
        [output],
        [onnx_file.tensor("table", TABLE)],
    )


def scorer(labels: int) -> bytes:
    """Sums of rows of the table times a matrix."""
    weights = np.linspace(-1, 1, 4 * labels, dtype=np.float32).reshape(4, labels)
    node = onnx_file.node
    nodes = [
        node("Gather", ["table", "input_ids"], ["rows"]),
        node("Cast", ["attention_mask"], ["real"], to=onnx_file.FLOAT),
        node("Unsqueeze", ["real", "one"], ["line"]),
        node("MatMul", ["line", "rows"], ["lines"]),
        node("Squeeze", ["lines", "one"], ["sums"]),
        node("MatMul", ["sums", "weights"], ["logits"]),
    ]
    constants = [
        onnx_file.tensor(name, array)
        for name, array in (("table", TABLE), ("one", np.array([1])), ("weights", weights))
    ]
    return onnx_file.model(nodes, ends(), [onnx_file.value("logits", onnx_file.FLOAT, ["batch", labels])], constants)


def logits_by_hand(pairs: Sequence[tuple[str, str]], labels: int) -> np.ndarray:
    weights = np.linspace(-1, 1, 4 * labels, dtype=np.float32).reshape(4, labels)
    return np.stack([TABLE[ids_of(*pair)].sum(0) @ weights for pair in pairs])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model in the layout of sentence_transformers."""
    made = tmp_path / "model"
    (made / "onnx").mkdir(parents=True)
    (made / "1_Pooling").mkdir()
    (made / "onnx/model.onnx").write_bytes(embedder())
    write_tokenizer(made)
    return made


def write(folder: Path, name: str, content: Any) -> None:
    (folder / name).write_text(json.dumps(content))


def tokens_by_hand(text: str) -> np.ndarray:
    return TABLE[ids_of(text)]


MODES = {
    "mean": lambda rows: rows.mean(0),
    "cls": lambda rows: rows[0],
    "lasttoken": lambda rows: rows[-1],
    "max": lambda rows: rows.max(0),
    "mean_sqrt_len_tokens": lambda rows: rows.sum(0) / np.sqrt(len(rows)),
    "weightedmean": lambda rows: np.arange(1, len(rows) + 1) @ rows / np.arange(1, len(rows) + 1).sum(),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", ["right", "left"])
def test_every_pooling(mode: str, direction: str, folder: Path) -> None:
    write(folder, "1_Pooling/config.json", {"word_embedding_dimension": 4, "pooling_mode": mode})
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding(direction=direction)
    found = SentenceTransformer(folder, tokenizer=tokenizer).encode(TEXTS, batch_size=3)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [MODES[mode](tokens_by_hand(text)) for text in TEXTS], rtol=1e-5, atol=1e-6)


def test_old_folders_and_several_modes(folder: Path) -> None:
    write(
        folder,
        "1_Pooling/config.json",
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False},
    )
    model = SentenceTransformer(str(folder))
    expected = [np.concatenate([MODES[mode](tokens_by_hand(TEXTS[0])) for mode in ("cls", "mean")])]
    np.testing.assert_allclose(model.encode(TEXTS[:1]), expected, rtol=1e-5, atol=1e-6)
    assert model.get_sentence_embedding_dimension() == 8


def test_one_text_none_and_tokens(folder: Path) -> None:
    model = SentenceTransformer(folder)
    assert model.encode(TEXTS[1]).shape == (4,) and model.encode([]).shape == (0, 4)
    np.testing.assert_array_equal(model.encode(TEXTS[1]), model.encode(TEXTS)[1])
    for rows, text in zip(model.encode(TEXTS, output_value="token_embeddings"), TEXTS):
        np.testing.assert_array_equal(rows, tokens_by_hand(text))


def test_vectors_are_normalized_and_cut_off(folder: Path) -> None:
    model = SentenceTransformer(folder, truncate_dim=3)
    plain = model.encode(TEXTS)
    assert plain.shape == (4, 3) and model.get_sentence_embedding_dimension() == 3
    unit = model.encode(TEXTS, normalize_embeddings=True, truncate_dim=2)
    np.testing.assert_allclose(unit, plain[:, :2] / np.linalg.norm(plain[:, :2], axis=1, keepdims=True), rtol=1e-5)
    write(
        folder,
        "modules.json",
        [
            {"type": f"sentence_transformers.models.{kind}", "path": path}
            for kind, path in (("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize"))
        ],
    )
    np.testing.assert_allclose(np.linalg.norm(SentenceTransformer(folder).encode(TEXTS), axis=1), 1, rtol=1e-5)


def test_long_texts_are_cut_off(folder: Path) -> None:
    write(folder, "sentence_bert_config.json", {"max_seq_length": 4})
    model = SentenceTransformer(folder)
    assert model.max_seq_length == 4
    np.testing.assert_array_equal(model.encode("the small cat sat"), model.encode("the small"))
    model.max_seq_length = 5
    assert not np.array_equal(model.encode("the small cat sat"), model.encode("the small"))


def test_prompts(folder: Path) -> None:
    write(
        folder,
        "config_sentence_transformers.json",
        {"prompts": {"query": "the ", "passage": "small "}, "similarity_fn_name": "dot"},
    )
    model = SentenceTransformer(folder)
    for found, text in (
        (model.encode_query("cat"), "the cat"),
        (model.encode_document("cat"), "small cat"),
        (model.encode("cat", prompt="on "), "on cat"),
        (model.encode("cat", prompt_name="query"), "the cat"),
    ):
        np.testing.assert_array_equal(found, model.encode(text))
    with pytest.raises(ValueError, match="prompt_name: found 'nope'"):
        model.encode("cat", prompt_name="nope")
    write(folder, "1_Pooling/config.json", {"pooling_mode": "mean", "include_prompt": False})
    without = SentenceTransformer(folder).encode_query("cat")
    np.testing.assert_allclose(without, TABLE[ids_of("the cat")][2:].mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.similarity(TABLE, TABLE[:2]), TABLE @ TABLE[:2].T, rtol=1e-5)


@pytest.mark.parametrize("name", ["cosine", "dot", "euclidean", "manhattan"])
def test_similarities(name: str, folder: Path) -> None:
    model = SentenceTransformer(folder, similarity_fn_name=name)
    a, b = TABLE[:3], TABLE[3:6]
    one, other = a[0].astype(np.float64), b[1].astype(np.float64)
    expected = {
        "cosine": one @ other / np.linalg.norm(one) / np.linalg.norm(other),
        "dot": one @ other,
        "euclidean": -np.linalg.norm(one - other),
        "manhattan": -np.abs(one - other).sum(),
    }[name]
    found = model.similarity(a, b)
    assert found.shape == (3, 3) and found[0, 1] == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(model.similarity_pairwise(a, b), np.diag(found), rtol=1e-5)


def test_tensors(folder: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    model = SentenceTransformer(folder)
    found = model.encode(TEXTS, convert_to_tensor=True)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), model.encode(TEXTS))
    rows = model.encode(TEXTS, convert_to_numpy=False)
    assert isinstance(rows, list) and torch.equal(rows[1], found[1])
    assert model.similarity(found, found).shape == (4, 4)


def test_a_compiled_model(folder: Path) -> None:
    plain = SentenceTransformer(folder)
    plain.octavo.save(folder / "model.octv")
    (folder / "onnx/model.onnx").unlink()
    np.testing.assert_array_equal(SentenceTransformer(folder).encode(TEXTS), plain.encode(TEXTS))
    with pytest.raises(ValueError, match="a compiled model and 'precision'"):
        SentenceTransformer(folder, precision="int8")


def test_what_is_missing_or_cannot_be(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not there.*Nothing is downloaded"):
        SentenceTransformer("all-MiniLM-L6-v2")
    with pytest.raises(NotImplementedError, match="device='cuda'"):
        SentenceTransformer(folder, device="cuda")
    model = SentenceTransformer(folder)
    with pytest.raises(NotImplementedError, match="precision='int8'"):
        model.encode("cat", precision="int8")
    with pytest.raises(ValueError, match="batch_size: found 0"):
        model.encode("cat", batch_size=0)
    write(folder, "modules.json", [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}])
    with pytest.raises(octavo.UnsupportedError, match="a module 'Dense'"):
        SentenceTransformer(folder)
    (folder / "tokenizer.json").unlink()
    (folder / "modules.json").unlink()
    with pytest.raises(ValueError, match="tokenizer.json"):
        SentenceTransformer(folder)
    with pytest.raises(ValueError, match="without onnx/model.onnx or model.onnx"):
        SentenceTransformer(tmp_path)


def pairs_folder(tmp_path: Path, labels: int) -> Path:
    made = tmp_path / f"pairs{labels}"
    made.mkdir()
    (made / "model.onnx").write_bytes(scorer(labels))
    write_tokenizer(made)
    return made


PAIRS = [("a cat", "the cat sat"), ("mat", "on the mat"), ("the small cat", "a mat")]


def test_scores_of_pairs(tmp_path: Path) -> None:
    model = CrossEncoder(pairs_folder(tmp_path, 1))
    logits = logits_by_hand(PAIRS, 1)[:, 0]
    np.testing.assert_allclose(model.predict(PAIRS, batch_size=2), 1 / (1 + np.exp(-logits)), rtol=1e-5)
    np.testing.assert_allclose(model.predict(PAIRS[0]), 1 / (1 + np.exp(-logits[0])), rtol=1e-5)
    np.testing.assert_allclose(model.predict(PAIRS, activation_fn=lambda scores: scores), logits, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="expected two texts"):
        model.predict([("one", "two", "three")])
    write(
        tmp_path / "pairs1",
        "config.json",
        {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}},
    )
    np.testing.assert_allclose(CrossEncoder(tmp_path / "pairs1").predict(PAIRS), logits, rtol=1e-4, atol=1e-5)


def test_documents_are_ranked(tmp_path: Path) -> None:
    model = CrossEncoder(pairs_folder(tmp_path, 1))
    documents = ["the cat sat", "mat", "on the mat", "small"]
    scores = logits_by_hand([("a cat", text) for text in documents], 1)[:, 0]
    found = model.rank("a cat", documents, top_k=3, return_documents=True)
    assert [each["corpus_id"] for each in found] == np.argsort(-scores)[:3].tolist()
    assert [each["text"] for each in found] == [documents[each["corpus_id"]] for each in found]


def test_several_labels(tmp_path: Path) -> None:
    model = CrossEncoder(pairs_folder(tmp_path, 3))
    logits = logits_by_hand(PAIRS, 3)
    np.testing.assert_allclose(model.predict(PAIRS), logits, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.predict(PAIRS, apply_softmax=True).sum(1), 1, rtol=1e-5)
    with pytest.raises(ValueError, match="rank: found 3 labels, expected 1"):
        model.rank("a", ["b"])


def stsb(name: str) -> list[list[str]]:
    with open(DATA / "text" / name, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.fixture(scope="module")
def minilm() -> dict[str, Any]:
    path = DATA / "models/minilm_l6_v2_fp32.onnx"
    if not path.exists():
        pytest.skip("no models at ../shared/data")
    return {"model_name_or_path": path, "tokenizer": DATA / "text/minilm_tokenizer.json"}


@pytest.mark.long
def test_minilm_beside_onnxruntime(minilm: dict[str, Any]) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(str(minilm["model_name_or_path"]))
    tokenizer = tokenizers.Tokenizer.from_file(str(minilm["tokenizer"]))
    tokenizer.no_padding()
    texts = [row[0] for row in stsb("stsb_en_dev.csv")[:150]]
    found = SentenceTransformer(**minilm).encode(texts)
    for text, vector in zip(texts, found):
        encoding = tokenizer.encode(text)
        tokens = session.run(
            None, {"input_ids": np.array([encoding.ids]), "attention_mask": np.array([encoding.attention_mask])}
        )[0]
        np.testing.assert_allclose(vector, tokens[0].mean(0), rtol=0, atol=2e-6)


@pytest.mark.long
def test_minilm_in_int8(minilm: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """By texts and per token: near fp32, the same alone and among others, and a load the second time."""
    train = [text for row in stsb("stsb_en_train_2000.csv")[:50] for text in row[:2]]
    texts = [row[0] for row in stsb("stsb_en_dev.csv")[:100]]
    fp32 = SentenceTransformer(**minilm).encode(texts, normalize_embeddings=True)
    for options in ({"calibrate": train}, {"precision": "int8", "activations": "per-token"}):
        model = SentenceTransformer(**minilm, **options)
        found = model.encode(texts, normalize_embeddings=True)
        assert model.octavo.info["dialect"] != "" and 0.99 < (found * fp32).sum(1).min() < 0.99999
        np.testing.assert_array_equal(model.encode(texts[7], normalize_embeddings=True), found[7])
        monkeypatch.setattr(octavo._core, "compile", lambda *arguments: pytest.fail("compiled again"))
        np.testing.assert_array_equal(
            SentenceTransformer(**minilm, **options).encode(texts[:4], normalize_embeddings=True), found[:4]
        )
        monkeypatch.undo()


def export(network: Any, example: Any, output: str, axes: dict[int, str], path: Path) -> None:
    """The network's first output as an ONNX file whose batch and length are open."""
    import torch

    names = ["input_ids", "attention_mask", "token_type_ids"]

    class First(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, ids: Any, mask: Any, types: Any) -> Any:
            return self.network(input_ids=ids, attention_mask=mask, token_type_ids=types)[0]

    dynamic = {name: {0: "batch", 1: "tokens"} for name in names} | {output: axes}
    arguments = tuple(example[name] for name in names)
    torch.onnx.export(
        First(),
        arguments,
        str(path),
        input_names=names,
        output_names=[output],
        dynamic_axes=dynamic,
        opset_version=17,
        dynamo=False,
    )


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory, minilm: dict[str, Any]) -> dict[str, Path]:
    """Seeded BERTs of two layers as sentence_transformers saves them, with an ONNX file beside each."""
    pytest.importorskip("sentence_transformers", reason="sentence_transformers is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch = pytest.importorskip("torch")
    from sentence_transformers import CrossEncoder as RealCrossEncoder
    from sentence_transformers import SentenceTransformer as RealSentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    root = tmp_path_factory.mktemp("bert")
    torch.manual_seed(1)
    sizes = {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "initializer_range": 0.1,
    }
    tokenizer = transformers.BertTokenizerFast(tokenizer_file=str(minilm["tokenizer"]))
    tokenizer.model_max_length = 128
    plain = {
        "embedder": transformers.BertModel(transformers.BertConfig(**sizes)),
        "scorer": transformers.BertForSequenceClassification(transformers.BertConfig(**sizes, num_labels=1)),
    }
    for name, network in plain.items():
        network.eval().save_pretrained(root / f"plain-{name}")
        tokenizer.save_pretrained(root / f"plain-{name}")
    stack = [modules.Transformer(str(root / "plain-embedder")), modules.Pooling(64, "mean"), modules.Normalize()]
    RealSentenceTransformer(modules=stack, device="cpu", prompts={"query": "search: "}).save_pretrained(
        str(root / "embedder")
    )
    RealCrossEncoder(str(root / "plain-scorer"), device="cpu").save_pretrained(str(root / "scorer"))
    example = tokenizer(["two short texts"], ["of a pair"], return_tensors="pt")
    for name, output, axes in (
        ("embedder", "last_hidden_state", {0: "batch", 1: "tokens"}),
        ("scorer", "logits", {0: "batch"}),
    ):
        (root / name / "onnx").mkdir()
        export(plain[name], example, output, axes, root / name / "onnx/model.onnx")
    return {"embedder": root / "embedder", "scorer": root / "scorer"}


@pytest.mark.long
def test_beside_sentence_transformers(bert: dict[str, Path]) -> None:
    from sentence_transformers import SentenceTransformer as Real

    texts = [row[0] for row in stsb("stsb_en_dev.csv")[:60]]
    ours, theirs = SentenceTransformer(bert["embedder"]), Real(str(bert["embedder"]), device="cpu")
    calls: list[dict[str, Any]] = [
        {},
        {"normalize_embeddings": True, "truncate_dim": 16},
        {"prompt_name": "query"},
        {"batch_size": 7},
        {"prompt": "note: "},
    ]
    for keywords in calls:
        np.testing.assert_allclose(
            ours.encode(texts, **keywords), theirs.encode(texts, **keywords), rtol=0, atol=3e-6, err_msg=str(keywords)
        )
    np.testing.assert_allclose(ours.encode_query(texts[0]), theirs.encode_query(texts[0]), rtol=0, atol=3e-6)
    for mine, its in zip(
        ours.encode(texts, output_value="token_embeddings"), theirs.encode(texts, output_value="token_embeddings")
    ):
        np.testing.assert_allclose(mine, its.numpy(), rtol=0, atol=2e-5)
    a, b = (model.encode(texts[:5]) for model in (ours, theirs))
    np.testing.assert_allclose(ours.similarity(a, a), theirs.similarity(b, b).numpy(), rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        ours.similarity_pairwise(a, a[::-1]), theirs.similarity_pairwise(b, b[::-1].copy()).numpy(), rtol=0, atol=1e-5
    )
    assert (
        ours.get_sentence_embedding_dimension() == theirs.get_embedding_dimension()
        and ours.max_seq_length == theirs.max_seq_length
    )


@pytest.mark.long
def test_cross_encoder_beside_sentence_transformers(bert: dict[str, Path]) -> None:
    from sentence_transformers import CrossEncoder as Real

    pairs = [(row[0], row[1]) for row in stsb("stsb_en_dev.csv")[:40]]
    ours, theirs = CrossEncoder(bert["scorer"]), Real(str(bert["scorer"]), device="cpu")
    np.testing.assert_allclose(ours.predict(pairs), theirs.predict(pairs), rtol=0, atol=1e-5)
    np.testing.assert_allclose(ours.predict(pairs[0]), theirs.predict(pairs[0]), rtol=0, atol=1e-5)
    documents = [pair[1] for pair in pairs[:12]]
    mine, its = (model.rank(pairs[0][0], documents, top_k=5, return_documents=True) for model in (ours, theirs))
    assert [(each["corpus_id"], each["text"]) for each in mine] == [(each["corpus_id"], each["text"]) for each in its]
