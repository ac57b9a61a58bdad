"""The dense engine against brute force in NumPy, and the encoder's settings against vectors worked out by hand."""

import shutil
from pathlib import Path
from typing import Any, cast

import numpy as np
import orjson
import pytest

from pipeline.config import build
from pipeline.config.retrieval import DenseConfig
from pipeline.corpus import Corpus
from pipeline.errors import UsageError
from pipeline.retrieval import vectors
from pipeline.retrieval.encoder import open_encoder
from pipeline.retrieval.engines import dense
from pipeline.retrieval.engines.dense import DenseRetriever
from pipeline.retrieval.question_passages import Overlay
from tests.encoders import needed, write
from tests.shelf import InMemory, passage

needed()
KNOWN = [f"w{number}" for number in range(300)]
TABLE = np.vstack([np.zeros((1, 24)), np.random.default_rng(7).normal(size=(300, 24))]).astype(np.float32)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words with random directions."""
    return write(tmp_path_factory.mktemp("random") / "encoder", KNOWN, TABLE)


@pytest.fixture(scope="module")
def many(tiny: Corpus) -> Corpus:
    """3,000 passages of random words; each of the last 100 repeats another one's."""
    draw = np.random.default_rng(3)
    texts = [" ".join(KNOWN[n] for n in draw.integers(0, 300, draw.integers(1, 40))) for _ in range(2900)]
    made = tuple(passage(f"d{n:04}", "", text) for n, text in enumerate([*texts, *texts[:100]]))
    return cast(Corpus, InMemory(made, tiny.manifest, "f" * 64))


def mean(text: str) -> Any:
    """By hand: the mean of the words' vectors, at length one."""
    rows = [TABLE[KNOWN.index(word) + 1].astype(np.float64) for word in text.split()]
    found = np.mean(rows, axis=0)
    return found / np.linalg.norm(found)


@pytest.fixture(scope="module")
def directions(many: Corpus) -> Any:
    """The vector of every passage, by hand."""
    return np.stack([mean(one.text) for one in many.passages])


QUERIES = [" ".join(KNOWN[n] for n in np.random.default_rng(seed).integers(0, 300, 6)) for seed in range(40)]


@pytest.mark.parametrize("block", [1 << 16, 700])
async def test_the_k_best_are_those_of_brute_force_with_their_cosines(
    block: int, many: Corpus, directions: Any, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "_BLOCK", block)
    retriever = DenseRetriever(many, tmp_path, DenseConfig(encoder=str(encoder)))
    for query, hits in zip(QUERIES, await retriever.search_many(QUERIES, 20), strict=True):
        true = dict(zip((one.id for one in many.passages), directions @ mean(query), strict=True))
        assert len(hits) == 20
        assert [hit.score for hit in hits] == pytest.approx([true[hit.passage.id] for hit in hits], abs=2e-6)
        least = sorted(true.values())[-20]
        assert all(score <= least + 2e-6 or key in {hit.passage.id for hit in hits} for key, score in true.items())
        assert await retriever.search(query, 20) == hits


async def test_equal_texts_tie_and_come_by_id_at_any_depth(many: Corpus, encoder: Path, tmp_path: Path) -> None:
    retriever = DenseRetriever(many, tmp_path, DenseConfig(encoder=str(encoder)))
    for n in range(5):
        text = many.passages[n].text
        assert [hit.passage.id for hit in await retriever.search(text, 2)] == [f"d{n:04}#0", f"d{2900 + n:04}#0"]
        assert [hit.passage.id for hit in await retriever.search(text, 1)] == [f"d{n:04}#0"]


async def test_hundreds_of_equal_passages_are_cut_by_id(tiny: Corpus, encoder: Path, tmp_path: Path) -> None:
    same = tuple(passage(f"d{n:04}", "", "w1 w2") for n in range(900, 0, -1))
    retriever = DenseRetriever(
        cast(Corpus, InMemory(same, tiny.manifest, "e" * 64)), tmp_path, DenseConfig(encoder=str(encoder))
    )
    assert [hit.passage.id for hit in await retriever.search("w1", 3)] == ["d0001#0", "d0002#0", "d0003#0"]


async def test_the_graph_finds_nearly_what_brute_force_does(many: Corpus, encoder: Path, tmp_path: Path) -> None:
    graph = DenseRetriever(many, tmp_path, DenseConfig(encoder=str(encoder), index="hnsw"))
    flat = DenseRetriever(many, tmp_path, DenseConfig(encoder=str(encoder)))
    assert graph.name != flat.name
    found, true = [await one.search_many(QUERIES, 10) for one in (graph, flat)]
    met = sum(len({h.passage.id for h in a} & {h.passage.id for h in b}) for a, b in zip(found, true, strict=True))
    assert met >= 0.95 * 10 * len(QUERIES)
    (file,) = tmp_path.glob("indexes/*/hnsw.faiss")
    first = file.read_bytes()
    file.unlink()
    DenseRetriever(many, tmp_path, DenseConfig(encoder=str(encoder), index="hnsw"))
    assert file.read_bytes() == first


