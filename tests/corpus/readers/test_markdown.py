"""Markdown keeps the words of headings, wrapped lines, lists, tables, code and links."""

import time
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus.readers import markdown
from pipeline.corpus.readers.base import ReadLimits
from pipeline.corpus.seed_passages import quality
from pipeline.errors import CorpusError

PAGE = """---
title: "Arden: the mill"
tags: [mills, rivers]
draft: no
---

# The mill of Arden

The mill was built in **1702** by [Heinrich
Otto](people/otto.md) and
ground corn for *two hundred* years.

| Year | Owner |     |
|------|-------|-----|
| 1702 | `Otto` | first |
| 1810 | the abbey |  |

1. It has a wheel.
   The wheel is of oak.
2. It has a weir.

> Nobody was there.

```sh
mill --grind corn
```

<details><summary>More</summary>
<!-- hidden --> AT&amp;T came later.</details>

![The mill in 1702](mill.png) stands<br>here.
"""
TEXT = """The mill of Arden

The mill was built in 1702 by Heinrich Otto and ground corn for two hundred years.

Year: 1702; Owner: Otto; first.
Year: 1810; Owner: the abbey.

It has a wheel. The wheel is of oak.

It has a weir.

Nobody was there.

mill --grind corn

More AT&T came later.

The mill in 1702 stands here."""


def read(path: Path, text: str, limits: ReadLimits | None = None) -> tuple[str, str]:
    path.write_text(text)
    (row,) = markdown.read(path, limits or ReadLimits())
    return row.values["title"], row.values["text"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "the_mill.md"


def test_a_page_becomes_its_words_block_by_block(path: Path) -> None:
    assert read(path, PAGE) == ("Arden: the mill", TEXT)
    assert read(path, PAGE.replace("\n", "\r\n")) == ("Arden: the mill", TEXT)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 1702\n---\nText.", "1702"),
        ("---\ntitle: [a, b]\n---\nText.", "the mill"),
        ("---\ntags: [\n---\n# Mill\n", "Mill"),
        ("---\n" + "a: " + "[" * 5000 + "\n---\n# Mill\n", "Mill"),
        ("\n## The *Mill* ##\n\nText.", "The Mill"),
        ("[![badge](a.svg)](b)\n\nMill\n====\n\nText.", "Mill"),
        ("Built in 1702.\n\n## The mill of Arden\n\nText.\n\n## Owners\n", "The mill of Arden"),
        ("Text.\n\n## Owners\n\n# Mill\n", "Mill"),
        ("A note, see [[The weir]].\n\n## Summary\n", "the mill"),
        ("---\n\nA line, no front matter.\n\n---\n", "the mill"),
        ("", "the mill"),
    ],
)
def test_the_title_is_that_of_the_front_matter_or_the_heading_or_the_file(text: str, title: str, path: Path) -> None:
    assert read(path, text)[0] == title


def test_front_matter_stays_out_of_the_text_and_a_rule_opens_none(path: Path) -> None:
    assert read(path, "---\ntitle: Mill\nauthor: Otto\n---\n# Mill\n\nIt turns.\n") == ("Mill", "It turns.")
    assert read(path, "---\n\nIt turns.\n")[1] == "It turns."


def test_wrapped_lines_of_scripts_without_blanks_are_joined_without_one(path: Path) -> None:
    assert read(path, "水车建于\n1702年，位于\n河边。\n")[1] == "水车建于 1702年，位于河边。"


def test_what_a_user_would_call_documentation_can_start_questions(tmp_path: Path) -> None:
    """Short wrapped lines once made every passage of such a folder a list."""
    for name in ("mill", "weir", "bridge"):
        lines = [f"The {name} of Arden, which Heinrich Otto", "had built in 1702, stands", "by the river Werra."] * 8
        (tmp_path / f"{name}.md").write_text(f"---\ntitle: {name}\n---\n\n" + "\n".join(lines) + "\n")
    loaded = corpus.load(corpus.resolve(str(tmp_path)))
    assert [document.title for document in loaded.documents] == ["bridge", "mill", "weir"]
    assert {quality(passage) for passage in loaded.passages} == {None}


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "[" * 60_000,
        "![" * 30_000,
        ">" * 60_000,
        "<div>\n" + "<!--" * 13_000,
        "|a" * 20_000 + "\n" + "|-" * 20_000 + "\n",
        "*a " * 20_000,
        "".join("  " * n + "- x\n" for n in range(400)),
    ],
    ids=["brackets", "pictures", "quotes", "comments", "cells", "stars", "nested"],
)
def test_marks_that_nothing_closes_cost_no_more_than_seconds(text: str, path: Path) -> None:
    """Quadratic time would take ten times as long for the longest text that is read."""
    start = time.process_time()
    read(path, text)
    assert time.process_time() - start < 3


def test_a_longer_text_than_a_document_may_have_is_counted_and_not_parsed(path: Path) -> None:
    read(path, "word " * 100)
    manifest = corpus.resolve(str(path)).model_copy(update={"limits": ReadLimits(doc_chars=200)})
    with pytest.raises(CorpusError, match="1 rows, 0 of them empty, 1 of more than 200 characters"):
        corpus.load(manifest)


def make_nested_merges() -> str:
    deeper = (f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 10))
    return "a0: &a0 {x: 1, y: 2}\n" + "".join(deeper)


@pytest.mark.parametrize(
    "odd",
    [
        make_nested_merges(),
        "date: !!timestamp foo\n",
        "n: !!int ''\n",
        "b: !!bool maybe\n",
        "x: !!python/object/apply:os.system [true]\n",
        f"n: 0x{'f' * 20_000}\n",
        f"n: {'1:' * 15_000}1\n",
        f"n: {'9' * 20_000}\n",
        "date: 2024-99-99\n",
        "a: *nowhere\n",
        "? [a, b]\n: c\n",
        "e: .inf\ny: 1e999999\n",
    ],
    ids=lambda odd: odd[:20],
)
def test_front_matter_that_would_not_end_or_has_no_value_costs_nothing_but_itself(odd: str, path: Path) -> None:
    before = time.process_time()
    assert read(path, f"---\n{odd}title: Mill\n---\nIt turns.\n") == ("Mill", "It turns.")
    assert time.process_time() - before < 2


@pytest.mark.parametrize(
    "odd", ["a: " + "[" * 60_000, "a:\n" + "- " * 30_000, 'a: "\\UFFFFFFFF"', "%YAML " + "9" * 9000, "a: \x07"]
)
def test_front_matter_that_is_none_leaves_a_page_without_a_title(odd: str, path: Path) -> None:
    before = time.process_time()
    assert read(path, f"---\n{odd}\n---\nIt turns.\n") == ("the mill", "It turns.")
    assert time.process_time() - before < 2


@pytest.mark.parametrize(
    ("front", "title"),
    [
        ('+++\ntitle = "Mill"\ntags = ["a"]\n+++', "Mill"),
        ("+++\ntitle = \n+++", "the mill"),
        ("+++\na = " + "[" * 9000 + "\n+++", "the mill"),
        ("---\ntitle: >\n  The\n  mill\n---", "The mill"),
        ("---\ntitle: 1.10\n---", "1.10"),
        ("---\ntitle: ~\n---", "the mill"),
        ("---\ntitle:\n---", "the mill"),
    ],
)
def test_the_front_matter_s_title_is_as_it_is_written(front: str, title: str, path: Path) -> None:
    assert read(path, f"{front}\nIt turns.\n") == (title, "It turns.")
