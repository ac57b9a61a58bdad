"""Answers that are no short span: a list is complete over the corpus, and yes, no or a choice rests on all its hops."""

import asyncio
from collections.abc import Sequence

import orjson
import pytest

from pipeline import prompts
from pipeline.agents import grading
from pipeline.agents.calls import AgentState
from pipeline.agents.judge import grade
from pipeline.agents.tools import render
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.llm.base import Request
from pipeline.loop.checks.alternatives import alternatives
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.checks.complete_list import EACH, ROOM, cut
from pipeline.loop.draft_check import check_draft
from pipeline.loop.examine import audit, readings
from pipeline.loop.strategies.base import to_draft
from pipeline.types import (
    AnswerType,
    Call,
    Cause,
    Draft,
    Finding,
    Message,
    Passage,
    Rollout,
    Searched,
    Stop,
    Trajectory,
    Verdict,
)
from tests.loop.test_episode import FILM, HOLM, LINEAGE
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

ORDER = passage(
    "order", "Brothers of Vessby", "Monks of old. The founders of Vessby were Olaf Grim, Per Dal and Ivar Lund."
)
PLACE = passage("place", "Ada Holm's town", "A note. Ada Holm grew up in Vessby.")
STONE = passage("stone", "Memorial stone", "It stands at the quay. The stone says that Finn Moe too founded Vessby.")
RIVER = passage("river", "Tarn", "A river. Vessby lies on the Tarn and its people fish.")
SHELF = Shelf(FILM, HOLM, ORDER, RIVER)
WITH_STONE = Shelf(FILM, HOLM, ORDER, RIVER, STONE)
QUESTION = "Who were the founders of the home town of the person who directed Lantern Bay?"
NAMES = ("Olaf Grim", "Per Dal", "Ivar Lund")


def proposal(items: Sequence[dict[str, object]], **changes: object) -> str:
    hops = [
        {"sub_question": "Who directed Lantern Bay?", "answer": "Ada Holm", "passage_id": FILM.shown_id,
         "quote": "It was directed by Ada Holm."},
        {"sub_question": "Where did Ada Holm grow up?", "answer": "Vessby", "passage_id": HOLM.shown_id,
         "quote": "Ada Holm came from Vessby."},
        {"sub_question": "Who founded Vessby?", "answer": "some", "passage_id": ORDER.shown_id,
         "quote": "The founders of Vessby were Olaf Grim, Per Dal and Ivar Lund."},
    ]  # fmt: skip
    tree = {"question": QUESTION, "answer": "", "answer_type": "list", "answer_items": items, "hops": hops, **changes}
    return orjson.dumps(tree).decode()


def listed(*names: str, items: Sequence[dict[str, object]] = (), **changes: object) -> Draft:
    shown = {p.shown_id: p for p in (FILM, HOLM, ORDER, STONE, PLACE, RIVER)}
    named: list[dict[str, object]] = [{"answer": name} for name in names]
    found = to_draft(proposal([*named, *items], **changes), AgentState(passages=shown))
    assert found
    return found


DRAFT = listed(*NAMES)
MOE: dict[str, object] = {
    "answer": "Finn Moe",
    "passage_id": STONE.shown_id,
    "quote": "The stone says that Finn Moe too founded Vessby.",
}


def context(model: ScriptedLLM, shelf: Shelf = SHELF, run: tuple[str, ...] = ("complete_list",)) -> RunContext:
    values = {"checks": {"run": run}, "retrieval": {"k": 3}}
    return RunContext(build(values=values), model, shelf, LINEAGE)


def reader(*named: tuple[str, Passage]) -> ScriptedLLM:
    """Names those of these items whose passage it is shown, and calls every wording natural."""

    def say(request: Request) -> str:
        if request.output and request.output.name != "complete":
            return '{"reason": "", "grade": 5, "fits": true, "queries": []}'
        inputs = prompts.unfence(request.messages[-1].content) or {}
        shown = {p["id"] for p in inputs["passages"]}
        items = [{"item": item, "passage": p.shown_id} for item, p in named if p.shown_id in shown]
        return orjson.dumps({"items": items}).decode()

    return ScriptedLLM(say)