async def test_an_overlay_ranks_as_in_an_index_that_holds_it(many: Corpus, encoder: Path, tmp_path: Path) -> None:
    settings = DenseConfig(encoder=str(encoder), query_prefix="w5 ", passage_prefix="w9 w9 ")
    own = [passage(f"own{n}", "", " ".join(query.split()[:4])) for n, query in enumerate(QUERIES[:10])]
    base = DenseRetriever(many, tmp_path, settings)
    whole = cast(Corpus, InMemory((*many.passages, *own), many.manifest, "d" * 64))
    rebuilt = DenseRetriever(whole, tmp_path, settings)
    assert await Overlay(base, own).search_many(QUERIES, 30) == await rebuilt.search_many(QUERIES, 30)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, mean("w1 w2 w3")),
        ({"pooling": "cls", "normalise": False}, TABLE[2]),
        ({"pooling": "last", "normalise": False}, TABLE[4]),
        ({"pooling": "mean", "normalise": False}, TABLE[2:5].mean(axis=0)),
    ],
)
def test_pooling_and_normalisation_are_what_the_settings_say(
    settings: dict[str, Any], expected: Any, encoder: Path
) -> None:
    made = open_encoder(DenseConfig(encoder=str(encoder), **settings)).encode(["w1 w2 w3", "", "nothing known"])
    assert made[0] == pytest.approx(expected, abs=1e-6)
    assert not made[1:].any()


def test_the_encoder_s_own_pooling_counts_where_none_is_set(encoder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    shutil.copytree(encoder, folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_bytes(orjson.dumps({"pooling_mode_cls_token": True}))
    made = open_encoder(DenseConfig(encoder=str(folder), normalise=False)).encode(["w1 w2 w3"])
    assert made[0] == pytest.approx(TABLE[2])
    (folder / "1_Pooling/config.json").write_bytes(orjson.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(UsageError, match=r"retrieval\.dense\.pooling"):
        open_encoder(DenseConfig(encoder=str(folder)))


def test_what_lies_beyond_the_length_is_not_seen(encoder: Path) -> None:
    made = open_encoder(DenseConfig(encoder=str(encoder), max_length=8)).encode(["w1 " * 8 + "w2 w3", "w1"])
    assert made[0] == pytest.approx(made[1])


async def test_prefixes_are_part_of_what_is_encoded(many: Corpus, encoder: Path, tmp_path: Path) -> None:
    settings = DenseConfig(encoder=str(encoder), query_prefix="w5 ", passage_prefix="w9 ")
    retriever = DenseRetriever(many, tmp_path, settings)
    for hit in await retriever.search("w1 w2", 5):
        assert hit.score == pytest.approx(mean(f"w9 {hit.passage.text}") @ mean("w5 w1 w2"), abs=2e-6)


def test_vectors_are_made_once_and_gone_on_with_after_a_kill(many: Corpus, encoder: Path, tmp_path: Path) -> None:
    settings = DenseConfig(encoder=str(encoder))
    made = open_encoder(settings)
    counted: list[int] = []

    class Counting:
        """Dies at its third part."""

        deadly = True

        def encode(self, texts: Any) -> Any:
            if len(texts) > 1:
                counted.append(len(texts))
            if self.deadly and len(counted) == 3:
                raise KeyboardInterrupt
            return made.encode(texts)

    counting = Counting()
    with pytest.raises(KeyboardInterrupt):
        vectors.ensure(many, counting, settings, tmp_path / "a")
    (left,) = (tmp_path / "a/indexes").glob("*.incomplete")
    (left / vectors.FILE).open("ab").write(b"torn")
    counting.deadly = False
    first = vectors.ensure(many, counting, settings, tmp_path / "a")
    assert counted == [1024, 1024, 952, 952]
    assert vectors.ensure(many, counting, settings, tmp_path / "a") == first
    assert len(counted) == 4
    second = vectors.ensure(many, made, settings, tmp_path / "b")
    assert (first / vectors.FILE).read_bytes() == (second / vectors.FILE).read_bytes()
    assert np.load(first / vectors.FILE).shape == (3000, 24)
    np.save(first / vectors.FILE, np.zeros((3, 24), np.float32))
    assert np.load(vectors.ensure(many, made, settings, tmp_path / "a") / vectors.FILE).shape == (3000, 24)


def test_the_identity_holds_the_encoder_and_its_settings_but_no_folder(encoder: Path, tmp_path: Path) -> None:
    def digest(folder: Path, **settings: Any) -> str:
        tree = {"retriever": "dense", "dense": {"encoder": str(folder), **settings}}
        config = build(values={"retrieval": tree})
        assert str(folder) not in orjson.dumps(config.digest_input()).decode()
        return config.digest()

    other = tmp_path / "elsewhere" / encoder.name
    shutil.copytree(encoder, other)
    one = digest(encoder)
    assert digest(other) == one
    assert len({one, digest(encoder, query_prefix="q: "), digest(encoder, pooling="cls")}) == 3
    held = build(values={"retrieval": {"retriever": "dense", "dense": {"encoder": str(other)}}}).retrieval.dense
    (other / "tokenizer.json").write_text("{}")
    assert digest(other) != one
    with pytest.raises(UsageError, match="has changed since the run began"):
        open_encoder(held)


def test_the_settings_of_dense_leave_other_runs_as_they_are(encoder: Path) -> None:
    assert build(values={"retrieval": {"dense": {"encoder": str(encoder)}}}).digest() == build().digest()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "no encoder is set"),
        ({"encoder": "/no/such/folder"}, "no encoder folder"),
        ({"encoder": "org/name"}, "sentence"),
    ],
)
def test_what_is_missing_is_one_line(settings: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.retrieval.encoder.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=said) as caught:
        open_encoder(DenseConfig(**settings))
    assert "\n" not in str(caught.value)


def test_the_extra_is_named_where_it_is_missing(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.retrieval.encoder.find_spec", lambda name: None if name == "faiss" else name)
    with pytest.raises(UsageError, match="--extra dense"):
        open_encoder(DenseConfig(encoder=str(encoder)))
