"""Marks of site generators are removed from the text, while prose and code keep every letter."""

import time
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import shortcodes
from pipeline.corpus.readers import markdown
from pipeline.corpus.readers.base import ReadLimits
from pipeline.links.opening import open_links


def read_text(path: Path, source: str) -> str:
    path.write_text(source)
    (row,) = markdown.read(path, ReadLimits())
    return str(row.values["text"])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("It {{< ref \"a.md\" >}}turns.", "It turns."),
        ('{{< include shared.md >}}\n\n{{% note %}}\nIt turns.\n{{% /note %}}', "It turns."),
        ('{{< figure\n  src="a.png"\n  title="b" >}}\n\nIt turns.', "It turns."),
        ("{% include a.html %}\n\nIt {% if a %}turns{% endif %}.", "It turns."),
        (":::note\nIt turns.\n:::", "It turns."),
        (":::tip[Mind it]\nIt turns.\n:::", "Mind it\n\nIt turns."),
        ("::: warning Mind it\nIt turns.\n:::", "Mind it\n\nIt turns."),
        ("::: {.callout-note}\nIt turns.\n:::", "It turns."),
        (":::{note}\n:class: big\nIt turns.\n:::", "It turns."),
        ("```{note}\nIt **turns**.\n```", "It turns."),
        ("````{admonition} Mind it\n:class: tip\n\nIt turns:\n\n```sh\nturn {{< it >}}\n```\n````",
         "Mind it\n\nIt turns:\n\nturn {{< it >}}"),
        ("```{code-block} sh\n:linenos:\n\nturn it\n```\n\nIt turns.", "turn it\n\nIt turns."),
        ("```{toctree}\n:hidden:\na\nb\n```\n\nIt turns.", "It turns."),
        ("```{figure} a.png\n:width: 3\nIt turns.\n```", "It turns."),
        ("(the-mill)=\nIt turns by {ref}`the wheel <wheel>` and {py:func}`~mill.turn`.",
         "It turns by the wheel and mill.turn."),
        ("[[autodoc]] mill.Mill\n    - turn\n    - stop\n\nIt turns.", "It turns."),
        ("[[open-in-colab]]\n\nIt turns.", "It turns."),
        ("import Tabs from '@theme/Tabs';\nimport './a.css'\n\nIt turns.", "It turns."),
        ("It <Tab items={['a', 'b']} onClick={() => {x > 1}} />turns.", "It turns."),
        ('!!! note "Mind it"\n    It turns.\n\n    It stops.\n\nIt stood.',
         "Mind it It turns.\n\nIt stops.\n\nIt stood."),
        ("> [!NOTE]\n> It turns.", "It turns."),
        ("## The wheel {#wheel .big}\n\nIt turns.", "The wheel\n\nIt turns."),
    ],
)  # fmt: skip
def test_marks_are_left_out_and_their_content_stays(source: str, expected: str, tmp_path: Path) -> None:
    for name in ("a.md", "a.mdx"):
        assert read_text(tmp_path / name, f"# Mill\n\n{source}\n") == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("It turns by [[The wheel]], [[The wheel|a wheel]] and [[parts/The wheel#Oak|oak]].",
         "It turns by The wheel, a wheel and oak."),
        ("[[1. FC Mill]] turns [[parts/The wheel]] and [[#Below]].", "1. FC Mill turns The wheel and Below."),
        ("![[mill.png]] It ![[wheel.jpg|200]]turns.\n\n![[The wheel#Oak]]", "It turns.\n\nThe wheel"),
        ("> [!note] Mind it\n> It turns.", "Mind it\n\nIt turns."),
        ("> [!warning]-\n> It turns.", "It turns."),
        ("It ==turns by [[The wheel|a wheel]]== now.", "It turns by a wheel now."),
        ("It %%never%%turns.\n\n%%\nNobody\n\nreads it.\n%%", "It turns."),
        ("It turns. ^block-7\n\n- It stops. ^a1b2c3", "It turns.\n\nIt stops."),
        ("```dataview\nTABLE rating\n```\n\nIt turns.", "It turns."),
        ("{info:title=Mind it}\nIt turns.{info}\n\n{toc}\n\n{color:red}It stops.{color}",
         "Mind it It turns.\n\nIt stops."),
        ('![](a.png){width="300" .wide}It [turns](b){#c}.', "It turns."),
        ("<aside>\n💡 It turns.\n\n</aside>", "💡 It turns."),
        ("| Of | Is |\n|---|---|\n| [[The wheel\\|a wheel]] | ![[oak.png\\|90]] oak |", "Of: a wheel; Is: oak."),
        ("- [ ] It turns.\n- [x] It stops.\n1. [/] It ~~burns~~ stands.", "It turns.\n\nIt stops.\n\nIt burns stands."),
        ("It turns.[^1] It stops.^[By night.]\n\n[^1]: By day.", "It turns. It stops. (By night.)\n\nBy day."),
        ("![The wheel|100x145](wheel.png) ![It|90](it.png) turns<% tp.date.now() %>.", "The wheel It turns."),
        ("```tasks\nnot done\n```\n\n```query\ntag:#mill\n```\n\nIt turns.", "It turns."),
    ],
)  # fmt: skip
def test_marks_of_wikis_leave_their_words(source: str, expected: str, tmp_path: Path) -> None:
    assert read_text(tmp_path / "a.md", f"# Mill\n\n{source}\n") == expected