def checked(draft: Draft, model: ScriptedLLM, shelf: Shelf = SHELF) -> tuple[Finding, ...]:
    return asyncio.run(readings(draft, 3, (), context(model, shelf))).findings


ALL = tuple((name, ORDER) for name in NAMES)


def test_a_list_is_its_items_joined_and_a_sound_one_passes() -> None:
    assert DRAFT.answer == DRAFT.hops[-1].answer == "Olaf Grim; Per Dal; Ivar Lund"
    assert asyncio.run(audit(DRAFT, 3, SHELF, 1)) == ()
    assert checked(DRAFT, reader(*ALL)) == ()


@pytest.mark.parametrize(
    "items",
    [[], [{"answer": "Per Dal"}], [{"answer": f"N{n}"} for n in range(11)], [{"answer": "A"}, {"answer": "a"}],
     [{"answer": "A"}, {"answer": "B", "aliases": ["A"]}], [{"answer": "A; C"}, {"answer": "B"}],
     [{"answer": "A"}, {**MOE, "quote": "Finn Moe"[::-1]}], [{"answer": "A"}, {**MOE, "passage_id": "p000000000000"}]],
)  # fmt: skip
def test_what_is_no_list_goes_back_to_the_model(items: list[dict[str, object]]) -> None:
    with pytest.raises(FormatError):
        listed(items=items)


def test_names_of_one_item_that_say_the_same_are_one_name() -> None:
    band: dict[str, object] = {
        "answer": "The Chemics",
        "aliases": ["Chemics", "Chem Six", "Chem Six", "!"],
    }
    draft = listed(items=[band, {"answer": "C"}, {"answer": "C++", "aliases": ["C plus plus"]}])
    assert [item.spellings for item in draft.answer_items] == [
        ("The Chemics", "Chem Six"), ("C",), ("C++", "C plus plus"),
    ]  # fmt: skip


def test_two_items_of_one_name_are_both_named() -> None:
    items: list[dict[str, object]] = [
        {"answer": "Per Dal"},
        {"answer": "Finn Moe", "aliases": ["Moe"]},
        {"answer": "Ivar Lund", "aliases": ["The Moe"]},
    ]
    with pytest.raises(FormatError, match="'Finn Moe' and 'Ivar Lund' have the same name, 'Moe'"):
        listed(items=items)


def test_an_item_may_stand_in_another_passage_and_must_stand_somewhere() -> None:
    assert asyncio.run(audit(listed(*NAMES, items=[MOE]), 3, WITH_STONE, 1)) == ()
    found = asyncio.run(audit(listed(*NAMES, "Finn Moe"), 3, WITH_STONE, 1))
    assert [(f.check, f.hops) for f in found] == [("unquoted_answer", (2,))]


def test_a_question_that_names_an_item_is_found_out() -> None:
    found = asyncio.run(audit(listed(*NAMES, question="Who beside Per Dal founded the home town?"), 3, SHELF, 1))
    assert [f.check for f in found] == ["answer_in_question"]


def test_a_list_that_misses_an_item_of_the_corpus_is_incomplete() -> None:
    model = reader(*ALL, ("Finn Moe", STONE))
    (found,) = checked(DRAFT, model, WITH_STONE)
    assert (found.check, found.cause, found.fatal, found.hops) == ("incomplete_list", Cause.AMBIGUOUS, True, (2,))
    assert "'Finn Moe' by the passage 'Memorial stone'" in found.detail
    assert STONE.id in found.searches[0].passage_ids
    asked = prompts.unfence(model.requests[0].messages[-1].content) or {}
    assert "Olaf Grim; " not in str(asked), "the list itself would lead the reader"
    assert checked(listed(*NAMES, items=[MOE]), reader(*ALL, ("Finn Moe", STONE)), WITH_STONE) == ()


