"""Passages that call one thing by different names: the last words of a name are compared, others a reader weighs."""

import asyncio

import orjson
import pytest

from pipeline import prompts
from pipeline.agents.calls import AgentState
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.checks.end import opened
from pipeline.loop.episode import run_seed
from pipeline.loop.examine import audit, examine
from pipeline.loop.strategies.base import to_draft
from pipeline.types import AnswerType, Draft, Passage
from tests.loop.test_episode import FILM, HOLM, LINEAGE, TOWN, Cast, proposal, seeded
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, hop, passage

PARTY = passage("party", "Reform Party", "The party was small. Its last candidate was Rocky De La Fuente.")


def chain(first: str, second: Passage, quote: str, answer: str = "1992", aliases: tuple[str, ...] = ()) -> Draft:
    start = PARTY if first in PARTY.text else passage("start", "Start", f"It names {first}.")
    return Draft(
        question="In what year did it happen that is asked for here?",
        answer=answer,
        answer_type=AnswerType.DATE,
        hops=(hop(start, first, "What?", start.text, answer_aliases=aliases), hop(second, answer, "What?", quote)),
    )


def broken(draft: Draft, second: Passage) -> bool:
    start = PARTY if draft.hops[0].passage_id == PARTY.id else passage("start", "Start", draft.hops[0].quote)
    found = asyncio.run(audit(draft, 1, Shelf(start, second), 1))
    return "broken_chain" in {finding.check for finding in found}


@pytest.mark.parametrize(
    ("first", "text", "quote", "bad"),
    [
        ("Rocky De La Fuente", "Rocky De La Fuente sold cars. In 1992 De La Fuente won.",
         "In 1992 De La Fuente won.", False),
        ("Rocky De La Fuente", "Rocky De La Fuente sold cars. In 1992 La Fuente won.", "In 1992 La Fuente won.", False),
        ("Rocky De La Fuente", "His son Rolf De La Fuente and Rocky De La Fuente. In 1992 De La Fuente won.",
         "In 1992 De La Fuente won.", True),
        ("Rocky De La Fuente", "Cars were sold. In 1992 De La Fuente won.", "In 1992 De La Fuente won.", True),
        ("Ada Holm", "Ada Holm came. In 1992 Holm won.", "In 1992 Holm won.", False),
        ("Ada Maria Holm", "Ada Maria Holm came. In 1992 Maria Holm won.", "In 1992 Maria Holm won.", False),
        ("Ada Holm", "Ada Holm came. In 1992 Maria Holm won.", "In 1992 Maria Holm won.", True),
        ("guillotines", "The guillotine was first used in 1792.", "The guillotine was first used in 1792.", False),
        ("Walls", "The Wall was first seen in 1792.", "The Wall was first seen in 1792.", True),
        ("Bank of Vessby", "The Bank of Vessby rose. In 1992 the town of Vessby won.",
         "In 1992 the town of Vessby won.", True),
    ],
)  # fmt: skip
def test_the_last_words_of_a_name_are_the_name_where_no_other_has_them(
    first: str, text: str, quote: str, bad: bool
) -> None:
    second = passage("second", "News", text)
    assert broken(chain(first, second, quote), second) is bad


@pytest.mark.parametrize(
    ("first", "title", "quote", "bad"),
    [
        ("Hessians", "Hessian (soldiers)", "In 1992 they were hired.", False),
        ("Hessian (soldiers)", "Trenton", "In 1992 a Hessian was hired.", False),
        ("Hessians", "Trenton (soldiers)", "In 1992 they were hired.", True),
        ("Hessians", "Hesse (soldiers)", "In 1992 they were hired.", True),
        ("Soldiers", "Hessian (soldiers)", "In 1992 they were hired.", False),
    ],
)
def test_what_tells_a_title_from_others_is_no_part_of_a_name(first: str, title: str, quote: str, bad: bool) -> None:
    second = passage("second", title, quote)
    assert broken(chain(first, second, quote), second) is bad


LONG, SHORT = "Fuchs endothelial corneal dystrophy", "Fuchs endothelial dystrophy"
EYE = passage("eye", SHORT, f"{SHORT} was first described in 1910.")
START = passage("start", "Start", f"It names {LONG}.")


def context(*fits: bool) -> RunContext:
    config = build(sets=["retrieval.k=1", 'checks.run=["same_name"]'])
    model = ScriptedLLM([orjson.dumps({"fits": one}).decode() for one in fits])
    return RunContext(config, model, Shelf(START, EYE), LINEAGE)


