"""A corpus on disk: read once, in parts, on from the last part after a kill, and opened without being read."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus, Manifest, cutting_process, readers, row_blocks
from pipeline.corpus.cutting import passages, spans
from pipeline.corpus.readers.base import Row
from pipeline.errors import CorpusError, StoreError
from pipeline.types import Document
from tests.conftest import Figures

ROOT = Path(__file__).resolve().parents[2]
SIZE = 120
TEXT = "The mill of Arden was built in 17{n:02} by Ada Brannick. It ground corn for the valley of the Issel. " * 9


def written(path: Path, *, turned: bool = False) -> Manifest:
    """Documents of two passages. Every tenth text comes again, some rows are bad, and one id is used twice."""
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
    return written(tmp_path / "mills.jsonl")


def seen(loaded: Corpus) -> tuple[object, ...]:
    return loaded.fingerprint, loaded.counts, loaded.offenders, list(loaded.documents), list(loaded.passages)


@pytest.fixture
def whole(mills: Manifest) -> tuple[object, ...]:
    """As it is read in one part."""
    return seen(corpus.load(mills))


def of(out: Path) -> list[str]:
    return sorted(path.name for path in (out / "corpora").iterdir())


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_in_how_many_parts_it_is_read_does_not_matter(
    rows: int, mills: Manifest, whole: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_blocks, "PART_ROWS", rows)
    loaded = corpus.load(mills, tmp_path)
    assert seen(loaded) == whole
    assert (loaded.counts.duplicate, loaded.counts.bad, loaded.counts.kept) == (24, 2, SIZE)
    assert loaded.document("d10").aliases == ("Old mill 10",)
    assert "id 'd7' was used before" in loaded.offenders[1]
    # Two rows of their own are bad.
    assert len(list((tmp_path / "corpora").glob("*/part-*"))) == {1: SIZE + 24, 7: 21, 64: 3}[rows]


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


def test_the_order_of_ids_is_the_same_whatever_the_source_s(mills: Manifest, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = corpus.load(written(tmp_path / "other" / "mills.jsonl", turned=True))
    first = corpus.load(mills)
    assert first.passages[0] != other.passages[0]
    places = range(len(first.passages))
    assert [first.in_order_of_ids(n).id for n in places] == [other.in_order_of_ids(n).id for n in places]
    assert {first.in_order_of_ids(n).id for n in places} == {passage.id for passage in first.passages}


def broken_off(monkeypatch: pytest.MonkeyPatch, after: int) -> Callable[[], int]:
    """The reader fails as nothing of ours would after so many rows; how many documents were cut since."""
    real, cut = readers.rows, [0]

    def rows(*given: object) -> Iterator[Row]:
        for number, row in enumerate(real(*given)):  # type: ignore[arg-type]
            if number == after:
                raise KeyboardInterrupt
            yield row

    def counted(document: Document) -> object:
        cut[0] += 1
        return spans(document)

    monkeypatch.setattr(readers, "rows", rows)
    monkeypatch.setattr(cutting_process, "spans", counted)
    return lambda: cut[0]


@pytest.mark.parametrize("after", [5, 64, SIZE + 20])
def test_what_was_read_before_an_interruption_is_not_read_again(
    after: int, mills: Manifest, whole: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_blocks, "PART_ROWS", 8)
    with monkeypatch.context() as patched:
        broken_off(patched, after)
        with pytest.raises(KeyboardInterrupt):
            corpus.load(mills, tmp_path)
    assert [path.suffix for path in (tmp_path / "corpora").glob("*")] == ([".incomplete"] if after > 8 else [])
    cut = broken_off(monkeypatch, 1000)  # at no row
    assert seen(corpus.load(mills, tmp_path)) == whole
    assert cut() == SIZE + 25 - after // 8 * 8  # 25 documents more are not kept
    assert [name.partition("-")[0] for name in of(tmp_path)] == ["mills"]


@pytest.mark.parametrize(
    "damage", [lambda data: b"junk", lambda data: data[:9000], lambda data: data[:8192] + b"x" * 8192]
)
def test_of_what_was_kept_and_is_damaged_nothing_is_read(
    damage: Callable[[bytes], bytes],
    mills: Manifest,
    whole: tuple[object, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_blocks, "PART_ROWS", 8)
    with monkeypatch.context() as patched:
        broken_off(patched, 64)
        with pytest.raises(KeyboardInterrupt):
            corpus.load(mills, tmp_path)
    (kept,) = (tmp_path / "corpora").glob("*/kept.sqlite")
    kept.write_bytes(damage(kept.read_bytes()))
    try:
        loaded = corpus.load(mills, tmp_path)
    except StoreError as error:
        assert str(error) == f"{kept} is damaged; repeat the command, which prepares the corpus anew"  # noqa: PT017
        loaded = corpus.load(mills, tmp_path)
    assert seen(loaded) == whole


def test_it_is_read_once_and_again_where_a_file_was_changed_or_to_verify_it(
    mills: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, real, read = corpus.load(mills, tmp_path), readers.rows, list[object]()

    def rows(*given: object) -> Iterator[Row]:
        read.append(given)
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(readers, "rows", rows)
    assert seen(corpus.load(mills, tmp_path)) == seen(first)
    assert not read
    assert corpus.load(mills, tmp_path, verify=True).fingerprint == first.fingerprint
    assert len(read) == 1
    path = mills.path
    os.utime(path, ns=(1, 1))
    assert corpus.load(mills, tmp_path).fingerprint == first.fingerprint
    corpus.load(mills, tmp_path)
    assert len(read) == 2
    # The same size and time: only who verifies finds it out.
    path.write_text(path.read_text().replace("Ada Brannick", "Eva Brannick"))
    os.utime(path, ns=(1, 1))
    assert corpus.load(mills, tmp_path).fingerprint == first.fingerprint
    changed = corpus.load(mills, tmp_path, verify=True)
    assert changed.fingerprint != first.fingerprint
    assert len(of(tmp_path)) == 2
    limits = mills.limits.model_copy(update={"docs": 1000})
    corpus.load(mills.model_copy(update={"limits": limits}), tmp_path)
    assert len(read) == 4


def test_a_file_of_a_folder_that_comes_or_goes_is_a_change(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("The mill of Arden was built in 1702.")
    manifest = corpus.resolve(str(folder))
    assert corpus.load(manifest, tmp_path).counts.kept == 1
    (folder / "b.txt").write_text("The weir of Arden was built in 1703.")
    (folder / "c.pdf").touch()
    assert corpus.load(manifest, tmp_path).counts.skipped == {".pdf": 1}
    (folder / "a.txt").unlink()
    assert [document.id for document in corpus.load(manifest, tmp_path).documents] == ["b.txt"]


@pytest.mark.parametrize("name", ["part-00000.arrow", "rows.arrow", "aliases.arrow", "manifest.json"])
def test_a_torn_file_is_made_anew(name: str, mills: Manifest, whole: tuple[object, ...], tmp_path: Path) -> None:
    corpus.load(mills, tmp_path)
    (torn,) = (tmp_path / "corpora").glob(f"*/{name}")
    torn.write_bytes(torn.read_bytes()[:-9])
    assert seen(corpus.load(mills, tmp_path)) == whole


def test_a_corpus_that_cannot_be_used_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("{\n" * 90)
    with pytest.raises(CorpusError):
        corpus.load(corpus.resolve(str(path)), tmp_path / "out")
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
def test_kills_while_it_is_prepared(
    kills: int, mills: Manifest, whole: tuple[object, ...], tmp_path: Path, figures: Figures
) -> None:
    """Each process dies at one of the next changes of the disk; each goes on with what the last one left."""
    draw, killed, out = random.Random(kills), 0, tmp_path / "out"
    operations = ("before rename", "after rename", "before fsync", "after fsync")
    while killed < kills:
        point = f"{draw.choice(operations)}:{draw.randint(1, 12 if kills < 9 else 6)}"
        code = f"from tests.chaos.wrapped import kill; kill({point!r})\n{PREPARE}"
        command = [sys.executable, "-c", code, str(mills.path), str(out)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode in (0, -9), done.stderr
        killed += done.returncode == -9
        if done.returncode == 0:  # as many parts as there are: begin again
            assert done.stdout.strip() == whole[0]
            mills.path.touch()
    command = [sys.executable, "-c", PREPARE, str(mills.path), str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == whole[0], done.stderr
    assert [name.partition("-")[0] for name in of(out)] == ["mills"]
    figures({"kills": kills}, {"other fingerprints": 0, "unfinished folders": 0})
