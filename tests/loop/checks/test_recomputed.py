"""Aggregates: sound in a fan of hops, sent back (`recomputed`) where the program does not prove the answer."""

import asyncio
from typing import Any

import orjson
import pytest

from pipeline.agents import cited, grading
from pipeline.agents.calls import AgentState
from pipeline.agents.proposals import AggregateArguments
from pipeline.loop.checks.base import Case
from pipeline.loop.checks.complete_list import complete_list
from pipeline.loop.checks.over_specified import over_specified
from pipeline.loop.checks.recomputed import program_fault
from pipeline.loop.examine import audit
from pipeline.loop.strategies.base import to_draft
from pipeline.types import Draft, Passage, Program
from tests.loop.checks.test_lists import context, reader, rollout
from tests.shelf import Shelf, passage

POSTER = passage("poster", "Poster of 1930", "A sheet. It praises the films of Ada Holm.")
BAY = passage("bay", "Lantern Bay", "A silent drama. Ada Holm directed it; it came out in 1921.")
FOG = passage("fog", "Sea Fog", "A talkie. Ada Holm directed it; it came out in 1934.")
TIDE = passage("tide", "Low Tide", "A comedy. Ada Holm directed it; it came out in 1925.")
DOCK = passage("dock", "Dry Dock", "A thriller. Ada Holm directed it; it came out in 1928.")
FILMS = (BAY, FOG, TIDE)
SHELF = Shelf(POSTER, *FILMS)
ASKED = "A poster of 1930 praises one director. How many of the films directed by that person came out before 1930?"
COUNT: dict[str, Any] = {
    "operation": "count", "condition": "before", "bound": "1930", "link": "Ada Holm",
    "set_question": "Which films did Ada Holm direct?",
    "values": [{"hop": n, "value": film.text[-5:-1], "name": film.title} for n, film in enumerate(FILMS, 1)],
}  # fmt: skip
HOPS = [
    {"sub_question": "Whose films does the poster praise?", "answer": "Ada Holm", "passage_id": POSTER.shown_id,
     "quote": "It praises the films of Ada Holm."},
    *({"sub_question": f"When did {film.title} come out?", "answer": film.text[-5:-1], "passage_id": film.shown_id,
       "quote": film.text.split(". ", 1)[1]} for film in FILMS),
]  # fmt: skip


def aggregate(
    answer: str = "2", kind: str = "number", hops: object = HOPS, asked: str = ASKED, **program: Any
) -> Draft:
    tree = {"question": asked, "answer": answer, "answer_type": kind, "hops": hops}
    shown = {p.shown_id: p for p in (POSTER, *FILMS, DOCK)}
    arguments = orjson.dumps(tree | {"program": COUNT | program}).decode()
    draft = to_draft(arguments, AgentState(passages=shown), AggregateArguments)
    assert draft
    return draft


NAMED = {"set_question": "", "link": "", "condition": "", "bound": ""}
WHICH = "Which of three films, Lantern Bay, Sea Fog and Low Tide, came out last by its year?"


@pytest.mark.parametrize(
    "draft",
    [
        aggregate(),
        aggregate("two"),
        aggregate("1", condition="after"),
        aggregate("Sea Fog", "entity", operation="latest", condition="", bound=""),
        aggregate("13 years", asked="How many years after Lantern Bay did Sea Fog come out?", hops=HOPS[1:3],
                  operation="difference", unit="years", **NAMED, values=[{"hop": 0, "value": "1921"},
                  {"hop": 1, "value": "1934"}]),
        aggregate("13 years", asked="A poster of 1930 praises a director. How many years after that person's silent "
                  "drama did the talkie come out?", hops=HOPS[:3], operation="difference", unit="years", **NAMED,
                  values=[{"hop": 1, "value": "1921"}, {"hop": 2, "value": "1934"}]),
    ],
)  # fmt: skip
def test_an_answer_that_the_program_gives_is_sound(draft: Draft) -> None:
    assert program_fault(draft) == ""
    assert asyncio.run(audit(draft, 2, SHELF, 1)) == ()
    assert Draft.model_validate_json(draft.model_dump_json()) == draft


VALUES = COUNT["values"]


