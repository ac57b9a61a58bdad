"""The dense engine matches brute force in NumPy, and the encoder matches vectors computed by hand."""

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
from pipeline.retrieval.passage_texts import contents
from pipeline.retrieval.question_passages import Overlay
from tests.passages import InMemory, passage
from tests.small_encoders import needed, write

needed()
WORDS = [f"w{number}" for number in range(300)]
TABLE = np.vstack([np.zeros((1, 24)), np.random.default_rng(7).normal(size=(300, 24))]).astype(np.float32)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words with random directions."""
    return write(tmp_path_factory.mktemp("random") / "encoder", WORDS, TABLE)


@pytest.fixture(scope="module")
def large_corpus(tiny: Corpus) -> Corpus:
    """Make 3,000 passages of random words. Each of the last 100 repeats another text."""
    rng = np.random.default_rng(3)
    texts = [" ".join(WORDS[n] for n in rng.integers(0, 300, rng.integers(1, 40))) for _ in range(2900)]
    passages = tuple(passage(f"d{n:04}", "", text) for n, text in enumerate([*texts, *texts[:100]]))
    return cast(Corpus, InMemory(passages, tiny.manifest, "f" * 64))


def encode_by_hand(text: str) -> Any:
    """Return the normalized mean of the words' vectors."""
    rows = [TABLE[WORDS.index(word) + 1].astype(np.float64) for word in text.split()]
    vector = np.mean(rows, axis=0)
    return vector / np.linalg.norm(vector)


@pytest.fixture(scope="module")
def expected_vectors(large_corpus: Corpus) -> Any:
    """Compute the vector of every passage by hand."""
    return np.stack([encode_by_hand(passage.text) for passage in large_corpus.passages])


QUERIES = [" ".join(WORDS[n] for n in np.random.default_rng(seed).integers(0, 300, 6)) for seed in range(40)]


@pytest.mark.parametrize("block", [1 << 16, 700])
async def test_the_best_hits_match_brute_force(
    block: int,
    large_corpus: Corpus,
    expected_vectors: Any,
    encoder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dense, "_BLOCK", block)
    retriever = DenseRetriever(large_corpus, tmp_path, DenseConfig(encoder=str(encoder)))
    for query, hits in zip(QUERIES, await retriever.search_many(QUERIES, 20), strict=True):
        cosines = dict(
            zip(
                (passage.id for passage in large_corpus.passages), expected_vectors @ encode_by_hand(query), strict=True
            )
        )
        assert len(hits) == 20
        assert [hit.score for hit in hits] == pytest.approx([cosines[hit.passage.id] for hit in hits], abs=2e-6)
        least = sorted(cosines.values())[-20]
        assert all(score <= least + 2e-6 or key in {hit.passage.id for hit in hits} for key, score in cosines.items())
        assert await retriever.search(query, 20) == hits


async def test_equal_texts_tie_and_are_ordered_by_id(large_corpus: Corpus, encoder: Path, tmp_path: Path) -> None:
    retriever = DenseRetriever(large_corpus, tmp_path, DenseConfig(encoder=str(encoder)))
    for n in range(5):
        text = large_corpus.passages[n].text
        assert [hit.passage.id for hit in await retriever.search(text, 2)] == [f"d{n:04}#0", f"d{2900 + n:04}#0"]
        assert [hit.passage.id for hit in await retriever.search(text, 1)] == [f"d{n:04}#0"]


async def test_hundreds_of_equal_passages_are_truncated_by_id(tiny: Corpus, encoder: Path, tmp_path: Path) -> None:
    same = tuple(passage(f"d{n:04}", "", "w1 w2") for n in range(900, 0, -1))
    retriever = DenseRetriever(
        cast(Corpus, InMemory(same, tiny.manifest, "e" * 64)), tmp_path, DenseConfig(encoder=str(encoder))
    )
    assert [hit.passage.id for hit in await retriever.search("w1", 3)] == ["d0001#0", "d0002#0", "d0003#0"]


