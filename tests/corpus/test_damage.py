"""What a disk changes in a prepared corpus is never read as its text."""

import json
import random
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Manifest, loading, prepared, row_blocks
from pipeline.errors import CorpusError, StoreError
from pipeline.store.files import checksum
from tests.corpus.test_prepared import SIZE, mills, seen, whole

__all__ = ["mills", "whole"]
READ = {
    "by place": lambda loaded, ids: [loaded.passages[n] for n in range(len(ids))],
    "by id": lambda loaded, ids: [loaded.passage(key) for key in ids],
    "all": lambda loaded, ids: list(loaded.passages),
}


@pytest.mark.parametrize(
    ("name", "read"),
    [*(("part-00000.arrow", read) for read in READ), ("part-00001.arrow", "by id"), ("rows.arrow", "by place"),
     ("aliases.arrow", "by id"), ("manifest.json", "all")],
)  # fmt: skip
def test_no_flipped_bit_is_read(
    name: str, read: str, mills: Manifest, whole: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Size and time stay: a disk flips it. What is read of the corpus is right, or the file is named; once."""
    monkeypatch.setattr(row_blocks, "PART_ROWS", 64)
    corpus.load(mills, tmp_path)
    (path,) = (tmp_path / "corpora").glob(f"*/{name}")
    data, draw, named, problem = path.read_bytes(), random.Random(name), 0, ""
    ids = [passage.id for passage in whole[4]]  # type: ignore[attr-defined]
    for _ in range(5):
        flipped, place = bytearray(data), draw.randrange(8 * len(data))
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        loaded, found = corpus.load(mills, tmp_path), None
        try:
            found = READ[read](loaded, ids)
        except StoreError as error:
            problem = str(error)
            named += 1
        assert found == whole[4] if found else problem.startswith(f"{path} is damaged; repeat the command")
        assert seen(corpus.load(mills, tmp_path)) == whole
        assert path.read_bytes() == data
    assert (named > 0) == name.startswith("part")


def test_a_damaged_table_of_shown_ids_is_made_anew(mills: Manifest, tmp_path: Path) -> None:
    loaded = corpus.load(mills, tmp_path)
    shown = [passage.shown_id for passage in loaded.passages]
    assert loaded.find_shown(shown[3]) == loaded.passages[3]
    (path,) = (tmp_path / "corpora").glob("*/shown.arrow")
    data = path.read_bytes()
    for place in range(0, len(data), len(data) // 8):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        again = corpus.load(mills, tmp_path)
        assert [again.find_shown(key) for key in shown] == list(again.passages)
        assert path.read_bytes() == data
    kept = path.stat().st_mtime_ns
    assert corpus.load(mills, tmp_path).find_shown(shown[0])
    assert path.stat().st_mtime_ns == kept


def test_of_large_texts_only_the_parts_that_are_read_are_compared(
    mills: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_blocks, "PART_ROWS", 16)
    corpus.load(mills, tmp_path)
    compared = list[str]()

    def compare(path: Path) -> str:
        compared.append(path.name)
        return checksum(path)

    monkeypatch.setattr(prepared, "checksum", compare)
    loaded = corpus.load(mills, tmp_path)
    assert sorted(compared) == ["aliases.arrow", "rows.arrow"]
    for _ in range(2):
        assert loaded.document("d0")
        assert loaded.documents[SIZE - 1]
    assert sorted(compared[2:]) == ["part-00000.arrow", "part-00007.arrow"]


def test_a_corpus_that_was_prepared_without_checksums_is_prepared_anew(
    mills: Manifest, whole: tuple[object, ...], tmp_path: Path
) -> None:
    corpus.load(mills, tmp_path)
    (path,) = (tmp_path / "corpora").glob("*/manifest.json")
    old = json.loads(path.read_text())
    path.write_text(json.dumps(old | {"files": {name: file["size"] for name, file in old["files"].items()}}))
    assert seen(corpus.load(mills, tmp_path)) == whole
    assert json.loads(path.read_text()) == old


def test_a_source_that_is_moved_before_its_checksum_is_taken_is_named(
    mills: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = loading._check_sha256

    def check(manifest: Manifest) -> None:
        mills.path.rename(tmp_path / "moved.jsonl")
        real(manifest)

    monkeypatch.setattr(loading, "_check_sha256", check)
    with pytest.raises(CorpusError, match=r"mills\.jsonl: it cannot be read \(no such file or directory\)"):
        corpus.load(mills.model_copy(update={"sha256": "0" * 64}), tmp_path)