@pytest.mark.parametrize(
    ("draft", "fault"),
    [
        (aggregate("3"), "the program gives '2', and the answer is '3'"),
        (aggregate(values=[*VALUES[:2], VALUES[2] | {"value": "1926"}]), "has the answer '1925'"),
        (aggregate(values=[*VALUES[:2], VALUES[2] | {"name": "Dry Dock"}]), "names 'Dry Dock'"),
        (aggregate("1", values=VALUES[:2]), "the last hop has one"),
        (aggregate(values=[*VALUES[1:], VALUES[0]]), "in the order of their hops"),
        (aggregate(values=[*VALUES[:2], VALUES[2] | {"hop": 7}]), "the last hop has one"),
        (aggregate(hops=[HOPS[0], *(hop | {"passage_id": BAY.shown_id} for hop in HOPS[1:])]), "one document"),
        (aggregate(hops=[*HOPS[:3], HOPS[3] | {"quote": "A comedy."}]), "does not state '1925'"),
        (aggregate(link=""), "together"),
        (aggregate(link="Bo Rask"), "the link, 'Bo Rask'"),
        (aggregate(link="praises"), "'praises' names no one thing"),
        (aggregate(bound="the war"), "no date with a year"),
        (aggregate(asked="How many of three films came out?", **{**NAMED, "link": ""}), "is not named"),
        (aggregate("Lantern Bay; Low Tide", operation="most", condition="", bound=""), "the program gives 'Sea Fog'"),
    ],
)
def test_one_that_it_does_not_give_goes_back(draft: Draft, fault: str) -> None:
    assert fault in program_fault(draft)
    found = asyncio.run(audit(draft, 2, SHELF, 1))
    assert [fault in one.detail for one in found if one.check == "recomputed" and one.fatal] == [True]


@pytest.mark.parametrize(
    ("asked", "answer", "computed", "leaks"),
    [
        (f"{ASKED[:-1]}, when her first two films were 2 years old?", "2", True, False),
        (f"{ASKED[:-1]}, when her first two films were 2 years old?", "2", False, True),
        (f"{ASKED[:-1]}, when she was 35?", "35", True, True),
        (f"{ASKED[:-1]}, within 2 km of it?", "2 km", True, True),
    ],
)
def test_a_small_number_of_a_question_gives_no_computed_answer_away(
    asked: str, answer: str, computed: bool, leaks: bool
) -> None:
    draft = aggregate(answer, asked=asked)
    draft = draft if computed else draft.model_copy(update={"program": None})
    found = asyncio.run(audit(draft, 2, SHELF, 1))
    assert ("answer_in_question" in {one.check for one in found}) is leaks


def test_each_value_ends_a_chain_of_its_own_and_is_needed() -> None:
    draft = aggregate()
    assert cited.ends(draft) == (1, 2, 3)
    assert [cited.start(draft, number) for number in range(4)] == [0, 0, 2, 3]
    assert not grading.supported(draft, rollout("2", [POSTER, BAY], [TIDE]))
    assert grading.supported(draft, rollout("2", [POSTER, BAY], [TIDE], [FOG]))


def test_a_thing_that_nothing_joins_breaks_the_fan() -> None:
    stray = passage("fog", "Sea Fog", "A talkie. It came out in 1934.")
    hops = [*HOPS[:2], HOPS[2] | {"quote": "It came out in 1934."}, HOPS[3]]
    shown = {p.shown_id: p for p in (POSTER, BAY, stray, TIDE)}
    tree = {"question": ASKED, "answer": "2", "answer_type": "number", "hops": hops, "program": COUNT}
    draft = to_draft(orjson.dumps(tree).decode(), AgentState(passages=shown), AggregateArguments)
    assert draft
    found = asyncio.run(audit(draft, 2, Shelf(POSTER, BAY, stray, TIDE), 1))
    assert [(one.check, one.hops) for one in found if one.fatal] == [("broken_chain", (2,))]
    assert "nothing leads to 'Sea Fog'" in next(one.detail for one in found if one.fatal)


def test_what_an_earlier_hop_lists_may_start_a_chain() -> None:
    """As of the countries on a river each has its date in a passage that says nothing of the river."""
    shelf = passage("shelf", "Shelf of reels", "It holds what Ada Holm made: Lantern Bay and Sea Fog.")
    films = [passage(p.id, p.title, p.text.replace("Ada Holm directed it; it", "It")) for p in (BAY, FOG)]
    first = {"sub_question": "Whose reels does the shelf hold?", "answer": "Ada Holm", "passage_id": shelf.shown_id}
    hops = [
        first | {"quote": shelf.text},
        *(
            hop | {"quote": p.text.split(". ", 1)[1], "passage_id": p.shown_id}
            for hop, p in zip(HOPS[1:], films, strict=False)
        ),
    ]
    program = COUNT | {"values": COUNT["values"][:2]}
    tree = {"question": ASKED, "answer": "1", "answer_type": "number", "hops": hops, "program": program}

    def fatal(listed: Passage) -> list[str]:
        shown = {p.shown_id: p for p in (listed, *films)}
        draft = to_draft(orjson.dumps(tree).decode(), AgentState(passages=shown), AggregateArguments)
        assert draft
        return [one.check for one in asyncio.run(audit(draft, 2, Shelf(listed, *films), 1)) if one.fatal]

    assert fatal(shelf) == []
    shown = {p.shown_id: p for p in (shelf, *films)}
    nameless = program | {"values": [one | {"name": ""} for one in program["values"]]}
    lists = tree | {"program": nameless, "hops": [hops[0] | {"answer": "Lantern Bay and Sea Fog"}, *hops[1:]]}
    draft = to_draft(orjson.dumps(lists).decode(), AgentState(passages=shown), AggregateArguments)
    assert draft
    asked = reader(*((film.title, film) for film in films))
    assert asyncio.run(complete_list(draft, 2, context(asked, Shelf(*shown.values())))).findings == ()
    hops[0] = first | {"quote": "It holds what Ada Holm made: Lantern Bay"}
    assert fatal(shelf) == ["broken_chain"]


