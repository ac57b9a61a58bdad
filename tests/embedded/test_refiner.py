"""The refiner: each label is answered by another question that its passages bear out."""

from typing import Any

import pytest

from pipeline.agents.tools import GENERATOR_TOOLS, REFINER_TOOLS, REVISE, ProposeArguments
from pipeline.embedded.generator import propose
from pipeline.embedded.refiner import revise
from pipeline.prompts import fence
from pipeline.text import normalise
from pipeline.types import Message
from tests.embedded.test_generator import BY_ID, PASSAGES, check, converse, start

CAUSES = [
    ("too_easy", "co_located"),
    ("too_easy", "over_specified"),
    ("too_easy", "query_collapse"),
    ("too_easy", "superficial"),
    ("unsolved", "retrieval_miss"),
    ("unsolved", "solver_error"),
    ("unsolved", "ambiguous"),
    ("unsound", "generator_error"),
]


def draft(seed: str = "Harbour Lights", steps: int = 2) -> ProposeArguments:
    made, _ = converse(propose, start(seed, steps=steps), GENERATOR_TOOLS, 20)
    assert len(made.hops) == steps
    return made


def request(
    made: ProposeArguments,
    label: str,
    cause: str,
    *,
    steps: int = 2,
    hops: tuple[int, ...] = (),
    earlier: tuple[dict[str, Any], ...] = (),
    **more: Any,
) -> Message:
    tree = made.model_dump()
    for hop in tree["hops"]:
        hop["title"] = BY_ID[hop["passage_id"]].title
    tree["feedback"] = {"label": label, "cause": cause, "message": "", "hops": hops}
    seen = [{"id": p.shown_id, "title": p.title, "text": p.text} for p in PASSAGES]
    inputs: dict[str, Any] = {
        "drafts": [*earlier, tree],
        "answer_types": ["date", "entity", "number"],
        "target_steps": steps,
        "seen": seen,
        "search_budget": 0,
    }
    return Message(role="user", content=fence(inputs | more, "0" * 16))


@pytest.mark.parametrize(("label", "cause"), CAUSES)
def test_every_cause_gets_another_sound_question(label: str, cause: str) -> None:
    made = draft()
    revised, _ = converse(revise, request(made, label, cause), (REVISE,), 0)
    check(revised)
    assert normalise(revised.question) != normalise(made.question)


def test_too_easy_makes_the_chain_longer() -> None:
    made = draft()
    revised, _ = converse(revise, request(made, "too_easy", "superficial"), (REVISE,), 0)
    assert len(revised.hops) == 3


def test_a_hop_found_wanting_is_left_out() -> None:
    made = draft("Mira Tollund", steps=2)
    revised, _ = converse(revise, request(made, "unsolved", "ambiguous", hops=(0,)), (REVISE,), 0)
    doubtful = (made.hops[0].passage_id, made.hops[0].answer)
    assert doubtful not in {(hop.passage_id, hop.answer) for hop in revised.hops}


def test_where_a_passage_was_not_found_the_hop_that_leads_to_it_goes_too() -> None:
    made = draft("Mira Tollund", steps=3)
    revised, _ = converse(revise, request(made, "unsolved", "retrieval_miss", hops=(2,)), (REVISE,), 0)
    blamed = {(hop.passage_id, hop.answer) for hop in made.hops[1:]}
    assert not blamed & {(hop.passage_id, hop.answer) for hop in revised.hops}


def test_a_missed_search_is_told_more_where_there_is_no_other_chain() -> None:
    made = draft()
    seen = [{"id": p.shown_id, "title": p.title, "text": p.text} for p in PASSAGES[1:3]]
    first = request(made, "unsolved", "retrieval_miss", hops=(0,), seen=seen)
    revised, _ = converse(revise, first, (REVISE,), 0)
    assert [hop.passage_id for hop in revised.hops] == [hop.passage_id for hop in made.hops]
    assert len(revised.question) > len(made.question)


def test_it_searches_where_it_may() -> None:
    made = draft()
    seen = [{"id": p.shown_id, "title": p.title, "text": p.text} for p in PASSAGES[:2]]
    first = request(made, "too_easy", "superficial", seen=seen, search_budget=20)
    revised, queries = converse(revise, first, REFINER_TOOLS, 20)
    check(revised)
    assert queries
    assert normalise(revised.question) != normalise(made.question)
    forced, none = converse(revise, request(made, "too_easy", "superficial", seen=seen), (REVISE,), 0)
    assert none == []
    assert len(forced.hops) <= len(revised.hops)


def test_it_is_a_function_of_its_inputs() -> None:
    first = request(draft(), "too_easy", "co_located")
    assert converse(revise, first, (REVISE,), 0) == converse(revise, first, (REVISE,), 0)


def test_passages_that_an_earlier_draft_failed_with_come_last() -> None:
    made = draft()
    first, _ = converse(revise, request(made, "unsolved", "ambiguous"), (REVISE,), 0)
    failed = first.model_dump() | {"question": "Another wording of the same chain?"}
    second, _ = converse(revise, request(made, "unsolved", "ambiguous", earlier=(failed,)), (REVISE,), 0)
    assert [hop.passage_id for hop in second.hops] != [hop.passage_id for hop in first.hops]
