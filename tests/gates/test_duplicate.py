"""The same question in the same or other words is a duplicate; two questions of one frame are not."""

import pytest

from pipeline.gates.duplicate import bands
from tests.answer_types import decided
from tests.gates.pairs import enable_only, make_pair, run_gates
from tests.graph_drafts import changed
from tests.records import accepted

LONG = (
    "The war drama film Pearl Harbor was produced by a producer who also produced a 1990 American sports action drama "
    "film. On what day did the film director who directed this action drama film die?"
)
GATE = enable_only("duplicate")


def make_unrelated_pair(n: int, question: str, **draft: object):
    """Make a pair whose evidence no other pair shares, so that only the wording counts."""
    hops = tuple(h.model_copy(update={"passage_id": f"{n}-{h.passage_id}", "answer": f"{n} {h.answer}"})
                 for h in accepted(n).draft.hops)  # fmt: skip
    return make_pair(n, question=question, hops=hops, **{"answer": "19 August 2012", **draft})


@pytest.mark.parametrize(
    "rewording",
    [
        LONG.upper(),
        LONG.replace("?", " ?").replace("film.", "film –"),
        LONG.replace("On what day did", "On which date did"),
        LONG.replace("a producer who also produced", "the producer who produced also"),
        LONG.replace("war drama film", "war drama motion picture"),
    ],
)
def test_the_same_question_in_similar_words_is_a_duplicate(rewording: str) -> None:
    assert run_gates([make_unrelated_pair(1, LONG), make_unrelated_pair(2, rewording)], GATE) == ["", "duplicate"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (LONG.replace("die?", "marry?"), "1 May 1986"),
        (
            "In what year was Kirkholm founded, the town where the designer of a swing bridge was born?",
            "19 August 2012",
        ),
    ],
)
def test_another_question_of_the_same_frame_is_no_duplicate(question: str, answer: str) -> None:
    assert run_gates([make_unrelated_pair(1, LONG), make_unrelated_pair(2, question, answer=answer)], GATE) == ["", ""]


def test_the_same_chain_in_other_words_is_a_duplicate() -> None:
    hops = accepted().draft.hops
    same = make_pair(
        1, hops=hops, answer="1201", question="In which year did monks found the home of a bridge builder?"
    )
    assert run_gates([accepted(0), same], GATE) == ["", "duplicate"]
    moved = tuple(hop.model_copy(update={"passage_id": f"elsewhere {hop.passage_id}"}) for hop in hops)
    elsewhere = make_pair(1, hops=moved, answer="1201", question="What is it?")
    assert run_gates([accepted(0), elsewhere], GATE) == ["", "duplicate"]


def test_the_same_names_with_the_same_answer_are_a_duplicate() -> None:
    first = "Who directed the film Devotion (1929 film)?"
    second = "A motion picture of 1929 has the title Devotion: whose work as a director was it?"
    assert run_gates([make_unrelated_pair(1, first), make_unrelated_pair(2, second)], GATE) == ["", "duplicate"]
    assert run_gates(
        [make_unrelated_pair(1, first), make_unrelated_pair(2, second, answer="Guido Brignone")], GATE
    ) == ["", ""]


def test_two_yes_no_questions_over_the_same_passages_are_no_duplicates() -> None:
    records = [decided(n) for n in (0, 14)]
    records[1] = records[1].model_copy(update={"rounds": records[0].rounds})
    drafts = [changed(records[0].rounds[-1].draft, question=f"Are {a} old?") for a in ("Burbur", "Hormozgan")]
    last = [records[0].rounds[-1].model_copy(update={"draft": draft}) for draft in drafts]
    pairs = [record.model_copy(update={"rounds": (past,)}) for record, past in zip(records, last, strict=True)]
    assert run_gates(pairs, GATE) == ["", ""]


def test_another_answer_from_the_same_passages_is_another_pair() -> None:
    hops = accepted().draft.hops
    last = hops[-1].model_copy(update={"answer": "1520"})
    pair = make_pair(1, hops=(*hops[:-1], last), answer="1520", question="When was the church tower built there?")
    assert run_gates([accepted(0), pair], GATE) == ["", ""]


def test_bands_do_not_change_between_machines() -> None:
    assert bands("In what year was the town founded?")[:2] == bands("in which year was the TOWN founded")[:2]
    assert bands("In what year was the town founded?")[0] == "f6d552ec49f40df1"
