"""A Lucene index made by Pyserini's command line can be read as a corpus."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus
from pipeline.errors import CorpusError, UsageError

ROWS = [
    {"id": "1", "contents": '"Aaron"\nAaron ("bringer of light" 😀) is a prophet and the elder brother of Moses.'},
    {"id": "two", "contents": "Only one line of text."},
    {"id": "3", "title": "Moses", "contents": "Moses\nMoses led them across the sea."},
    {"id": "4", "title": "Kessel", "text": "The bridge was built in 1702.", "contents": "anything"},
    {"id": "5", "contents": '"Copies"\nOnly one line of text.'},
]
# All that `python -m pyserini.index.lucene` does; that itself needs a whole JDK.
INDEX = """
import sys
from pipeline.corpus import jvm
jvm.call(jvm.start)
jvm.call(lambda: jvm.java("io.anserini.index.IndexCollection").main(sys.argv[1:]))
"""


def build_index(
    folder: Path,
    *options: str,
    rows: Sequence[dict[str, str]] = ROWS,
    run: Sequence[str] = ("-c", INDEX),
    environment: dict[str, str] | None = None,
) -> Path:
    (folder / "json").mkdir()
    (folder / "json" / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain = ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator", "-threads", "1"]
    places = ["-input", str(folder / "json"), "-index", str(folder / "index")]
    command = [sys.executable, *run, *plain, *places, *options]
    subprocess.run(command, check=True, capture_output=True, timeout=90, env=environment)
    return folder / "index"


def read_index(index: Path) -> Corpus:
    return corpus.load(corpus.resolve(f"lucene:{index}"))


def test_stored_texts_are_the_documents(tmp_path: Path) -> None:
    loaded = read_index(build_index(tmp_path, "-storeRaw"))
    texts = {document.id: (document.title, document.text) for document in loaded.documents}
    assert texts["1"] == ("Aaron", 'Aaron ("bringer of light" 😀) is a prophet and the elder brother of Moses.')
    assert texts["two"] == ("Only one line of text.", "Only one line of text.")
    assert texts["3"] == ("Moses", "Moses led them across the sea.")
    assert loaded.counts.duplicate == 1  # of two texts that are the same
    assert loaded.counts.read == 5
    assert texts["4"] == ("Kessel", "The bridge was built in 1702.")


def test_contents_are_the_documents_where_they_alone_are_stored(tmp_path: Path) -> None:
    loaded = read_index(build_index(tmp_path, "-storeContents", rows=ROWS[2:4]))
    texts = [(document.title, document.text) for document in loaded.documents]
    assert texts == [("Moses", "Moses led them across the sea."), ("anything", "anything")]


def test_an_index_of_pyserini_s_command_line_is_read(tmp_path: Path) -> None:
    files = Path("/usr/lib/jvm").glob("*/release")
    releases = [release for release in files if "jdk.incubator.vector" in release.read_text()]
    homes = [r.parent for r in releases if int(re.findall(r'JAVA_VERSION="(\d+)', r.read_text())[0]) >= 21]
    if not homes:
        pytest.skip("it needs a JDK of 21 or later under /usr/lib/jvm")
    environment = {**os.environ, "JAVA_HOME": str(homes[0])}
    loaded = read_index(
        build_index(tmp_path, "-storeRaw", run=["-m", "pyserini.index.lucene"], environment=environment)
    )
    assert [document.title for document in loaded.documents][:2] == ["Aaron", "Only one line of text."]
    assert loaded.document("two") is not None


def test_an_index_that_stores_no_text_says_how_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"5 of 5 rows are not documents: .*build the index with --storeRaw"):
        read_index(build_index(tmp_path))


def test_a_folder_that_is_no_index_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(UsageError, match="no index of Lucene there"):
            corpus.resolve(f"lucene:{path}")
    (tmp_path / "segments_1").write_bytes(b"damaged")
    with pytest.raises(CorpusError, match="Lucene failed"):
        read_index(tmp_path)
