"""A corpus is prepared on disk once, in parts; later runs open it unread."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus, Manifest, readers, row_blocks
from pipeline.corpus.cutting import passages
from pipeline.corpus.readers.base import Row
from pipeline.errors import CorpusError
from tests.conftest import Figures

ROOT = Path(__file__).resolve().parents[2]
SIZE = 120
TEXT = "The mill of Arden was built in 17{n:02} by Ada Brannick. It ground corn for the valley of the Issel. " * 9


def write_source(path: Path, *, turned: bool = False) -> Manifest:
    """Write documents of two passages; every tenth text is repeated, two rows are bad, and one id is used twice."""
    rows = [{"id": f"d{n}", "title": f"Mill {n}", "text": TEXT.format(n=n)} for n in range(SIZE)]
    again = [{"id": f"again{n}", "title": f"Old mill {n}", "text": TEXT.format(n=n)} for n in range(0, SIZE, 10)]
    rows = [*rows[::-1], *again] if turned else [*rows, *again]
    lines = [json.dumps(row) for row in (*rows, *again)]
    path.write_text("\n".join([*lines, "{broken", json.dumps({"id": "d7", "text": "Another text."})]))
    return corpus.resolve(str(path))


@pytest.fixture
def mills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    # Two of some 150 rows are bad: more than one in a hundred.
    monkeypatch.setattr("pipeline.corpus.read_and_left_out._BAD_SHARE", 0.1)
    return write_source(tmp_path / "mills.jsonl")


def read_contents(loaded: Corpus) -> tuple[object, ...]:
    return loaded.fingerprint, loaded.counts, loaded.offenders, list(loaded.documents), list(loaded.passages)


@pytest.fixture
def expected(mills: Manifest) -> tuple[object, ...]:
    """Return the contents of the corpus when it is read in one part."""
    return read_contents(corpus.load(mills))


def list_folders(out: Path) -> list[str]:
    return sorted(path.name for path in (out / "corpora").iterdir())


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_the_number_of_parts_changes_nothing(
    rows: int, mills: Manifest, expected: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_blocks, "PART_ROWS", rows)
    loaded = corpus.load(mills, tmp_path)
    assert read_contents(loaded) == expected
    assert (loaded.counts.duplicate, loaded.counts.bad, loaded.counts.kept) == (24, 2, SIZE)
    assert loaded.document("d10").aliases == ("Old mill 10",)
    assert "id 'd7' was used before" in loaded.offenders[1]
    assert len(list((tmp_path / "corpora").glob("*/part-*"))) == {1: SIZE, 7: 18, 64: 2}[rows]


def test_a_passage_is_found_by_place_id_and_shown_id(mills: Manifest) -> None:
    loaded = corpus.load(mills)
    cut = [passage for document in loaded.documents for passage in passages(document)]
    assert cut == list(loaded.passages) == [loaded.passages[n] for n in range(len(cut))] == loaded.passages[:]
    assert loaded.passages[-1] == cut[-1]
    assert loaded.passages[1::50] == cut[1::50]
    assert loaded.documents[5] == list(loaded.documents)[5]
    for passage in cut:
        assert loaded.passage(passage.id) == loaded.find_shown(passage.shown_id) == passage
    assert loaded.passages_of("d3") == [passage for passage in cut if passage.document_id == "d3"]
    for unknown in ("", "d3", "d3#", "d3#00", "d3#2", "d3#-1", "d3#²", "x#0", "#0"):
        assert loaded.passage(unknown) is None
    for unknown in ("", "p", "p0123456789ab", "pzzzzzzzzzzzz", "d3#0"):
        assert loaded.find_shown(unknown) is None
    assert (loaded.document("x"), loaded.passages_of("x")) == (None, [])
    with pytest.raises(IndexError):
        loaded.passages[len(cut)]


def test_the_order_of_ids_ignores_the_order_of_the_source(mills: Manifest, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    reversed_corpus = corpus.load(write_source(tmp_path / "other" / "mills.jsonl", turned=True))
    first = corpus.load(mills)
    assert first.passages[0] != reversed_corpus.passages[0]
    indexes = range(len(first.passages))
    assert [first.in_order_of_ids(n).id for n in indexes] == [reversed_corpus.in_order_of_ids(n).id for n in indexes]
    assert {first.in_order_of_ids(n).id for n in indexes} == {passage.id for passage in first.passages}


def test_a_source_is_read_again_only_if_it_changed_or_is_verified(
    mills: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, real, reads = corpus.load(mills, tmp_path), readers.rows, list[object]()

    def rows(*arguments: object) -> Iterator[Row]:
        reads.append(arguments)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(readers, "rows", rows)
    assert read_contents(corpus.load(mills, tmp_path)) == read_contents(first)
    assert not reads
    assert corpus.load(mills, tmp_path, verify=True).fingerprint == first.fingerprint
    assert len(reads) == 1
    path = mills.path
    os.utime(path, ns=(1, 1))
    assert corpus.load(mills, tmp_path).fingerprint == first.fingerprint
    corpus.load(mills, tmp_path)
    assert len(reads) == 2
    # With the same size and time, only verification detects the change.
    path.write_text(path.read_text().replace("Ada Brannick", "Eva Brannick"))
    os.utime(path, ns=(1, 1))
    assert corpus.load(mills, tmp_path).fingerprint == first.fingerprint
    changed = corpus.load(mills, tmp_path, verify=True)
    assert changed.fingerprint != first.fingerprint
    assert len(list_folders(tmp_path)) == 2
    limits = mills.limits.model_copy(update={"docs": 1000})
    corpus.load(mills.model_copy(update={"limits": limits}), tmp_path)
    assert len(reads) == 4


def test_a_file_of_a_folder_that_comes_or_goes_is_a_change(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("The mill of Arden was built in 1702.")
    manifest = corpus.resolve(str(folder))
    assert corpus.load(manifest, tmp_path).counts.kept == 1
    (folder / "b.txt").write_text("The weir of Arden was built in 1703.")
    (folder / "c.odt").touch()
    assert corpus.load(manifest, tmp_path).counts.skipped == {".odt": 1}
    (folder / "a.txt").unlink()
    assert [document.id for document in corpus.load(manifest, tmp_path).documents] == ["b.txt"]


@pytest.mark.parametrize("name", ["part-00000.arrow", "rows.arrow", "aliases.arrow", "manifest.json"])
def test_a_truncated_file_is_rebuilt(name: str, mills: Manifest, expected: tuple[object, ...], tmp_path: Path) -> None:
    corpus.load(mills, tmp_path)
    (path,) = (tmp_path / "corpora").glob(f"*/{name}")
    path.write_bytes(path.read_bytes()[:-9])
    assert read_contents(corpus.load(mills, tmp_path)) == expected


def test_a_corpus_that_cannot_be_used_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("{\n" * 90)
    with pytest.raises(CorpusError):
        corpus.load(corpus.resolve(str(path)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_interrupted_preparation_leaves_nothing(
    mills: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = readers.rows

    def rows(*arguments: object) -> Iterator[Row]:
        yield from islice(real(*arguments), 64)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(row_blocks, "PART_ROWS", 8)
    monkeypatch.setattr(readers, "rows", rows)
    with pytest.raises(KeyboardInterrupt):
        corpus.load(mills, tmp_path / "out")
    assert not (tmp_path / "out").exists()


PREPARE = """
import sys
from pathlib import Path
from pipeline import corpus
from pipeline.corpus import row_blocks, read_and_left_out
row_blocks.PART_ROWS, read_and_left_out._BAD_SHARE = 16, 0.1
print(corpus.load(corpus.resolve(sys.argv[1]), Path(sys.argv[2])).fingerprint)
"""


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.chaos)])
def test_preparation_survives_kills(
    kills: int, mills: Manifest, expected: tuple[object, ...], tmp_path: Path, figures: Figures
) -> None:
    """Kill each process at a random disk operation; the next one starts again."""
    rng, killed, out = random.Random(kills), 0, tmp_path / "out"
    operations = ("before rename", "after rename", "before fsync", "after fsync")
    while killed < kills:
        point = f"{rng.choice(operations)}:{rng.randint(1, 12 if kills < 9 else 6)}"
        code = f"from tests.chaos.wrapped import kill; kill({point!r})\n{PREPARE}"
        command = [sys.executable, "-c", code, str(mills.path), str(out)]
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert process.returncode in (0, -9), process.stderr
        killed += process.returncode == -9
        if process.returncode == 0:  # the corpus is complete: start over
            assert process.stdout.strip() == expected[0]
            mills.path.touch()
    command = [sys.executable, "-c", PREPARE, str(mills.path), str(out)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert process.stdout.strip() == expected[0], process.stderr
    assert [name.partition("-")[0] for name in list_folders(out)] == ["mills"]
    figures({"kills": kills}, {"other fingerprints": 0, "unfinished folders": 0})
