"""JSON arrays become rows, wherever the chunks end."""

import bz2
import json as standard
import random
import resource
from pathlib import Path
from typing import Any

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


def test_what_is_cut_off_or_holds_several_objects_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for data in ('[{"text": "good"}', '[{"text": "go', "[", '[{"text": "good"},'):
        with pytest.raises(CorpusError, match="its array is not closed; is it complete"):
            read_rows(tmp_path / "a.json", data)
    for data in ('{\n "a": 1\n}\n{\n "a": 2\n}', '{\n "data": [{"text": "good"}'):
        with pytest.raises(
            CorpusError, match=r"holds several JSON objects, or a broken one .* give an array of objects"
        ):
            read_rows(tmp_path / "a.json", data)
    monkeypatch.setattr(json, "LONGEST", 20)
    with pytest.raises(CorpusError, match="its object is not closed; is it complete"):
        read_rows(tmp_path / "a.json", '{"data": [{"text": "good"}]')
    with pytest.raises(CorpusError, match="holds one JSON object and no list of objects"):
        read_rows(tmp_path / "a.json", '{"data": ["good", "better", "best"]}')


def test_an_item_that_is_too_long_is_a_bad_row_and_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (base, json):
        monkeypatch.setattr(module, "LONGEST", 200)
    monkeypatch.setattr(base, "_CHUNK", 50)
    long = standard.dumps({"a": list(range(500))})
    bad, good = read_rows(tmp_path / "a.json", f'[{long}, {{"text": "good"}}]')
    assert (bad.error, good.values) == ("longer than 0 MiB", {"text": "good"})
    with pytest.raises(CorpusError, match="holds one string of more than"):
        read_rows(tmp_path / "a.json", standard.dumps([{"text": "x" * 5000}]))


TEXT = "The Petrel sank off Skerrow in 1894."
ARTICLES = [{"id": "1", "title": "Petrel", "text": TEXT}, {"id": "2", "title": "Weir", "text": f"{TEXT} It ran."}]
BODIES = [
    {"id": row["id"], "title": row["title"], "body": row["text"], "labels": [{"name": "bug"}]} for row in ARTICLES
]
WRAPPED: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "Solr": (
        {"responseHeader": {"params": {"fq": ["a"]}}, "response": {"numFound": 2, "docs": ARTICLES},
         "facet_counts": {"cat": ["x", 3]}},
        {}, "response.docs",
    ),
    "SQuAD": (
        {"version": "1.1", "data": [
            {"id": row["id"], "title": row["title"], "paragraphs": [
                {"context": text, "qas": [{"question": "Who?"}]} for text in row["text"].split(" It ")
            ]} for row in ARTICLES
        ]},
        {"text_field": "paragraphs.context"}, "data",
    ),
    "Elasticsearch": (
        {"_shards": {"total": 1}, "hits": {"total": {"value": 2}, "hits": [
            {"_id": row["id"], "_source": {"title": row["title"], "body": row["text"]}} for row in ARTICLES
        ]}, "aggregations": {"tags": {"buckets": [{"key": "a", "doc_count": 1}]}}},
        {"text_field": "_source.body", "title_field": "_source.title"}, "hits.hits",
    ),
    "documents": ({"documents": ARTICLES, "authors": [{"name": "Tarn"}]}, {}, "documents"),
    "data": ({"data": ARTICLES, "next": None}, {}, "data"),
    "GitHub": ({"total_count": 2, "items": BODIES}, {"text_field": "body"}, "items"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRAPPED)
def test_rows_that_one_object_wraps_are_read_and_named(name: str, tmp_path: Path) -> None:
    wrapped, fields, place = WRAPPED[name]
    for indent in (None, 2):
        (tmp_path / "a.json").write_text(standard.dumps(wrapped, indent=indent))
        loaded = corpus.load(corpus.resolve(str(tmp_path / "a.json"), **fields))
        assert [(d.id, d.title, d.text.split(".")[0]) for d in loaded.documents] == [
            ("1", "Petrel", TEXT[:-1]),
            ("2", "Weir", TEXT[:-1]),
        ]
        assert loaded.counts.noted == [f"2 rows are the objects in '{place}' of a JSON object"]


def test_an_object_with_the_text_is_a_row_although_it_holds_a_list(tmp_path: Path) -> None:
    article = {"title": "Petrel", "text": TEXT, "links": [{"text": "Skerrow"}], "body": [{"part": TEXT}]}
    (tmp_path / "a.json").write_text(standard.dumps(article, indent=2))
    for text_field in ("text", "body.part"):
        loaded = corpus.load(corpus.resolve(str(tmp_path / "a.json"), text_field=text_field))
        assert [(document.title, document.text) for document in loaded.documents] == [("Petrel", TEXT)]


def test_several_lists_of_rows_are_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(standard.dumps({"data": ARTICLES, "more": {"included": ARTICLES}}))
    with pytest.raises(
        CorpusError, match=r"2 lists of objects: data \(id, title, text\); more\.included \(id, .*--text"
    ):
        corpus.load(corpus.resolve(str(tmp_path / "a.json")))


def test_files_of_wrapped_rows_in_a_folder_are_shards(tmp_path: Path) -> None:
    for number, article in enumerate(ARTICLES, 1):
        (tmp_path / f"page-{number}.json").write_text(standard.dumps({"items": [{**article, "id": ""}]}))
    loaded = corpus.load(corpus.resolve(str(tmp_path)))
    assert [document.id for document in loaded.documents] == ["page-1.json:1", "page-2.json:1"]


@pytest.mark.parametrize("chunk", [1, 7])
def test_a_wrapped_list_is_read_wherever_the_chunks_end(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "_CHUNK", chunk)
    monkeypatch.setattr(json, "LONGEST", 250)
    for indent in (None, 2):
        wrapped = {'a "b"': [1, {"c": []}], "d": {"e]": {}, "rows": ROWS, "f": [[{"text": ""}]]}, "g": []}
        rows = read_rows(tmp_path / "a.json", standard.dumps(wrapped, indent=indent))
        assert [row.values for row in rows] == ROWS
        assert rows[1].place == "d.rows, item 2"


def test_damage_gives_rows_or_one_line(tmp_path: Path) -> None:
    rng = random.Random(0)
    for wrapped in (ROWS * 9, {"a": {"rows": ROWS * 9}, "b": [1]}) * 100:
        data = bytearray(standard.dumps(wrapped).encode())
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            assert all(isinstance(row, Row) for row in read_rows(tmp_path / "a.json", bytes(data)))
        except CorpusError as error:
            assert "\n" not in str(error)  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": {"rows": [', ']}, "b": [{"c": 1}]}')])
def test_an_array_streams(opening: str, closing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (base, json):
        monkeypatch.setattr(module, "LONGEST", 1 << 20)  # an object of at most this length may be one row
    path = tmp_path / "a.json"
    with path.open("w") as file:
        file.write(opening)
        file.writelines(f'{{"id": {n}, "text": "{"A text of the mill. " * 50}"}},' for n in range(20_000))  # 20 MB
        file.write(f'{{"id": -1, "text": "The last."}}{closing}')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in json.read(path, ReadLimits())) == 20_001
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 12 << 10