async def test_the_graph_index_finds_nearly_the_same_as_brute_force(
    large_corpus: Corpus, encoder: Path, tmp_path: Path
) -> None:
    graph = DenseRetriever(large_corpus, tmp_path, DenseConfig(encoder=str(encoder), index="hnsw"))
    flat = DenseRetriever(large_corpus, tmp_path, DenseConfig(encoder=str(encoder)))
    assert graph.name != flat.name
    graph_hits, true_hits = [await retriever.search_many(QUERIES, 10) for retriever in (graph, flat)]
    shared_count = sum(
        len({h.passage.id for h in a} & {h.passage.id for h in b}) for a, b in zip(graph_hits, true_hits, strict=True)
    )
    assert shared_count >= 0.95 * 10 * len(QUERIES)
    (file,) = tmp_path.glob("indexes/*/hnsw.faiss")
    index_bytes = file.read_bytes()
    file.unlink()
    DenseRetriever(large_corpus, tmp_path, DenseConfig(encoder=str(encoder), index="hnsw"))
    assert file.read_bytes() == index_bytes


async def test_an_overlay_ranks_as_a_rebuilt_index(large_corpus: Corpus, encoder: Path, tmp_path: Path) -> None:
    settings = DenseConfig(encoder=str(encoder), query_prefix="w5 ", passage_prefix="w9 w9 ")
    added = [passage(f"own{n}", "", " ".join(query.split()[:4])) for n, query in enumerate(QUERIES[:10])]
    base = DenseRetriever(large_corpus, tmp_path, settings)
    extended = cast(Corpus, InMemory((*large_corpus.passages, *added), large_corpus.manifest, "d" * 64))
    rebuilt = DenseRetriever(extended, tmp_path, settings)
    assert await Overlay(base, added).search_many(QUERIES, 30) == await rebuilt.search_many(QUERIES, 30)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, encode_by_hand("w1 w2 w3")),
        ({"pooling": "cls", "normalise": False}, TABLE[2]),
        ({"pooling": "last", "normalise": False}, TABLE[4]),
        ({"pooling": "mean", "normalise": False}, TABLE[2:5].mean(axis=0)),
    ],
)
def test_pooling_and_normalisation_follow_the_settings(settings: dict[str, Any], expected: Any, encoder: Path) -> None:
    encoded = open_encoder(DenseConfig(encoder=str(encoder), **settings)).encode(["w1 w2 w3", "", "nothing known"])
    assert encoded[0] == pytest.approx(expected, abs=1e-6)
    assert not encoded[1:].any()


