"""Rows of public corpora become documents, however their fields and texts are shaped."""

import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus, contents
from pipeline.corpus.documents import document_of
from pipeline.corpus.manifest import Fields
from pipeline.corpus.readers.base import NAMED_BY_FILE, Row
from pipeline.errors import CorpusError
from pipeline.retrieval.passage_texts import search_r1
from pipeline.types import Document

TEXT = "The Petrel sank off Skerrow in 1894."


def make_document(**values: Any) -> Document:
    document = document_of(Row("line 1", "1", values), Fields())
    assert isinstance(document, Document), document
    return document


def load(path: Path, rows: Iterable[dict[str, Any]], **fields: str) -> Corpus:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return corpus.load(corpus.resolve(str(path), **fields))


@pytest.mark.parametrize(
    ("contents", "title", "text"),
    [
        ('"Petrel (steamer)"\n' + TEXT, "Petrel (steamer)", TEXT),
        ("Petrel\n" + TEXT, "Petrel", TEXT),
        ('"Petrel"\r\n' + TEXT, "Petrel", TEXT),
        ('"""Petrel"" (poem)"\n' + TEXT, '"Petrel" (poem)', TEXT),
        (f'"{"Petrel " * 40}"\n{TEXT}', ("Petrel " * 40).strip(), TEXT),
        (TEXT, "The Petrel sank off Skerrow in 1894.", TEXT),
        (f"{TEXT * 9}\nIt is long.", "The Petrel sank off Skerrow in 1894.The", f"{TEXT * 9}\nIt is long."),
    ],
)
def test_contents_are_a_title_a_line_end_and_a_text(contents: str, title: str, text: str) -> None:
    document = make_document(id="0", contents=contents)
    assert (document.title.startswith(title), document.text) == (True, text)


def test_contents_lose_a_leading_title_only_if_it_is_the_row_s_title() -> None:
    assert make_document(title="Petrel", contents=f'"Petrel"\n{TEXT}').text == TEXT
    assert make_document(title="The steamer", contents=f"Petrel\n{TEXT}").text == f"Petrel\n{TEXT}"
    assert make_document(title="Petrel", text=TEXT, contents="anything").text == TEXT
    assert make_document(title="Petrel", text=None, contents=TEXT).text == TEXT


def test_contents_that_are_named_as_the_text_are_split_too(tmp_path: Path) -> None:
    rows = [{"id": "0", "contents": f'"Petrel"\n{TEXT}'}]
    for name in ("text", "contents"):
        (document,) = load(tmp_path / "a.jsonl", rows, text_field=name).documents
        assert (document.id, document.title, document.text) == ("0", "Petrel", TEXT)


def test_printed_passages_can_be_read_back_as_a_corpus(tmp_path: Path) -> None:
    titles = ["Petrel", 'The "Petrel"', '"Petrel"', "Petrel " * 50, ""]
    rows = [{"id": n, "title": title, "text": f"{TEXT} It was number {n}."} for n, title in enumerate(titles)]
    first = load(tmp_path / "a.jsonl", rows)
    again = load(tmp_path / "b.jsonl", map(search_r1, first.passages))
    assert [d.id for d in again.documents] == [passage.id for passage in first.passages]
    assert [(d.title, d.text) for d in again.documents] == [(p.title, p.text) for p in first.passages]


@pytest.mark.parametrize("name", ["_id", "docid", "doc_id", "pid"])
def test_ids_by_their_usual_names_are_ids(name: str, tmp_path: Path) -> None:
    loaded = load(tmp_path / "a.jsonl", [{name: "doc7", "title": "Petrel", "text": TEXT, "metadata": {}}])
    assert loaded.documents[0].id == "doc7"
    assert loaded.counts.noted == []


def test_a_named_id_wins_and_a_passage_id_comes_before_a_document_id() -> None:
    row = Row("line 1", "1", {"docid": "d", "pid": "p", "_key": "k", "text": TEXT})
    for fields, key in ((Fields(), "p"), (Fields(id="_key"), "k"), (Fields(id=""), "1")):
        document = document_of(row, fields)
        assert isinstance(document, Document)
        assert document.id == key
    assert make_document(id=None, docid="d", text=TEXT).id == "1"


