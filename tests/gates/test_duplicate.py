"""The same question again, in these words or others; and two questions of one frame that are not the same."""

import pytest

from pipeline.gates.duplicate import bands
from tests.answer_types import decided
from tests.gates.test_gates import having, judged, only
from tests.graphs import changed
from tests.records import accepted

LONG = (
    "The war drama film Pearl Harbor was produced by a producer who also produced a 1990 American sports action drama "
    "film. On what day did the film director who directed this action drama film die?"
)
GATE = only("duplicate")


def alone(n: int, question: str, **draft: object):
    """Evidence that no other pair shares: what is left is the wording."""
    hops = tuple(h.model_copy(update={"passage_id": f"{n}-{h.passage_id}", "answer": f"{n} {h.answer}"})
                 for h in accepted(n).draft.hops)  # fmt: skip
    return having(n, question=question, hops=hops, **{"answer": "19 August 2012", **draft})


@pytest.mark.parametrize(
    "other",
    [
        LONG.upper(),
        LONG.replace("?", " ?").replace("film.", "film –"),
        LONG.replace("On what day did", "On which date did"),
        LONG.replace("a producer who also produced", "the producer who produced also"),
        LONG.replace("war drama film", "war drama motion picture"),
    ],
)
def test_the_same_question_in_about_the_same_words(other: str) -> None:
    assert judged([alone(1, LONG), alone(2, other)], GATE) == ["", "duplicate"]


@pytest.mark.parametrize(
    ("other", "answer"),
    [
        (LONG.replace("die?", "marry?"), "1 May 1986"),
        (
            "In what year was Kirkholm founded, the town where the designer of a swing bridge was born?",
            "19 August 2012",
        ),
    ],
)
def test_another_question_of_the_same_frame(other: str, answer: str) -> None:
    assert judged([alone(1, LONG), alone(2, other, answer=answer)], GATE) == ["", ""]


def test_the_same_chain_in_other_words() -> None:
    hops = accepted().draft.hops
    same = having(1, hops=hops, answer="1201", question="In which year did monks found the home of a bridge builder?")
    assert judged([accepted(0), same], GATE) == ["", "duplicate"]
    moved = tuple(hop.model_copy(update={"passage_id": f"elsewhere {hop.passage_id}"}) for hop in hops)
    assert judged([accepted(0), having(1, hops=moved, answer="1201", question="What is it?")], GATE) == [
        "",
        "duplicate",
    ]


def test_the_same_names_with_the_same_answer() -> None:
    asked = "Who directed the film Devotion (1929 film)?"
    other = "A motion picture of 1929 has the title Devotion: whose work as a director was it?"
    assert judged([alone(1, asked), alone(2, other)], GATE) == ["", "duplicate"]
    assert judged([alone(1, asked), alone(2, other, answer="Guido Brignone")], GATE) == ["", ""]


def test_a_comparison_is_no_chain() -> None:
    """Two questions of yes or no over the same passages are no duplicates."""
    records = [decided(n) for n in (0, 14)]
    records[1] = records[1].model_copy(update={"rounds": records[0].rounds})
    asked = [changed(records[0].rounds[-1].draft, question=f"Are {a} old?") for a in ("Burbur", "Hormozgan")]
    last = [records[0].rounds[-1].model_copy(update={"draft": draft}) for draft in asked]
    pairs = [record.model_copy(update={"rounds": (past,)}) for record, past in zip(records, last, strict=True)]
    assert judged(pairs, GATE) == ["", ""]


def test_another_answer_from_the_same_passages_is_another_pair() -> None:
    hops = accepted().draft.hops
    last = hops[-1].model_copy(update={"answer": "1520"})
    other = having(1, hops=(*hops[:-1], last), answer="1520", question="When was the church tower built there?")
    assert judged([accepted(0), other], GATE) == ["", ""]


def test_bands_do_not_change_between_machines() -> None:
    assert bands("In what year was the town founded?")[:2] == bands("in which year was the TOWN founded")[:2]
    assert bands("In what year was the town founded?")[0] == "f6d552ec49f40df1"
