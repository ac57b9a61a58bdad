"""Corpora in the shapes in which they are published, each read as it is."""

import bz2
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus

PETREL = "The Petrel was a steamer of the Northern Packet Company. She sank off Skerrow on 11 December 1894."
TARN = 'Gustav Tarn, called "the Elder", was a shipowner who was born in Ostrand. He founded the company in 1858.'
WHOLE = [("Petrel (steamer)", PETREL), ("Gustav Tarn", TARN)]


def load_corpus(path: Path) -> Corpus:
    return corpus.load(corpus.resolve(str(path)))


def read_texts(loaded: Corpus) -> list[tuple[str, str]]:
    return [(document.title, document.text) for document in loaded.documents]


def make_json_lines(*rows: Mapping[str, object]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


BEIR = make_json_lines(*({"_id": f"doc{n}", "title": t, "text": x, "metadata": {}} for n, (t, x) in enumerate(WHOLE)))
SEARCH_R1 = make_json_lines(*({"id": f"doc{n}", "contents": f'"{t}"\n{x}'} for n, (t, x) in enumerate(WHOLE)))
FLASHRAG = make_json_lines(*({"id": f"doc{n}", "contents": f"{t}\n{x}"} for n, (t, x) in enumerate(WHOLE)))
MIRACL = make_json_lines(*({"docid": f"doc{n}", "title": t, "text": x} for n, (t, x) in enumerate(WHOLE)))
KILT = make_json_lines(
    *({"_id": f"doc{n}", "wikipedia_title": t, "title": t, "text": [x]} for n, (t, x) in enumerate(WHOLE))
)
QUOTED = TARN.replace('"', '""')
PSGS = f'id\ttext\ttitle\ndoc0\t"{PETREL}"\tPetrel (steamer)\ndoc1\t"{QUOTED}"\t"Gustav Tarn"\n'
MARCO_DOCS = f"doc0\thttps://a.b/0\tPetrel (steamer)\t{PETREL}\ndoc1\thttps://a.b/1\tGustav Tarn\t{TARN}\n"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("corpus.jsonl", BEIR),
        ("wiki-18.jsonl", SEARCH_R1),
        ("wiki18_100w.jsonl", FLASHRAG),
        ("docs-0.jsonl", MIRACL),
        ("kilt_knowledgesource.json", KILT),
        ("psgs_w100.tsv", PSGS),
        ("msmarco-docs.tsv", MARCO_DOCS),
        ("corpus.json", f"[{','.join(BEIR.splitlines())}]"),
    ],
)
def test_ids_titles_and_texts_are_those_of_the_file(name: str, data: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(data)
    loaded = load_corpus(tmp_path / name)
    assert [document.id for document in loaded.documents] == ["doc0", "doc1"]
    assert read_texts(loaded) == WHOLE
    assert (loaded.counts.bad, bool(loaded.counts.notes)) == (0, name == "msmarco-docs.tsv")


def test_ms_marco_s_collection_has_no_heading_and_no_titles(tmp_path: Path) -> None:
    (tmp_path / "collection.tsv").write_text(f'0\t{PETREL}\n1\t"Tarn" was {TARN}\n')
    loaded = load_corpus(tmp_path / "collection.tsv")
    assert [(d.id, d.text) for d in loaded.documents] == [("0", PETREL), ("1", f'"Tarn" was {TARN}')]
    (note,) = loaded.counts.noted
    assert note.startswith("2 rows of a table without a heading, read as id, text: ")


def test_hotpotqa_s_dump_is_a_folder_of_sentences(tmp_path: Path) -> None:
    row = {
        "id": "12",
        "url": "https://x",
        "title": "Petrel",
        "text": [["Petrel"], ["The Petrel sank.", " She lies there."]],
    }
    (tmp_path / "AA").mkdir()
    (tmp_path / "AA/wiki_00.bz2").write_bytes(bz2.compress(make_json_lines(row).encode()))
    (document,) = load_corpus(tmp_path).documents
    assert (document.id, document.text) == ("12", "The Petrel sank. She lies there.")