def test_the_encoder_s_pooling_applies_unless_one_is_set(encoder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    shutil.copytree(encoder, folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_bytes(orjson.dumps({"pooling_mode_cls_token": True}))
    encoded = open_encoder(DenseConfig(encoder=str(folder), normalise=False)).encode(["w1 w2 w3"])
    assert encoded[0] == pytest.approx(TABLE[2])
    (folder / "1_Pooling/config.json").write_bytes(orjson.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(UsageError, match=r"retrieval\.dense\.pooling"):
        open_encoder(DenseConfig(encoder=str(folder)))


def test_text_beyond_the_maximal_length_is_ignored(encoder: Path) -> None:
    encoded = open_encoder(DenseConfig(encoder=str(encoder), max_length=8)).encode(["w1 " * 8 + "w2 w3", "w1"])
    assert encoded[0] == pytest.approx(encoded[1])


async def test_prefixes_are_encoded(large_corpus: Corpus, encoder: Path, tmp_path: Path) -> None:
    settings = DenseConfig(encoder=str(encoder), query_prefix="w5 ", passage_prefix="w9 ")
    retriever = DenseRetriever(large_corpus, tmp_path, settings)
    for hit in await retriever.search("w1 w2", 5):
        assert hit.score == pytest.approx(
            encode_by_hand(f"w9 {hit.passage.text}") @ encode_by_hand("w5 w1 w2"), abs=2e-6
        )


def test_vectors_are_made_once_and_resumed_after_a_kill(large_corpus: Corpus, encoder: Path, tmp_path: Path) -> None:
    settings = DenseConfig(encoder=str(encoder))
    real_encoder = open_encoder(settings)
    batch_sizes: list[int] = []

    class Counting:
        """Fails at its third batch."""

        deadly = True

        def encode(self, texts: Any) -> Any:
            if len(texts) > 1:
                batch_sizes.append(len(texts))
            if self.deadly and len(batch_sizes) == 3:
                raise KeyboardInterrupt
            return real_encoder.encode(texts)

    counting = Counting()
    with pytest.raises(KeyboardInterrupt):
        vectors.ensure(large_corpus, counting, settings, tmp_path / "a")
    (incomplete,) = (tmp_path / "a/indexes").glob("*.incomplete")
    (incomplete / vectors.FILE).open("ab").write(b"torn")
    counting.deadly = False
    first = vectors.ensure(large_corpus, counting, settings, tmp_path / "a")
    assert batch_sizes == [1024, 1024, 952, 952]
    assert vectors.ensure(large_corpus, counting, settings, tmp_path / "a") == first
    assert len(batch_sizes) == 4
    second = vectors.ensure(large_corpus, real_encoder, settings, tmp_path / "b")
    assert (first / vectors.FILE).read_bytes() == (second / vectors.FILE).read_bytes()
    assert np.load(first / vectors.FILE).shape == (3000, 24)
    np.save(first / vectors.FILE, np.zeros((3, 24), np.float32))
    assert np.load(vectors.ensure(large_corpus, real_encoder, settings, tmp_path / "a") / vectors.FILE).shape == (
        3000,
        24,
    )


def test_only_texts_that_changed_are_encoded_again(large_corpus: Corpus, encoder: Path, tmp_path: Path) -> None:
    """Passages come, go and change; the bytes are those of an index that is made from nothing."""
    settings = DenseConfig(encoder=str(encoder))
    real_encoder = open_encoder(settings)
    encoded_texts: list[str] = []

    class Recording:
        def encode(self, texts: Any) -> Any:
            encoded_texts.extend(texts)
            return real_encoder.encode(texts)

    changed = passage("d0007", "", "w1 w2 w3 w4 w5")
    added = passage("d9999", "", "w9 w8 w7")
    passages = (*large_corpus.passages[20:], changed, added, *large_corpus.passages[:5])
    after = cast(Corpus, InMemory(passages, large_corpus.manifest, "e" * 64))
    vectors.ensure(large_corpus, real_encoder, settings, tmp_path / "a")
    refreshed = vectors.ensure(after, Recording(), settings, tmp_path / "a")
    assert sorted(encoded_texts) == sorted(["a", contents(changed), contents(added)])
    afresh = vectors.ensure(after, real_encoder, settings, tmp_path / "b")
    assert (refreshed / vectors.FILE).read_bytes() == (afresh / vectors.FILE).read_bytes()


def test_damaged_vectors_are_not_taken_over(large_corpus: Corpus, encoder: Path, tmp_path: Path) -> None:
    settings = DenseConfig(encoder=str(encoder))
    real_encoder = open_encoder(settings)
    former = vectors.ensure(large_corpus, real_encoder, settings, tmp_path / "a")
    rows = np.load(former / vectors.FILE)
    np.save(former / vectors.FILE, np.zeros_like(rows))
    after = cast(Corpus, InMemory(tuple(large_corpus.passages), large_corpus.manifest, "e" * 64))
    refreshed = vectors.ensure(after, real_encoder, settings, tmp_path / "a")
    assert np.array_equal(np.load(refreshed / vectors.FILE), rows)


def test_the_identity_has_the_encoder_and_its_settings_but_no_folder(encoder: Path, tmp_path: Path) -> None:
    def digest(folder: Path, **settings: Any) -> str:
        tree = {"retriever": "dense", "dense": {"encoder": str(folder), **settings}}
        config = build(values={"retrieval": tree})
        assert str(folder) not in orjson.dumps(config.digest_input()).decode()
        return config.digest()

    copied = tmp_path / "elsewhere" / encoder.name
    shutil.copytree(encoder, copied)
    original = digest(encoder)
    assert digest(copied) == original
    assert len({original, digest(encoder, query_prefix="q: "), digest(encoder, pooling="cls")}) == 3
    dense = build(values={"retrieval": {"retriever": "dense", "dense": {"encoder": str(copied)}}}).retrieval.dense
    (copied / "tokenizer.json").write_text("{}")
    assert digest(copied) != original
    with pytest.raises(UsageError, match="has changed since the run began"):
        open_encoder(dense)


def test_dense_settings_do_not_affect_other_runs(encoder: Path) -> None:
    assert build(values={"retrieval": {"dense": {"encoder": str(encoder)}}}).digest() == build().digest()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no encoder is set"),
        ({"encoder": "/no/such/folder"}, "no encoder folder"),
        ({"encoder": "org/name"}, "sentence"),
    ],
)
def test_a_missing_encoder_is_refused_in_one_line(
    settings: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.retrieval.encoder.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=message) as caught:
        open_encoder(DenseConfig(**settings))
    assert "\n" not in str(caught.value)


def test_a_missing_extra_is_named(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.retrieval.encoder.find_spec", lambda name: None if name == "faiss" else name)
    with pytest.raises(UsageError, match="--extra dense"):
        open_encoder(DenseConfig(encoder=str(encoder)))
