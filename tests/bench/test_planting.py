"""Every plant has its fault; `python -m bench.gates` says who catches it."""

import random
from pathlib import Path

from bench import planting
from pipeline.text import contains
from tests.records import accepted

DRAFTS = [draft for n in range(6) if (draft := accepted(n).draft)]
DRAFT = DRAFTS[0]
CHANCE = random.Random(1)


def test_another_answer_stands_in_the_question_and_its_last_hop() -> None:
    swapped = planting.swapped_answer(DRAFT, DRAFTS, CHANCE)
    assert swapped.answer == swapped.hops[-1].answer != DRAFT.answer
    assert not contains(swapped.hops[-1].quote, swapped.answer)


def test_a_hop_is_gone() -> None:
    assert len(planting.dropped_hop(DRAFT, CHANCE).hops) == len(DRAFT.hops) - 1


def test_a_rival_says_the_same_with_another_answer() -> None:
    found = planting.rival(DRAFT, DRAFTS, CHANCE)
    assert found.passage.title == DRAFT.hops[-1].title
    assert not contains(found.passage.text, DRAFT.answer)
    assert found.passage.text.split()[:2] == DRAFT.hops[-1].quote.split()[:2]


def test_a_near_duplicate_has_other_words_and_other_evidence_and_the_same_answer() -> None:
    for number in range(20):
        copy = planting.near_duplicate(DRAFT, number, CHANCE)
        assert copy.answer == copy.hops[-1].answer == DRAFT.answer
        assert not {hop.passage_id for hop in copy.hops} & {hop.passage_id for hop in DRAFT.hops}
        assert len(set(copy.question.split()) & set(DRAFT.question.split())) > len(DRAFT.question.split()) / 2


def test_a_benchmark_question_has_an_answer_of_its_own() -> None:
    listed = planting.benchmark_question(DRAFT, "Who was it?", 7, CHANCE)
    assert "who was it" in " ".join(listed.question.lower().split())
    assert listed.answer == "Planted answer 7"


def test_a_leak_holds_the_answer() -> None:
    assert all(contains(planting.leaked_answer(DRAFT, CHANCE).question, DRAFT.answer) for _ in range(10))


def test_planting_knows_no_gate() -> None:
    text = Path(planting.__file__).read_text()
    assert not any(word in text for word in ("pipeline.dataset.gates", "pipeline.loop.audit"))
