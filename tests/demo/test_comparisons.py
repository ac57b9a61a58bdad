"""Questions about several things are worded, read again and computed by one operation."""

import pytest

from pipeline.demo.comparisons import ComputedQuestion, read, tell_in_order
from pipeline.demo.question_wording import Named, Phrase, RelationOf
from pipeline.demo.relations import COMPARED, TABLE

ROWS = {relation.name: relation for relation in TABLE}
HIDDEN = RelationOf(ROWS["director"], Named("Sand, Sea and Sky", "1931 film"))
THINGS: tuple[Phrase, ...] = (Named("Ada Holm"), HIDDEN, Named("the Vessby Mill"))


def parts(relation: str) -> tuple[RelationOf, ...]:
    when = "2019" if "@" in ROWS[relation].ask else ""
    return tuple(RelationOf(ROWS[relation], thing, when) for thing in THINGS)


def comparisons() -> list[ComputedQuestion]:
    every = [ComputedQuestion("extreme", parts(name), which=end) for name in COMPARED for end in COMPARED[name].ends]
    dated = [name for name in COMPARED if COMPARED[name].passing]
    every += [ComputedQuestion("filter", parts(name), condition="before", bound="1900") for name in dated]
    every += [ComputedQuestion("difference", parts(name)[:2], unit="years") for name in dated]
    return every + [ComputedQuestion("list", parts(row.name)) for row in TABLE if row.type == "entity"]


@pytest.mark.parametrize("comparison", comparisons(), ids=ComputedQuestion.question)
def test_every_comparison_is_read_as_it_is_meant(comparison: ComputedQuestion) -> None:
    assert read(comparison.question()) == comparison


def test_what_is_told_first_stands_for_itself_in_the_question() -> None:
    chain = RelationOf(ROWS["founded"], RelationOf(ROWS["birthplace"], HIDDEN))
    wordings = [*tell_in_order(chain)]
    assert wordings[0] == (
        'Consider the birthplace of the director of the 1931 film "Sand, Sea and Sky". '
        "In what year was that town founded?"
    )
    assert [read(wording) for wording in wordings] == [chain, chain]


@pytest.mark.parametrize(
    ("comparison", "values", "answer"),
    [
        (ComputedQuestion("extreme", parts("born"), which="earliest"), ("1901", "1890", "1903"), "b"),
        (ComputedQuestion("extreme", parts("born"), which="earliest"), ("1901", "1890", "1890"), ""),
        (ComputedQuestion("filter", parts("born"), condition="after", bound="1900"), ("1901", "1890", "1903"), "a; c"),
        (ComputedQuestion("difference", parts("born")[:2], unit="years"), ("1901", "1890"), "11 years"),
        (ComputedQuestion("list", parts("birthplace")), ("Vessby", "Tarn", "Holm"), "Vessby; Tarn; Holm"),
        (ComputedQuestion("list", parts("birthplace")), ("Vessby", "Tarn", "Tarn"), ""),
    ],
)
def test_the_operation_gives_the_answer_or_none(
    comparison: ComputedQuestion, values: tuple[str, ...], answer: str
) -> None:
    assert comparison.answer([*zip(values, "abc", strict=False)]) == answer