@pytest.mark.parametrize(
    "source",
    [
        "```py\na == b == c  %% [[x]] ^id\n```",
        "Where `[[x]]` is, `==y==` and `%%z%%` are.",
        "Where a == b == c, 2 ^10 and 5 %% 3.",
        "Where `a[^1]`, x[1], a < b % c > d, and [x](y).\n\n- [x](y)",
        "It costs {code} and {tocs}.",
    ],
)
def test_text_that_looks_like_a_wiki_mark_stays(source: str, tmp_path: Path) -> None:
    if "{code}" not in source:
        assert shortcodes.remove(source) == source


def test_links_of_a_vault_lead_to_its_pages_wherever_they_lie(tmp_path: Path) -> None:
    sentence = "The wheel was cut by a man whom the people of this valley called"
    pages = {
        "mill.md": f"# The mill of Arden\n\n{sentence} [[Heinrich Otto|the old carpenter]] for all of his days.",
        "bridge.md": f"{sentence} [[people/Heinrich Otto#Life|the old carpenter]] until the year of the flood.",
        "people/Heinrich Otto.md": "---\ntitle: Otto, Heinrich\n---\nHe came from the north and built [[bridge]].",
        "people/Weir 0123456789abcdef0123456789abcdef.md": f"{sentence} [[Heinrich Otto|the old carpenter]].",
    }
    for name, source in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    loaded = corpus.load(corpus.resolve(str(tmp_path)), tmp_path / "out")
    assert [document.title for document in loaded.documents][2:] == ["Otto, Heinrich", "Weir"]
    assert loaded.documents[0].links == "people/Heinrich Otto\tthe old carpenter"
    links = open_links(loaded, 20)
    number = next(number for number in range(len(links)) if links.text(number) == "the old carpenter")
    documents = {links.passage(mention.place).document_id for mention in links.mentions(number)}
    assert documents == set(pages)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("export const meta = {\n  a: '(',\n\n  b: 1,\n}\n\nIt turns.", "It turns."),
        ("import {\n  A,\n} from 'a'\n\nIt turns.", "It turns."),
        ("{/* a\n comment */}\n\nIt turns{' '}round.", "It turns round."),
        ("<Tip warning>\n\nIt turns.\n\n</Tip>\n\n<>\nIt stops.\n</>", "It turns.\n\nIt stops."),
        ("<Tabs>\n<Tab title='a'>\nIt **turns**.\n</Tab>\n</Tabs>", "It turns."),
        ("The formula $\\frac{a}{b}$ and `{x}` stay.", "The formula $\\frac{a}{b}$ and {x} stay."),
    ],
)
def test_mdx_modules_comments_values_and_components_are_removed(source: str, expected: str, tmp_path: Path) -> None:
    assert read_text(tmp_path / "a.mdx", f"# Mill\n\n{source}\n") == expected


@pytest.mark.parametrize(
    "source",
    [
        "```sh\n{{< note >}}\n:::note\nimport a from 'a'\n```",
        "Write `{{< note >}}` or `{ref}`.",
        "import os\n\nexport default settings to a file",
        "```{r setup, include=FALSE}\nx <- 1\n```",
        "```{python}\nimport a\n```",
        "The set {1, 2} and [[a] page] and ![a](b.png)",
        "(Nobody was there.)\n\n!!! Nobody !!!",
        "A `map<String, {int}>` and {braces}",
        "~~~\n:::note\n~~~",
    ],
)
def test_text_without_marks_stays_as_it_is(source: str) -> None:
    assert shortcodes.remove(source) == source


def test_pages_of_a_site_are_read_whatever_their_ending(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nThe mill was built in 1702.\n")
    (tmp_path / "b.mdx").write_text(
        "---\ntitle: B\n---\nimport X from 'x'\n\n<X>\n\nThe weir was built in 1703.\n\n</X>\n"
    )
    (tmp_path / "c.adoc").write_text("= C\n\nThe bridge was built in 1704.\n")
    loaded = corpus.load(corpus.resolve(str(tmp_path)))
    assert [(d.title, d.text) for d in loaded.documents] == [
        ("A", "The mill was built in 1702."), ("B", "The weir was built in 1703."),
    ]  # fmt: skip
    assert loaded.counts.skipped == {".adoc": 1}


@pytest.mark.parametrize(
    "text",
    ["{{<" * 20_000, "{%a" * 20_000, "`a ``b " * 9_000, "<a {" * 15_000, "{/*" * 20_000, "<A {'" * 13_000,
     "{" * 60_000,
     "# " + " " * 60_000 + "{", "!!! a" + " " * 60_000 + "!", "import {" + " " * 60_000, "{ref}`" * 10_000,
     "<A " + "\"'" * 30_000, "```{note}\n" * 6_000, ":::" * 20_000, "export {\n" * 7_000,
     "[[" * 30_000, "[[a|" * 15_000, "==a" * 20_000, "%%" * 30_001, "%%a" * 20_001,
     "{info:" * 10_000, "^a " * 20_000, "){#a " * 12_000, "){a=b " * 10_000, "> [!a] " * 8_000],
    ids=lambda text: text[:6].strip(),
)  # fmt: skip
def test_marks_that_nothing_closes_cost_no_more_than_seconds(text: str) -> None:
    """Quadratic time would take ten times as long for the longest text that is read."""
    start = time.process_time()
    shortcodes.remove(text, mdx=True)
    assert time.process_time() - start < 2