@pytest.mark.parametrize("fits", [True, False])
async def test_where_names_differ_a_reader_says_whether_they_mean_one_thing(fits: bool) -> None:
    there = context(fits)
    draft = chain(LONG, EYE, EYE.text, "1910", aliases=("FECD",))
    result = await examine(draft, 1, there)
    assert [(p.check, p.answers, p.right, p.hops) for p in result.probes] == [
        ("same_name", ("yes" if fits else "no",), int(fits), (1,))
    ]
    assert [(f.check, f.hops) for f in result.findings] == ([] if fits else [("broken_chain", (1,))])
    asked = prompts.unfence(there.llm.requests[0].messages[-1].content) or {}  # type: ignore[attr-defined]
    assert (asked["called"], asked["other_names"], asked["quote"]) == (LONG, ["FECD"], EYE.text)
    assert [asked[key]["title"] for key in ("passage_before", "passage")] == ["Start", SHORT]


@pytest.mark.parametrize("author", [True, False])
async def test_no_reader_is_asked_of_a_draft_that_is_sent_back_for_nothing(author: bool) -> None:
    there = context()
    draft = chain(LONG, EYE, EYE.text, "1910").model_copy(update={"question": "The year that is asked for is 1910."})
    result = await examine(draft, 1, there, author=author)
    assert [finding.check for finding in result.findings] == ["no_question", "answer_in_question"]
    assert result.probes == ()


async def test_no_reader_is_asked_where_names_show_it_and_no_alias_is_taken_without_one() -> None:
    draft = chain(LONG, EYE, EYE.text, "1910", aliases=(SHORT,))
    alone = await audit(draft, 1, Shelf(START, EYE), 1)
    assert [finding.check for finding in alone] == ["broken_chain"]
    assert alone[0].detail == f"neither the title nor the quote names '{LONG}'"
    same = chain(SHORT, EYE, EYE.text, "1910")
    there = RunContext(
        context().config, ScriptedLLM([]), Shelf(passage("start", "Start", f"It names {SHORT}."), EYE), LINEAGE
    )
    assert (await examine(same, 1, there)).findings == ()


def test_an_alias_leads_nobody_and_stands_in_no_question() -> None:
    draft = chain(LONG, EYE, EYE.text, "1910", aliases=("FECD",))
    hop = draft.hops[1].model_copy(update={"sub_question": "When was FECD described?", "title": "Eye"})
    assert opened(draft.model_copy(update={"hops": (draft.hops[0], hop)}), 1) == "When was … described?"
    named = draft.model_copy(update={"question": "When was FECD described?"})
    whole = asyncio.run(audit(named, 1, Shelf(START, EYE), 1, linked={1}))
    assert "exposed_intermediate" in {finding.check for finding in whole}


def test_an_author_may_give_a_hop_other_names() -> None:
    told = proposal()
    told["hops"][1] |= {"answer_aliases": ["Vesby", " "]}
    shown = {p.shown_id: p for p in (FILM, HOLM, TOWN)}
    draft = to_draft(orjson.dumps(told).decode(), AgentState(passages=shown))
    assert draft is not None
    assert [hop.answer_aliases for hop in draft.hops] == [(), ("Vesby",), ()]
    told["hops"][1] |= {"answer_aliases": ["x"] * 9}
    with pytest.raises(FormatError):
        to_draft(orjson.dumps(told).decode(), AgentState(passages=shown))


def test_a_chain_that_a_reader_holds_together_goes_through_the_loop() -> None:
    """Also where nobody solves it: then it is not called broken after all."""
    other = passage(
        "town", "Wessby", "Wessby lies on the Tarn, the Tarn of old. Wessby was founded by monks around 1641."
    )
    cast = Cast(lambda question, sample: 0)
    cast.fits = True
    cast.first["hops"][2] |= {"passage_id": other.shown_id, "quote": "Wessby was founded by monks around 1641."}
    config = build(sets=["retrieval.k=1", "loop.rounds=0", 'checks.run=["same_name"]'])
    there = RunContext(config, ScriptedLLM(cast), Shelf(FILM, HOLM, other), LINEAGE)
    record = asyncio.run(run_seed(seeded(), there))
    assert [probe.check for probe in record.rounds[0].probes] == ["same_name"]
    assert (record.rounds[0].findings, record.reason) == ((), "ambiguous")