def test_ids_that_are_made_up_are_counted_in_one_line(tmp_path: Path) -> None:
    rows = [{"number": n, "text": f"{TEXT} It was number {n}."} for n in range(3)]
    loaded = load(tmp_path / "a.jsonl", rows)
    assert loaded.counts.noted == [
        "3 rows have no id and are named by their place: name a field of ids with --id-field"
    ]
    assert load(tmp_path / "a.jsonl", rows, id_field="number").counts.notes == {}


def test_a_file_that_is_one_document_has_its_name_for_an_id(tmp_path: Path) -> None:
    (tmp_path / "mill.txt").write_text(TEXT)
    for path in (tmp_path, tmp_path / "mill.txt"):
        loaded = corpus.load(corpus.resolve(str(path)))
        assert (loaded.documents[0].id, loaded.counts.notes) == ("mill.txt", {NAMED_BY_FILE: 1})


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (["The mill.", "It burned."], "The mill. It burned."),
        (["The mill.", " It burned."], "The mill. It burned."),
        ([["The mill.", " It burned."], [], ["Nobody was there."]], "The mill. It burned.\nNobody was there."),
        (["The mill\n", "It burned.\n"], "The mill\nIt burned."),
        ([], ""),
        (float("nan"), ""),
    ],
)
def test_a_list_of_sentences_is_a_text(field: object, text: str) -> None:
    assert make_document(title="Mill", text=field).text == text


@pytest.mark.parametrize("field", [[1, 2], ["a", ["b"]], [["a"], [["b"]]], {"a": "b"}, 7, [None]])
def test_a_field_that_is_not_text_makes_a_bad_row(field: object) -> None:
    assert document_of(Row("", "1", {"text": field}), Fields()) == "field 'text' is not text; name it with --text-field"


def test_a_nan_title_or_id_counts_as_missing() -> None:
    document = make_document(id=float("nan"), title=float("nan"), text=TEXT)
    assert (document.id, document.title) == ("1", "The Petrel sank off Skerrow in 1894.")
    assert make_document(id=Decimal("7.00"), text=TEXT).id == "7"
    assert isinstance(document_of(Row("", "1", {"id": Decimal("7.5"), "text": TEXT}), Fields()), str)


def test_a_list_of_one_title_is_a_title() -> None:
    assert make_document(title=["Petrel"], text=[TEXT]).title == "Petrel"
    assert isinstance(document_of(Row("", "1", {"title": ["Petrel", "Weir"], "text": TEXT}), Fields()), str)


def test_contents_of_one_line_have_no_title() -> None:
    assert contents.split("Petrel\n \n") == ("", "Petrel\n \n")
    assert contents.split('""\nThe text.') == ("", "The text.")


DUMPS: dict[str, dict[str, Any]] = {
    "elasticdump": {"_index": "wiki", "_id": "d1", "_score": 1, "_source": {"title": "Petrel", "body": TEXT}},
    "LangChain": {
        "id": "d1",
        "page_content": TEXT,
        "metadata": {"title": "Petrel", "source": "a.pdf"},
        "type": "Document",
    },
    "LangChain constructors": {"lc": 1, "kwargs": {"page_content": TEXT, "metadata": {"title": "Petrel", "key": "d1"}}},
    "LlamaIndex": {"__data__": {"id_": "d1", "text": TEXT, "metadata": {"title": "Petrel"}}, "__type__": "1"},
    "Natural Questions": {"document": {"id": "d1", "title": "Petrel", "text": TEXT}, "question": "q"},
    "RedPajama": {"text": TEXT, "meta": json.dumps({"title": "Petrel", "arxiv_id": "d1"})},
    "names with dots": {"a.b": {"text": TEXT}, "document.title": "Petrel", "id": "d1"},
    "Wikimedia Enterprise": {"id": "d1", "names": ["Petrel", "PS Petrel"], "sections": [
        {"has_parts": [{"value": TEXT}, {"type": "list"}]}, {"name": "See also"}]},
}  # fmt: skip
PATHS = {
    "elasticdump": ("_source.body", "_source.title", "_id"),
    "LangChain": ("page_content", "metadata.title", "id"),
    "LangChain constructors": ("kwargs.page_content", "kwargs.metadata.title", "kwargs.metadata.key"),
    "LlamaIndex": ("__data__.text", "__data__.metadata.title", "__data__.id_"),
    "Natural Questions": ("document.text", "document.title", "document.id"),
    "RedPajama": ("text", "meta.title", "meta.arxiv_id"),
    "names with dots": ("a.b", "document.title", "id"),
    "Wikimedia Enterprise": ("sections.has_parts.value", "names.0", "id"),
}


