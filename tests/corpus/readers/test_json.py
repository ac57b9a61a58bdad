"""JSON arrays become rows, wherever the chunks end."""

import bz2
import json as standard
import random
import resource
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus.readers import base, json
from pipeline.corpus.readers.base import ReadLimits, Row
from pipeline.errors import CorpusError

ROWS = [
    {"id": 0, "title": "Mill", "text": 'It stood, "they" say: [by {the} river], \\ and \\" burned.\n'},
    {"id": 1, "title": "Weir", "text": "水车 😀", "more": {"a": [1, {"b": []}], "c": "}"}},
    {"id": 2, "title": "", "text": ""},
]


def read_rows(path: Path, data: str | bytes) -> list[Row]:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(json.read(path, ReadLimits()))


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize("indent", [None, 2])
def test_items_of_an_array_are_rows_wherever_the_chunks_end(
    indent: int | None, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "_CHUNK", chunk)
    for plain in (True, False):
        rows = read_rows(tmp_path / "a.json", f" \n{standard.dumps(ROWS, indent=indent, ensure_ascii=plain)}\n")
        assert [row.values for row in rows] == ROWS
        assert [(row.place, row.key) for row in rows][1] == ("item 2", "2")


def test_rows_by_line_and_packed_arrays_are_read(tmp_path: Path) -> None:
    lines = "".join(f"{standard.dumps(row)}\n" for row in ROWS)
    assert [row.values for row in read_rows(tmp_path / "a.json", lines)] == ROWS
    packed = bz2.compress(standard.dumps(ROWS).encode())
    assert [row.values for row in read_rows(tmp_path / "a.json.bz2", packed)] == ROWS
    assert (
        read_rows(tmp_path / "a.json", "")
        == read_rows(tmp_path / "a.json", "[]")
        == read_rows(tmp_path / "a.json", " [ ] ")
        == []
    )


def test_contexts_of_hotpotqa_are_documents(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(standard.dumps([["Mill", ["It stood.", " It burned."]], ["Weir", ["It ran."]]]))
    documents = corpus.load(corpus.resolve(str(tmp_path / "a.json"))).documents
    assert [(d.title, d.text) for d in documents] == [("Mill", "It stood. It burned."), ("Weir", "It ran.")]


@pytest.mark.parametrize(
    ("data", "errors"),
    [
        ('[{"a": NaN}, {"text": "good"}]', ["not JSON: NaN is no JSON; write null", ""]),
        ('[7, "x", null, {"text": "good"}]', ["not a JSON object"] * 3 + [""]),
        ('[{"text": "good"}, {"a" 1}, {"text": "good"}]', ["", "not JSON", ""]),
        ('[{"text": "good"}] and more', ["", "not JSON"]),
        ('[{"text": "good"}]\n[{"text": "good"}]', ["", ""]),
        ('[{"text": "good"},, {"text": "good"},]', ["", ""]),
    ],
)
def test_items_that_are_not_objects_are_bad_rows(data: str, errors: list[str], tmp_path: Path) -> None:
    messages = [row.error for row in read_rows(tmp_path / "a.json", data)]
    assert [error[: len(expected)] for error, expected in zip(messages, errors, strict=True)] == errors
    assert [bool(error) for error in messages] == [bool(error) for error in errors]


def test_an_array_that_was_cut_off_and_a_lone_object_are_one_line(tmp_path: Path) -> None:
    for data in ('[{"text": "good"}', '[{"text": "go', "[", '[{"text": "good"},'):
        with pytest.raises(CorpusError, match="its array is not closed; is it complete"):
            read_rows(tmp_path / "a.json", data)
    with pytest.raises(CorpusError, match="holds one JSON object; give an array of objects"):
        read_rows(tmp_path / "a.json", '{\n "data": []\n}')


def test_an_item_that_is_too_long_is_a_bad_row_and_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (base, json):
        monkeypatch.setattr(module, "LONGEST", 200)
    monkeypatch.setattr(base, "_CHUNK", 50)
    long = standard.dumps({"a": list(range(500))})
    bad, good = read_rows(tmp_path / "a.json", f'[{long}, {{"text": "good"}}]')
    assert (bad.error, good.values) == ("longer than 0 MiB", {"text": "good"})
    with pytest.raises(CorpusError, match="holds a text longer than"):
        read_rows(tmp_path / "a.json", standard.dumps([{"text": "x" * 5000}]))


def test_damage_gives_rows_or_one_line(tmp_path: Path) -> None:
    rng, intact = random.Random(0), standard.dumps(ROWS * 9).encode()
    for _ in range(300):
        data = bytearray(intact)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            assert all(isinstance(row, Row) for row in read_rows(tmp_path / "a.json", bytes(data)))
        except CorpusError as error:
            assert "\n" not in str(error)  # noqa: PT017 - either outcome is right


def test_an_array_streams(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with path.open("w") as file:
        file.write("[")
        file.writelines(f'{{"id": {n}, "text": "{"A text of the mill. " * 50}"}},' for n in range(60_000))  # 60 MB
        file.write('{"id": -1, "text": "The last."}]')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in json.read(path, ReadLimits())) == 60_001
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30 << 10