def test_what_a_passage_does_not_name_is_no_further_item() -> None:
    assert checked(DRAFT, reader(*ALL, ("Finn Moe", ORDER)), WITH_STONE) == ()


def test_an_item_that_no_passage_bears_out_is_found() -> None:
    (found,) = checked(DRAFT, reader(*ALL[:2]))
    assert (found.check, found.cause, found.fatal) == ("unproven_item", Cause.GENERATOR_ERROR, True)
    assert "'Ivar Lund'" in found.detail


def test_a_shorter_form_is_the_item_but_not_beside_it() -> None:
    assert checked(DRAFT, reader(*ALL[:2], ("Lund", ORDER))) == ()
    (found,) = checked(DRAFT, reader(*ALL, ("Lund", ORDER)))
    assert found.check == "incomplete_list", "a sequel or a namesake has a part of the name too"


def test_searches_take_the_question_the_quote_without_items_and_each_item() -> None:
    (probe,) = asyncio.run(readings(DRAFT, 3, (), context(reader(*ALL)))).probes
    assert [search.query for search in probe.searches] == [
        "Who founded Vessby?",
        "The founders of Vessby were , and .",
        *(f"{name} Vessby" for name in NAMES),
    ]
    assert (probe.right, probe.answers) == (3, NAMES)


def test_a_reader_is_shown_few_passages_a_thing_once_each_and_of_long_ones_the_sentences_that_count() -> None:
    idle = " ".join(f"It rained in the year {year}, and the quay was closed for a long time." for year in range(60))
    long = passage("long", "Vessby's annals", f"{idle} Who founded Vessby? Monks. {idle}")
    copies = [passage(f"c{n}", "Copy", f"{long.text} ") for n in range(2)]
    others = [passage(f"v{n}", f"Vessby {n}", f"Vessby was founded, they say, {n} times.") for n in range(90)]
    order = passage("order", ORDER.title, f"{idle} {ORDER.text} {idle}")
    model = reader()
    checked(DRAFT, model, Shelf(FILM, HOLM, order, long, *copies, *others))
    asked = prompts.unfence(model.requests[0].messages[-1].content) or {}
    shown = {one["title"]: one["text"] for one in asked["passages"]}
    assert len(asked["passages"]) == EACH * len(NAMES)
    assert sum(one["title"] == "Copy" for one in asked["passages"]) == 1
    assert "The founders of Vessby were Olaf Grim, Per Dal and Ivar Lund." in shown[ORDER.title]
    assert "Who founded Vessby? Monks." in shown["Vessby's annals"]
    assert all(len(text) < ROOM + 5 for text in shown.values())
    assert shown[ORDER.title].startswith("… It rained")
    assert shown[ORDER.title].endswith(" …")
    assert shown[FILM.title] == FILM.text


def test_of_a_long_passage_the_sentence_that_names_what_the_list_is_about_is_shown() -> None:
    other = f"Who founded a town? Monks founded a town. {'It rained for weeks. ' * 40}Olaf stayed in Vessby."
    assert "Olaf stayed in Vessby." in cut(passage("other", "Other", other), ["Who founded a town?"], DRAFT).text


def test_the_author_is_told_in_check() -> None:
    model = reader(*ALL, ("Finn Moe", STONE))
    where = context(model, WITH_STONE)
    shown = {p.shown_id: p for p in (FILM, HOLM, ORDER, STONE)}
    said, probes = asyncio.run(check_draft(DRAFT, 3, shown, where))
    assert "It would be sent back: yes, as unsound, cause ambiguous." in said
    assert "incomplete_list (hops[2]): the last step has more answers than the list: 'Finn Moe'" in said
    assert [probe.check for probe in probes] == ["complete_list"]


def test_no_other_draft_is_asked_about() -> None:
    date = listed(answer_type="date", answer="1641")
    assert asyncio.run(readings(date, 3, (), context(ScriptedLLM([])))) == CheckResult()


# What rollouts are worth.

NO_JUDGE = ScriptedLLM([])


