"""Entities of HTML in rows and text files become letters, except in texts about HTML and in code."""

import json
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus.html_entities import decode_entities


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("The caf&eacute; isn&#39;t old &#x2014; built in 1883.", "The café isn't old — built in 1883."),
        ("Of these &lt;1% are &quot;new&quot;.", 'Of these <1% are "new".'),
        ("&amp;lt; is decoded once", "&lt; is decoded once"),
        ("AT&T and R&D at the caf&eacute;", "AT&T and R&D at the café"),
    ],
)
def test_entities_are_decoded_once(text: str, decoded: str) -> None:
    assert decode_entities(text) == decoded


@pytest.mark.parametrize(
    "text",
    [
        "&eacute without a semicolon, &unknown; and &notit; are no entities; nor is a=1&lt=2",
        "Write &lt;b&gt; for a tag: <b>bold</b> &amp; <i>italic</i>.",
        "if (a && b) { print('a &amp; b'); }",
        "Use `a &amp; b` or\n```\nx &lt; y\n```\nin your page.",
        """text.replace("&amp;", "&").replace('&lt;', "<")""",
    ],
)
def test_texts_about_html_and_code_keep_their_entities(text: str) -> None:
    assert decode_entities(text) == text


def test_rows_and_text_files_are_decoded_but_ids_are_not(tmp_path: Path) -> None:
    row = {"id": "a&amp;b", "title": "Tarn&nbsp;&amp;&#10;Sons", "text": "The caf&eacute; burned."}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    (document,) = corpus.load(corpus.resolve(str(tmp_path / "rows.jsonl"))).documents
    assert (document.id, document.title, document.text) == ("a&amp;b", "Tarn & Sons", "The café burned.")
    (tmp_path / "a.txt").write_text("The caf&eacute; burned.")
    (document,) = corpus.load(corpus.resolve(str(tmp_path / "a.txt"))).documents
    assert document.text == "The café burned."


def test_what_a_reader_has_decoded_is_not_decoded_again(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Tarn\n\nWrite &amp;eacute; for a letter.")
    (tmp_path / "wiki_00").write_text(json.dumps({"id": "1", "title": "Tarn", "text": "Write &amp;eacute; for it."}))
    for name, text in (("a.md", "Write &eacute; for a letter."), ("wiki_00", "Write &eacute; for it.")):
        (document,) = corpus.load(corpus.resolve(str(tmp_path / name))).documents
        assert document.text == text
