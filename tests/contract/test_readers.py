"""Every reader keeps the contract. A file in pipeline/corpus/readers/ is tested automatically."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from pipeline import corpus, registry
from pipeline.corpus.readers.base import ReadLimits, load_reader
from pipeline.corpus.readers.folder import READERS
from pipeline.errors import CorpusError, UsageError
from tests.corpus.readers import made_documents, test_lucene

TEXTS = {"a": "The mill of Arden was built in 1702.", "b": "The river Arden is long.", "c": "Nobody was there."}
LINES = "".join(f'{{"id": "{key}", "title": "{key}", "text": "{text}"}}\n' for key, text in TEXTS.items())


def write_jsonl(folder: Path) -> Path:
    path = folder / "some.jsonl.zst"
    path.write_bytes(zstandard.compress(LINES.encode()))
    return path


def write_json(folder: Path) -> Path:
    path = folder / "some.json"
    path.write_text(f"[{','.join(LINES.splitlines())}]")
    return path


def write_wikiextractor(folder: Path) -> Path:
    for name, lines in (("AA/wiki_00", LINES.splitlines()[:2]), ("AB/wiki_00", LINES.splitlines()[2:])):
        (folder / "some" / name).parent.mkdir(parents=True)
        (folder / "some" / name).write_text("\n".join(lines))
    return folder / "some"


def write_parquet(folder: Path) -> Path:
    path = folder / "some.parquet"
    pq.write_table(pa.table({"id": list(TEXTS), "title": list(TEXTS), "text": list(TEXTS.values())}), path)
    return path


def write_folder(folder: Path) -> Path:
    path = folder / "some"
    path.mkdir()
    for key, text in TEXTS.items():
        (path / f"{key}.txt").write_text(text)
    return path


def write_csv(folder: Path) -> Path:
    path = folder / "some.csv"
    rows = (f'{key},{key},"{text}"\n' for key, text in TEXTS.items())
    path.write_text("".join(["id,title,text\n", *rows]))
    return path


def write_hub_folder(folder: Path) -> Path:
    (folder / "some/data").mkdir(parents=True)
    (folder / "some/data/train.jsonl").write_text(LINES)
    return Path(f"hf:{folder / 'some'}")


def write_text(folder: Path) -> Path:
    return write_folder(folder) / "a.txt"


def write_markdown(folder: Path) -> Path:
    path = folder / "some.md"
    path.write_text(f"# a\n\n{TEXTS['a']}\n")
    return path


def write_html(folder: Path) -> Path:
    pytest.importorskip("trafilatura")
    path = folder / "some.html"
    path.write_text(f"<html><head><title>a</title></head><body><article><p>{TEXTS['a']}</p></article></body></html>")
    return path


def write_lucene(folder: Path) -> Path:
    rows = [{"id": key, "title": key, "text": text, "contents": text} for key, text in TEXTS.items()]
    return Path(f"lucene:{test_lucene.build_index(folder, '-storeRaw', rows=rows)}")


def write_docx(folder: Path) -> Path:
    pytest.importorskip("mammoth", reason="pip install 'digsite[office]'")
    body = made_documents.paragraph("a", "Heading1") + made_documents.paragraph(TEXTS["a"])
    return made_documents.write_docx(folder / "some.docx", body)


def write_pptx(folder: Path) -> Path:
    return made_documents.write_pptx(folder / "some.pptx", [("a", [TEXTS["a"]], "")])


def write_epub(folder: Path) -> Path:
    return made_documents.write_epub(folder / "some.epub", "a", {"1.xhtml": f"<p>{TEXTS['a']}</p>"})


def write_pdf(folder: Path) -> Path:
    pytest.importorskip("liteparse", reason="pip install 'digsite[pdf]'")
    return made_documents.write_pdf(folder / "a.pdf", [("", TEXTS["a"])])


def write_rst(folder: Path) -> Path:
    pytest.importorskip("docutils", reason="pip install 'digsite[office]'")
    path = folder / "some.rst"
    path.write_text(f"a\n=\n\n{TEXTS['a']}\n")
    return path


def write_notebook(folder: Path) -> Path:
    path = folder / "some.ipynb"
    path.write_text('{"cells": [{"cell_type": "markdown", "source": ["# a\\n", "' + TEXTS["a"] + '"]}]}')
    return path


def write_xml(folder: Path) -> Path:
    path = folder / "some.xml"
    text = f"<title>a</title><para>{TEXTS['a']}</para>"
    path.write_text(f"<article xmlns='http://docbook.org/ns/docbook'>{text}</article>")
    return path


SAMPLES: dict[str, Callable[[Path], Path]] = {
    "csv": write_csv,
    "docx": write_docx,
    "epub": write_epub,
    "folder": write_folder,
    "hf": write_hub_folder,
    "html": write_html,
    "ipynb": write_notebook,
    "json": write_json,
    "jsonl": write_jsonl,
    "lucene": write_lucene,
    "markdown": write_markdown,
    "parquet": write_parquet,
    "pdf": write_pdf,
    "pptx": write_pptx,
    "rst": write_rst,
    "text": write_text,
    "wikiextractor": write_wikiextractor,
    "xml": write_xml,
}
SINGLE_DOCUMENT = READERS.keys()
"""Readers of files that are one document."""


@pytest.fixture(scope="module", params=registry.names("readers"))
def name(request: pytest.FixtureRequest) -> str:
    assert request.param in SAMPLES, f"give the reader {request.param} a sample here"
    return str(request.param)


@pytest.fixture(scope="module")
def sample(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return SAMPLES[name](tmp_path_factory.mktemp("sample"))


def test_a_reader_has_the_interface_of_the_contract(name: str) -> None:
    reader = load_reader(name)
    assert inspect.getdoc(registry.load("readers", name))
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in reader.suffixes)
    assert list(inspect.signature(reader.read).parameters) == ["path", "limits"]


def test_a_reader_gives_the_documents_of_its_file(name: str, sample: Path) -> None:
    manifest = corpus.resolve(str(sample))
    assert manifest.reader == name
    expected = {"a": TEXTS["a"]} if name in SINGLE_DOCUMENT else TEXTS
    loaded = corpus.load(manifest)
    assert {document.title: document.text for document in loaded.documents} == expected
    keys = [row.key for row in load_reader(name).read(manifest.path, ReadLimits())]
    assert keys == [row.key for row in load_reader(name).read(manifest.path, ReadLimits())]
    assert len(set(keys)) == len(expected)


def test_a_reader_keeps_to_its_limit_of_bytes(name: str, sample: Path) -> None:
    path = corpus.resolve(str(sample)).path
    with pytest.raises(CorpusError, match="more than 10 bytes"):
        list(load_reader(name).read(path, ReadLimits(bytes=10)))


def test_an_unknown_reader_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no reader .warc.; known: csv, docx, epub, folder, hf, html, ipynb, json"):
        load_reader("warc")