def graded(draft: Draft, answer: str, model: ScriptedLLM = NO_JUDGE) -> tuple[bool, str]:
    found = asyncio.run(grade(draft, answer, context(model)))
    return found.right, found.method


def rollout(answer: str, *shown: Sequence[Passage]) -> Rollout:
    calls = tuple(
        Call(id=f"c{n}", tool="search", argument=f"q{n}", passage_ids=tuple(p.id for p in found))
        for n, found in enumerate(shown)
    )
    messages = tuple(Message(role="tool", tool_call_id=f"c{n}", content=render(found)) for n, found in enumerate(shown))
    return Rollout(sample=0, answer=answer, trajectory=Trajectory(messages=messages, calls=calls, stop=Stop.ANSWERED))


def test_a_list_is_right_with_all_items_in_any_order_and_nothing_else() -> None:
    for answer in (
        "Per Dal, Ivar Lund and Olaf Grim",
        "- Ivar Lund\n- Per Dal\n- Olaf Grim",
        '["per dal", "Ivar Lund", "Olaf Grim"]',
    ):
        assert graded(DRAFT, answer) == (True, "exact")
    for answer in ("Per Dal; Ivar Lund", "Per Dal; Ivar Lund; Olaf Grim; Finn Moe", "Per Dal", "not found", "1641"):
        assert graded(DRAFT, answer) == (False, "none" if answer == "not found" else "exact"), "no judge is needed"


def test_judges_are_asked_about_the_items_that_differ_and_no_others() -> None:
    model = ScriptedLLM(['{"correct": true}'])
    assert graded(DRAFT, "Brother Per Dal; Ivar Lund; Olaf Grim", model) == (True, "judge")
    asked = [prompts.unfence(request.messages[-1].content) or {} for request in model.requests]
    assert [(inputs["answer"], inputs["response"]) for inputs in asked] == [("Per Dal", "Brother Per Dal")]
    assert asked[0]["question"] == f"{DRAFT.question} (The answer is a list. Here one item of it is judged.)"
    assert graded(DRAFT, "Sven Dal; Ivar Lund; Olaf Grim", ScriptedLLM(['{"correct": false}'])) == (False, "judge")


def test_a_list_is_supported_when_every_item_was_shown() -> None:
    four = listed(*NAMES, items=[MOE])
    assert grading.supported(DRAFT, rollout("", [ORDER]))
    assert not grading.supported(four, rollout("", [ORDER]))
    assert grading.supported(four, rollout("", [ORDER], [STONE]))
    assert grading.found(four, rollout("", [FILM, HOLM], [ORDER], [RIVER], [STONE])) == (1, 1, 4)
    again = passage("again", "Vessby", "Vessby was founded by Olaf Grim and Per Dal.")
    assert not grading.supported(DRAFT, rollout("", [again]))


async def test_an_item_more_on_which_rollouts_agree_is_checked_alone() -> None:
    model = ScriptedLLM(['{"fits": true}'])
    answers = ("Per Dal; Ivar Lund; Olaf Grim; Finn Moe", "Finn Moe, Per Dal and Olaf Grim", "Per Dal; Ivar Lund")
    verdict = Verdict(
        sample=0, right=False, supported=True, method="none", steps=2, calls=2, hit_step=None, found_at=()
    )
    tried = [(rollout(answer, [ORDER, STONE]), verdict) for answer in answers]
    found = await alternatives(DRAFT, tried, None, context(model, WITH_STONE, ("alternatives",)))
    assert [f.check for f in found.findings] == ["alternatives"]
    asked = prompts.unfence(model.requests[0].messages[-1].content) or {}
    assert asked["answer"] == "Finn Moe is one of them"


def test_the_searches_of_a_finding_are_kept() -> None:
    (found,) = checked(DRAFT, reader(*ALL, ("Finn Moe", STONE)), WITH_STONE)
    assert isinstance(found.searches[0], Searched)
    assert DRAFT.answer_type is AnswerType.LIST