@pytest.mark.parametrize("name", DUMPS)
def test_fields_within_objects_are_named_by_their_paths(name: str, tmp_path: Path) -> None:
    text, title, key = PATHS[name]
    loaded = load(tmp_path / "a.jsonl", [DUMPS[name]], text_field=text, title_field=title, id_field=key)
    assert [(d.id, d.title, d.text) for d in loaded.documents] == [("d1", "Petrel", TEXT)]
    with pytest.raises(CorpusError, match=f"no row has the field '{title}x'"):
        load(tmp_path / "a.jsonl", [DUMPS[name]], text_field=text, title_field=f"{title}x")


@pytest.mark.parametrize("name", ["body_text", "body_text.text", "pdf_parse.body_text"])
def test_paragraphs_in_a_list_of_objects_are_a_text(name: str, tmp_path: Path) -> None:
    paragraphs = [{"text": TEXT, "section": "History", "cite_spans": []}, {"text": ["It burned.", "It sank."]}]
    row = {"paper_id": "d1", "body_text": paragraphs, "pdf_parse": {"body_text": paragraphs}}
    (document,) = load(tmp_path / "a.jsonl", [row], text_field=name, id_field="paper_id").documents
    assert document.text == f"{TEXT}\nIt burned. It sank."


def test_a_row_without_the_field_shows_its_paths_and_the_longest_text_first() -> None:
    row = Row("line 1", "1", {"document": {"id": 1, "text": "x"}, "answers": [{"text": "y"}], "tags": ["z"]})
    assert document_of(row, Fields(text="body")) == (
        "no field 'body' (it has: document.text, answers.text, tags, document.id); name it with --text-field"
    )


def test_bulk_request_lines_are_skipped_and_give_the_next_row_its_id(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"index": {"_index": "wiki", "_id": "d1"}},
        {"title": "Petrel", "text": TEXT},
        {"delete": {"_index": "wiki", "_id": "d0"}},
        {"create": {"_index": "wiki", "_id": "d2"}},
        {"title": "Gustav Tarn", "text": "He was a shipowner.", "id": "own"},
        {"index": {}},
        {"title": "Mill", "text": "It burned."},
    ]
    loaded = load(tmp_path / "a.ndjson", rows)
    assert [(d.id, d.title) for d in loaded.documents] == [("d1", "Petrel"), ("own", "Gustav Tarn"), ("7", "Mill")]
    assert (loaded.counts.read, loaded.counts.bad) == (3, 0)
    (document,) = load(tmp_path / "a.jsonl", [{"index": {"text": TEXT}}], text_field="index.text").documents
    assert document.text == TEXT


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Petrel (steamer)", f"Petrel (steamer). {TEXT}", TEXT),
        ("Petrel", f"Petrel\n\n{TEXT}", TEXT),
        ("Petrel", f"Petrel: {TEXT}", f"Petrel: {TEXT}"),
        ("St", "St. Petersburg is a city.", "St. Petersburg is a city."),
        ("Not Me!", "Not Me! (French: Sous-sol) is a film.", "Not Me! (French: Sous-sol) is a film."),
        ("Petrel", f"Petrel {TEXT}", f"Petrel {TEXT}"),
        ("Petrel", "Petrel.", "Petrel."),
    ],
)
def test_a_title_repeated_at_the_start_of_the_text_is_dropped(title: str, text: str, expected: str) -> None:
    for name in ("text", "contents"):
        assert make_document(id="1", title=title, **{name: text}).text == expected


def test_medrag_content_wins_over_contents() -> None:
    document = make_document(id="pubmed_1", title="Petrel", content=TEXT, contents=f"Petrel. {TEXT}", PMID=7)
    assert (document.title, document.text) == ("Petrel", TEXT)
