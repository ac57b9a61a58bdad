"""Folders made by WikiExtractor are read, as documents or JSON Lines."""

import bz2
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus.readers import base, wikiextractor
from pipeline.corpus.readers.base import ReadLimits, Row
from pipeline.errors import CorpusError

DOCUMENTS = """<doc id="12" url="https://en.wikipedia.org/wiki?curid=12" title="Mill (Arden)">
Mill (Arden)

The mill of Arden was built in 1702 by Otto &amp; Sons.

It burned.

</doc>
<doc id="25" url="https://en.wikipedia.org/wiki?curid=25" title=""Heroes" (poem)">
"Heroes" (poem)

A poem of the weir.
</doc>
<doc id="39" url="https://en.wikipedia.org/wiki?curid=39" title="Empty">
Empty

</doc>
"""
LINES = """{"id": "41", "revid": "7", "url": "https://x", "title": "Weir", "text": "The weir &lt;of Arden&gt; ran."}
{"id": "42", "title": "Bridge &amp; Sons", "text": "The bridge."}
"""


def test_a_folder_of_both_forms_is_a_corpus(tmp_path: Path) -> None:
    for name, data in (("AA/wiki_00", DOCUMENTS.encode()), ("AB/wiki_00.bz2", bz2.compress(LINES.encode()))):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(data)
    (tmp_path / "log.html.old").touch()
    loaded = corpus.load(corpus.resolve(str(tmp_path)))
    assert [(d.id, d.title, d.text) for d in loaded.documents] == [
        ("12", "Mill (Arden)", "The mill of Arden was built in 1702 by Otto & Sons.\n\nIt burned."),
        ("25", '"Heroes" (poem)', "A poem of the weir."),
        ("41", "Weir", "The weir <of Arden> ran."),
        ("42", "Bridge & Sons", "The bridge."),
    ]
    assert loaded.documents[0].url == "https://en.wikipedia.org/wiki?curid=12"
    assert (loaded.counts.empty, loaded.counts.skipped, loaded.manifest.reader) == (1, {".old": 1}, "wikiextractor")


def test_one_of_its_files_is_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "wiki_07").write_text(DOCUMENTS)
    assert [d.id for d in corpus.load(corpus.resolve(str(tmp_path / "wiki_07"))).documents] == ["12", "25"]
    (tmp_path / "wiki_x").write_text(DOCUMENTS)
    with pytest.raises(CorpusError, match="no reader for it"):
        corpus.resolve(str(tmp_path / "wiki_x"))


def read_rows(path: Path, data: bytes) -> list[Row]:
    path.write_bytes(data)
    return list(wikiextractor.read(path, ReadLimits()))


def test_damaged_documents_are_bad_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unclosed = DOCUMENTS.replace("</doc>\n", "", 1).encode()
    bad_rows = read_rows(tmp_path / "wiki_00", unclosed + b'<doc id="50" url="u" title="Cut">\nCut\n')
    assert [(row.place, row.error) for row in bad_rows] == [
        ("line 1", "no </doc> ends it"), ("line 8", ""), ("line 13", ""), ("line 17", "no </doc> ends it"),
    ]  # fmt: skip
    latin, *_ = read_rows(tmp_path / "wiki_00", DOCUMENTS.replace("burned", "brannte häufig").encode("latin-1"))
    assert latin.error == base.NOT_UTF8
    monkeypatch.setattr(wikiextractor, "LONGEST", 60)
    assert [row.error for row in read_rows(tmp_path / "wiki_00", DOCUMENTS.encode())] == ["longer than 0 MiB", "", ""]
