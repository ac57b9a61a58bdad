"""Make small encoders as ONNX models, whose vectors can be worked out by hand."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.config.retrieval import DenseConfig, RetrievalConfig
from pipeline.corpus import Corpus
from pipeline.retrieval.engines.bm25 import _STOP
from pipeline.retrieval.passage_texts import contents

Asked = Callable[[str], RetrievalConfig]


def needed() -> None:
    for name in ("faiss", "onnxruntime", "tokenizers", "onnx"):
        pytest.importorskip(name, reason=f"{name} is of the extra 'dense'")


def asked(corpus: Corpus, folder: Path) -> Asked:
    def of(kind: str) -> RetrievalConfig:
        if kind not in ("dense", "hybrid"):
            return RetrievalConfig(retriever=kind)
        needed()
        home = folder / "words"
        if not home.exists():
            texts = [contents(passage) for passage in corpus.passages]
            words(home, [*texts, "who built the mill of Arden in 1702, a wooden one"])
        return RetrievalConfig(retriever=kind, dense=DenseConfig(encoder=str(home)))

    return of


def words(folder: Path, texts: Iterable[str]) -> Path:
    """An encoder with one dimension for each word, weighted by its rarity: vectors without a common word are
    orthogonal."""
    word_sets = [set(re.findall(r"\w+", text.lower())) for text in texts]
    counts = Counter(word for word_set in word_sets for word in sorted(word_set) if word not in _STOP)
    known = sorted(counts)
    table = np.zeros((len(known) + 1, len(known)), np.float32)
    table[range(1, len(known) + 1), range(len(known))] = [log(1 + len(word_sets) / counts[word]) for word in known]
    return write(folder, known, table)


def write(folder: Path, known: list[str], table: Any) -> Path:
    """An encoder that gives each word its row of the table; row 0 is for unknown words."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    folder.mkdir(parents=True)
    token_ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])
    vectors = helper.make_tensor_value_info("token_embeddings", TensorProto.FLOAT, ["batch", "tokens", table.shape[1]])
    node = helper.make_node("Gather", ["table", "input_ids"], ["token_embeddings"])
    graph = helper.make_graph([node], "encoder", [token_ids], [vectors], [numpy_helper.from_array(table, "table")])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), folder / "model.onnx")
    numbers = {"[UNK]": 0} | {word: number for number, word in enumerate(known, 1)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\W+"), "removed")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