def test_a_passage_that_tells_another_value_saves_its_search() -> None:
    told = BAY.model_copy(update={"text": f"{BAY.text} Sea Fog followed in 1934."})
    hops = [
        h.model_copy(update={"passage_sha256": told.sha256}) if h.title == told.title else h for h in aggregate().hops
    ]
    draft = aggregate().model_copy(update={"hops": tuple(hops)})
    found = asyncio.run(audit(draft, 2, Shelf(POSTER, told, FOG, TIDE), 1))
    assert [(one.check, one.hops) for one in found] == [("co_located", (2,))]


@pytest.mark.parametrize(
    "draft", [aggregate(), aggregate("Sea Fog", "entity", operation="latest", condition="", bound="")]
)
def test_the_set_must_be_whole_in_the_corpus(draft: Draft) -> None:
    named = [(film.title, film) for film in FILMS]
    with_dock = Shelf(POSTER, *FILMS, DOCK)
    model = reader(*named, ("Dry Dock", DOCK))
    assert asyncio.run(complete_list(draft, 2, context(reader(*named), SHELF))).findings == ()
    found = asyncio.run(complete_list(draft, 2, context(model, with_dock))).findings
    assert [(one.check, one.hops, one.fatal) for one in found] == [("incomplete_list", (3,), True)]
    assert "the set has more" in found[0].detail
    assert "Which films did Ada Holm direct?" in model.requests[0].messages[-1].content
    missed = asyncio.run(complete_list(draft, 2, context(reader(*named[:2]), SHELF))).findings
    assert [one.check for one in missed] == ["unproven_item"]


def test_a_count_may_rest_on_a_quoted_list() -> None:
    told = f"Her films are {', '.join(film.title for film in FILMS)}."
    note = passage("note", "Note on her films", f"A note. {told}")
    hops = [HOPS[0] | {"passage_id": note.shown_id, "answer": "films"}, *HOPS[1:]]
    shown = {p.shown_id: p for p in (note, *FILMS)}
    tree = {"question": ASKED, "answer": "2", "answer_type": "number", "hops": hops}
    for quoted, sound in ((told, True), ("A note.", False)):
        hops[0]["quote"] = quoted
        arguments = orjson.dumps(tree | {"program": COUNT | {"link": "films"}}).decode()
        draft = to_draft(arguments, AgentState(passages=shown), AggregateArguments)
        assert draft
        assert (program_fault(draft) == "") is sound


def test_things_that_the_question_names_are_not_searched_for() -> None:
    draft = aggregate("Sea Fog", "entity", hops=HOPS[1:], asked=WHICH, operation="latest", **NAMED,
                      values=[one | {"hop": one["hop"] - 1} for one in VALUES])  # fmt: skip
    assert program_fault(draft) == ""
    assert asyncio.run(complete_list(draft, 2, context(reader(), SHELF))).probes == ()


NAMED_HOPS: dict[str, Any] = {"hops": HOPS[1:], "values": [one | {"hop": one["hop"] - 1} for one in VALUES]}


NEWEST = "Which is newest of Lantern Bay, Sea Fog and Low Tide"
LATEST: dict[str, Any] = NAMED_HOPS | NAMED | {"operation": "latest"}


@pytest.mark.parametrize(
    ("draft", "found"),
    [
        (aggregate("Sea Fog", "entity", asked=f"{NEWEST}?", **LATEST), False),
        (aggregate("Sea Fog", "entity", asked=f"{NEWEST}, by when it came out?", **LATEST), True),
        (aggregate(asked="How many films has Ada Holm?", **NAMED_HOPS), False),
        (aggregate(asked="How many films that Ada Holm directed came out?", **NAMED_HOPS), True),
    ],
)
def test_what_an_aggregate_has_to_name_does_not_over_specify_it(draft: Draft, found: bool) -> None:
    shelf = Shelf(*FILMS, passage("quay", "Quay", "Nothing is known."))
    told = asyncio.run(over_specified(Case(draft, (), shelf, 3, 2)))
    assert (told is not None) is found
    named = draft.model_copy(update={"program": None})
    assert asyncio.run(over_specified(Case(named, (), shelf, 3, 2))), "its names find all"


def test_a_draft_without_a_program_has_no_fault_of_one() -> None:
    draft = aggregate().model_copy(update={"program": None})
    assert program_fault(draft) == ""
    assert isinstance(aggregate().program, Program)
