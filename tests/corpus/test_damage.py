"""Damage on disk to a prepared corpus is detected and never read as text."""

import json
import random
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Manifest, loading, prepared, row_blocks
from pipeline.errors import CorpusError, StoreError
from pipeline.store.files import checksum
from tests.corpus.test_prepared import SIZE, expected, mills, read_contents

__all__ = ["expected", "mills"]
READ = {
    "by place": lambda loaded, ids: [loaded.passages[n] for n in range(len(ids))],
    "by id": lambda loaded, ids: [loaded.passage(key) for key in ids],
    "all": lambda loaded, ids: list(loaded.passages),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "read"),
    [*(("part-00000.arrow", read) for read in READ), ("part-00001.arrow", "by id"), ("rows.arrow", "by place"),
     ("aliases.arrow", "by id"), ("manifest.json", "all")],
)  # fmt: skip
def test_flipped_bits_are_never_read_as_text(
    name: str, read: str, mills: Manifest, expected: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flip bits under an unchanged size and time: the text is right, or one error names the file."""
    monkeypatch.setattr(row_blocks, "PART_ROWS", 64)
    corpus.load(mills, tmp_path)
    (path,) = (tmp_path / "corpora").glob(f"*/{name}")
    data, draw, error_count, problem = path.read_bytes(), random.Random(name), 0, ""
    ids = [passage.id for passage in expected[4]]  # type: ignore[attr-defined]
    for _ in range(5):
        flipped, bit = bytearray(data), draw.randrange(8 * len(data))
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        loaded, passages = corpus.load(mills, tmp_path), None
        try:
            passages = READ[read](loaded, ids)
        except StoreError as error:
            problem = str(error)
            error_count += 1
        assert passages == expected[4] if passages else problem.startswith(f"{path} is damaged; repeat the command")
        assert read_contents(corpus.load(mills, tmp_path)) == expected
        assert path.read_bytes() == data
    assert (error_count > 0) == name.startswith("part")


def test_a_damaged_table_of_shown_ids_is_rebuilt(mills: Manifest, tmp_path: Path) -> None:
    loaded = corpus.load(mills, tmp_path)
    shown_ids = [passage.shown_id for passage in loaded.passages]
    assert loaded.find_shown(shown_ids[3]) == loaded.passages[3]
    (path,) = (tmp_path / "corpora").glob("*/shown.arrow")
    data = path.read_bytes()
    for offset in range(0, len(data), len(data) // 8):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 4]) + data[offset + 1 :])
        reloaded = corpus.load(mills, tmp_path)
        assert [reloaded.find_shown(key) for key in shown_ids] == list(reloaded.passages)
        assert path.read_bytes() == data
    modified = path.stat().st_mtime_ns
    assert corpus.load(mills, tmp_path).find_shown(shown_ids[0])
    assert path.stat().st_mtime_ns == modified


def test_only_the_parts_that_are_read_are_verified(
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


def test_a_corpus_without_checksums_is_prepared_again(
    mills: Manifest, expected: tuple[object, ...], tmp_path: Path
) -> None:
    corpus.load(mills, tmp_path)
    (path,) = (tmp_path / "corpora").glob("*/manifest.json")
    old = json.loads(path.read_text())
    path.write_text(json.dumps(old | {"files": {name: file["size"] for name, file in old["files"].items()}}))
    assert read_contents(corpus.load(mills, tmp_path)) == expected
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
