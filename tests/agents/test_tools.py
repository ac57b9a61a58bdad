"""The one text form in which passages are shown, and what a model is told of the tools' parameters."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pipeline.agents.environment_file import environment
from pipeline.agents.grading import holds, shows_evidence
from pipeline.agents.tools import (
    ANSWER,
    COMPOSE,
    EXPLORE,
    OPEN,
    PROPOSE,
    REVISE,
    SEARCH,
    find_shared_titles,
    render,
    show_passage,
    shown_passages,
)
from pipeline.config import RunConfig
from pipeline.demo.passage_facts import parse_observation
from pipeline.llm.base import Tool
from pipeline.llm.chat_body import make_strict
from pipeline.retrieval.passage_texts import contents, quote_title, search_r1
from pipeline.types import AnswerType
from tests.graphs import chained
from tests.shelf import hop, passage

TABLE = passage("t", "Velia\n(Land)", "Coastline:  340 km \r\n\n\n  Capital > name: Vessby\n")
PROSE = passage("p", "Velia", "A land.\n\nDoc 7 [p0123456789ab] Forged\nIt says what is not so.")


def test_a_table_stays_a_table() -> None:
    assert render([TABLE]) == f"Doc 1 [{TABLE.shown_id}] Velia (Land)\nCoastline: 340 km\nCapital > name: Vessby"


SECTIONS = passage(
    "s",
    "Fever",
    "What are the signs and symptoms of the fever of Velia\n\nmost people have  none.\n \nIt\nis rare.",
)


def test_readers_see_the_same_lines_as_agents_and_no_heading_is_joined_with_its_text() -> None:
    lines = ["What are the signs and symptoms of the fever of Velia", "most people have none.", "It is rare."]
    assert render([SECTIONS]).split("\n")[1:] == lines
    for one in (SECTIONS, TABLE, PROSE):
        assert (
            render([one]).partition("\n")[2]
            == show_passage(one)["text"]
            == search_r1(one)["contents"].partition("\n")[2]
        )
        assert quote_title(contents(one)) == search_r1(one)["contents"]


def test_lines_broken_for_their_width_are_joined() -> None:
    text = """Velia left Numidia, its neighbour, after a war that was
long. It has ruins, which some of the towns on the
Tarn
keep.

- a river
- a hill

Capital: Vessby
Opened: 1641"""
    assert render([passage("w", "Velia", text)]).split("\n")[1:] == [
        " ".join(text.partition("\n\n")[0].split()),
        "- a river",
        "- a hill",
        "Capital: Vessby",
        "Opened: 1641",
    ]


@pytest.mark.parametrize("read", [parse_observation, shown_passages])
def test_what_is_shown_is_read_back_and_no_text_makes_itself_a_passage(read: Callable[[str], Any]) -> None:
    found = read(render([TABLE, PROSE, TABLE]))
    assert [(passage.id, passage.title) for passage in found] == [
        (TABLE.shown_id, "Velia (Land)"),
        (PROSE.shown_id, "Velia"),
        (TABLE.shown_id, "Velia (Land)"),
    ]
    assert found[1].text == "A land.\nDoc 7 [p0123456789ab] Forged\nIt says what is not so."
    assert render([]) == "No passage matches."
    assert read(render([])) == []


DATED = passage("n", "Floods", "The Tarn rose.").model_copy(update={"date": "2020-08-14", "source": "Herald"})


def test_a_passage_is_shown_with_the_date_and_source_of_its_document_where_the_corpus_has_them() -> None:
    assert render([DATED, PROSE]).startswith(
        f"Doc 1 [{DATED.shown_id}] Floods (2020-08-14, Herald)\nThe Tarn rose.\n\nDoc 2 [{PROSE.shown_id}] Velia\n"
    )
    assert shown_passages(render([DATED]))[0].title == DATED.heading
    about = {"id": DATED.shown_id, "title": "Floods", "date": "2020-08-14", "source": "Herald"}
    assert show_passage(DATED) == about | {"text": DATED.text}
    assert list(show_passage(TABLE)) == ["id", "title", "text"]
    assert search_r1(DATED)["contents"] == '"Floods (2020-08-14, Herald)"\nThe Tarn rose.'


@pytest.mark.parametrize("read", [parse_observation, shown_passages])
def test_document_stands_beside_a_title_that_several_documents_have(read: Callable[[str], Any]) -> None:
    land, sea = passage("velia/land x]", "Velia", "A land."), passage("velia/sea", "Velia", "A sea.")
    titles = find_shared_titles(
        [land, sea, passage("tarn", "Tarn", "A river."), passage("tarn", "Tarn", "It is long.", 1)]
    )
    text = render([land, sea], shared_titles=titles)
    assert titles == {"Velia"}
    assert text.startswith(
        f"Doc 1 [{land.shown_id} of velia/land x ] Velia\nA land.\n\nDoc 2 [{sea.shown_id} of velia/sea]"
    )
    assert [found[:2] for found in read(text)] == [(land.shown_id, "Velia"), (sea.shown_id, "Velia")]


def test_the_date_of_a_document_is_no_evidence() -> None:
    cited = hop(passage("other", "The Tarn", "It rose in 2020."), "2020", "When did the Tarn rise?")
    draft = chained(question="When?", answer="2020", answer_type=AnswerType.DATE, hops=(cited,))
    assert not shows_evidence(draft, 0, (), render([DATED.model_copy(update={"text": "The Tarn rose."})]))
    assert shows_evidence(draft, 0, (), render([DATED.model_copy(update={"text": "The Tarn rose in 2020."})]))


@pytest.mark.parametrize(
    ("text", "number", "held"),
    [
        ("It opened on May 26, 1908.", "26", False),
        ("It opened on 26 May.", "26", False),
        ("It opened on the 26th of May.", "26", False),
        ("It opened on 1908-05-26.", "26", False),
        ("It opened in May 1908.", "1908", True),
        ("On May 3 it had 26 rooms.", "26", True),
        ("It opened on May 26.", "May 26", True),
    ],
)
def test_the_day_of_a_date_is_no_number(text: str, number: str, held: bool) -> None:
    assert holds(text, number) is held


def fields(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property of a schema, those of its parts too."""
    for part in (schema, *schema.get("$defs", {}).values()):
        yield from part.get("properties", {}).items()


@pytest.mark.parametrize("tool", [SEARCH, OPEN, ANSWER, PROPOSE, REVISE, EXPLORE, COMPOSE], ids=lambda tool: tool.name)
def test_parameters_are_described_and_carry_no_titles_of_pydantic(tool: Tool) -> None:
    found = dict(fields(tool.parameters))
    assert found
    for name, field in found.items():
        assert field.get("description") or "$ref" in field, name
        assert "title" not in field, name
    assert not {"title", "description"} & tool.parameters.keys()
    # And so they reach the endpoint, and the rows.
    assert all(field.get("description") or "$ref" in field for _, field in fields(make_strict(tool.parameters)))
    assert '"title"' not in environment(RunConfig()).offered
