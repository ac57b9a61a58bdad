from fractions import Fraction

import pytest

from pipeline.operations import (
    OperationError,
    advice_against_guessing,
    evaluate,
    idle_steps,
    operations,
    repeated_answers,
    unsettled_steps,
)
from pipeline.operations.base import write_decimal
from pipeline.types.graph import Citation, ComputedStep, FoundStep, Graph


def make_found(step_id: str, answer: str, *needs: str, title: str = "", is_exact: bool = False) -> FoundStep:
    title = title or f"Article {step_id}"
    citation = Citation(passage_id=f"{title}#0", title=title, sentences=(0,), quote=answer, passage_sha256="0" * 64)
    question = f"What is {step_id}?"
    return FoundStep(
        id=step_id, sub_question=question, answer=answer, needs=needs, citation=citation, is_exact=is_exact
    )


def make_computed(step_id: str, operation: str, *needs: str, answer: str = "", **settings: str) -> ComputedStep:
    values = {"id": step_id, "sub_question": f"{operation}?", "answer": answer, "needs": needs, "operation": operation}
    return ComputedStep.model_validate(values | settings)


def compute(*steps: FoundStep | ComputedStep) -> str:
    graph = Graph(steps=steps)
    return evaluate(graph)[graph.last.id].answer


def make_contract_limit() -> Graph:
    """Make the six-step question of the prototype: a cap in percent, rounded up to a whole number."""
    return Graph(
        steps=(
            make_found("draft", "state gas"),
            make_found("size", "65,536 bytes", "draft", is_exact=True),
            make_found("price", "1,538 gas", "draft", is_exact=True),
            make_found("limit", "60,000,000 gas", is_exact=True),
            make_computed("cost", "product", "size", "price", unit="gas"),
            make_computed("cap", "ratio", "cost", "limit", unit="%", rounding="up"),
        )
    )


def make_oldest_founder(years: tuple[str, str, str] = ("1871", "1880", "1902")) -> Graph:
    """Make the question for the founder of the oldest of three clubs."""
    clubs = [make_found(f"club{n}", f"Club {n}") for n in range(3)]
    dates = [make_found(f"year{n}", year, f"club{n}") for n, year in enumerate(years)]
    oldest = make_computed("oldest", "extreme", "year0", "year1", "year2", which="earliest", answer="Club 0")
    return Graph(steps=(*clubs, *dates, oldest, make_found("founder", "Ada Marsh", "oldest")))


def test_chain_that_feeds_arithmetic_with_branches_gives_168_percent():
    graph = make_contract_limit()
    assert evaluate(graph)["cap"].answer == "168 %"
    assert evaluate(graph)["cap"].rounding == "up to a whole number"
    assert idle_steps(graph) == ()


def test_step_may_follow_a_computed_step():
    graph = make_oldest_founder()
    assert evaluate(graph)["oldest"].answer == "Club 0"
    assert (graph.depth, graph.rounds) == (4, 3)
    assert graph.computations == (("extreme (earliest) of 4, 5 and 6", "Club 0"),)
    assert graph.answer == "Ada Marsh"


def test_losing_branch_is_not_idle():
    assert idle_steps(make_oldest_founder()) == ()


def test_step_that_cannot_change_the_answer_is_idle():
    graph = Graph(
        steps=(
            make_found("a", "100 kg", is_exact=True),
            make_found("b", "60 kg", is_exact=True),
            make_found("tiny", "1 g", is_exact=True),
            make_computed("total", "sum", "a", "b", "tiny", unit="kg", rounding="down"),
        )
    )
    assert evaluate(graph)["total"].answer == "160 kg"
    assert idle_steps(graph) == ("tiny",)


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        ("44 %", "2.2 %", "20"),
        ("185,000 cases", "36,000 cases", "5.1"),
        ("25,760", "177", "146"),
        ("33.506 million tonnes of CO2", "5.798 million tonnes of CO2", "5.78"),
        ("276 deaths/100,000 live births", "12 deaths per 100,000 live births", "23"),
    ],
)
def test_ratio_has_the_digits_that_the_evidence_supports(first, second, answer):
    steps = make_found("a", first), make_found("b", second), make_computed("c", "ratio", "a", "b")
    assert compute(*steps) == answer


@pytest.mark.parametrize(
    ("first", "second", "answer"), [("9", "2", "4.5"), ("1", "3", "0.333"), ("1,256", "1", "1260")]
)
def test_exact_ratio_has_three_digits(first, second, answer):
    steps = make_found("a", first, is_exact=True), make_found("b", second, is_exact=True)
    assert compute(*steps, make_computed("c", "ratio", "a", "b")) == answer


@pytest.mark.parametrize(
    ("first", "second", "unit", "answer", "rounding"),
    [
        ("5.5 %", "4.3 %", "percentage points", "1.2 percentage points", ""),
        ("27.5% of GDP", "4.5% of GDP", "percentage points", "23 percentage points", ""),
        ("7,200", "3,300", "", "3900", ""),
        ("3,300", "7,200", "", "3900", ""),
        ("12.34 kg", "1.2 kg", "kg", "11.1 kg", "the nearest 0.1"),
        ("12,345 members", "678 members", "members", "11667 members", ""),
        (
            "276 deaths/100,000 births",
            "112 deaths/100,000 births",
            "deaths/100,000 births",
            "164 deaths/100,000 births",
            "",
        ),
    ],
)
def test_difference_keeps_the_digits_of_its_values(first, second, unit, answer, rounding):
    graph = Graph(
        steps=(make_found("a", first), make_found("b", second), make_computed("c", "difference", "a", "b", unit=unit))
    )
    outcome = evaluate(graph)["c"]
    assert (outcome.answer, outcome.rounding) == (answer, rounding)


def test_limits_hold_everything_that_rounds_to_the_answer():
    steps = make_found("a", "25,760"), make_found("b", "177"), make_computed("c", "ratio", "a", "b")
    outcome = evaluate(Graph(steps=steps))["c"]
    assert outcome.rounding == "the nearest 1"
    assert outcome.interval is not None
    assert outcome.interval.corners == (Fraction("145.5"), Fraction("146.5"))


@pytest.mark.parametrize(
    ("first", "second", "answer", "rounding"),
    [("85,000", "40,000", "2.1", "the nearest 0.1"), ("86,000", "40,000", "2.15", "")],
)
def test_number_halfway_between_two_is_rounded_more_coarsely(first, second, answer, rounding):
    """Some people round 2.125 up, others to the even digit."""
    steps = make_found("a", first), make_found("b", second), make_computed("c", "ratio", "a", "b")
    outcome = evaluate(Graph(steps=steps))["c"]
    assert (outcome.answer, outcome.rounding) == (answer, rounding)


def test_number_that_is_rounded_up_must_be_the_same_at_all_corners():
    steps = make_found("a", "44 %"), make_found("b", "2.2 %"), make_computed("c", "ratio", "a", "b", rounding="up")
    with pytest.raises(OperationError, match="allows 20 and 21"):
        compute(*steps)


@pytest.mark.parametrize(
    ("number", "text"), [("7/2", "3.5"), ("1/8", "0.125"), ("-5/4", "-1.25"), ("1200", "1200"), ("0", "0")]
)
def test_decimals_are_written_in_full(number, text):
    assert write_decimal(Fraction(number)) == text


def test_ratio_has_the_limits_of_all_corners():
    graph = Graph(steps=(make_found("a", "44 %"), make_found("b", "2.2 %"), make_computed("c", "ratio", "a", "b")))
    outcome = evaluate(graph)["c"]
    assert outcome.rounding == ""
    assert outcome.interval is not None
    low, high = outcome.interval.corners
    assert 19.3 < low < 19.4
    assert 20.6 < high < 20.7


def test_answer_with_limits_that_are_too_wide_is_refused():
    with pytest.raises(OperationError, match=r"step 'c'.*too many for one answer"):
        compute(make_found("a", "9 km"), make_found("b", "3 km"), make_computed("c", "ratio", "a", "b"))


def test_extreme_refuses_ranges_that_overlap():
    steps = make_found("a", "1 in 15,000 to 40,000"), make_found("b", "1 in 36,000")
    with pytest.raises(OperationError, match="overlap"):
        compute(*steps, make_computed("c", "extreme", "a", "b", which="most"))


def test_extreme_takes_ranges_that_do_not_overlap():
    steps = make_found("a", "1 in 15,000 to 30,000"), make_found("b", "1 in 36,000")
    assert compute(*steps, make_computed("c", "extreme", "a", "b", which="most")) == "Article a"


def test_open_value_can_win_but_cannot_be_divided():
    steps = make_found("a", "at least 300 km"), make_found("b", "91 km")
    assert compute(*steps, make_computed("c", "extreme", "a", "b", which="most")) == "Article a"
    with pytest.raises(OperationError, match="two limits"):
        compute(*steps, make_computed("c", "ratio", "a", "b"))


def test_values_of_different_kinds_are_not_compared():
    with pytest.raises(OperationError, match="different kinds"):
        compute(
            make_found("a", "91 m"), make_found("b", "84 kg"), make_computed("c", "extreme", "a", "b", which="most")
        )


def test_filter_gives_the_things_that_pass():
    steps = [make_found(name, answer) for name, answer in zip("abcd", ("yes", "no", "no", "yes"), strict=True)]
    graph = Graph(steps=(*steps, make_computed("e", "filter", *"abcd", condition="is", bound="no")))
    assert evaluate(graph)["e"].items == ("Article b", "Article c")
    assert idle_steps(graph) == ()


def test_filter_that_keeps_everything_is_refused():
    steps = [make_found(name, "1900") for name in "abc"]
    with pytest.raises(OperationError, match="all of the things"):
        compute(*steps, make_computed("e", "filter", *"abc", condition="after", bound="1850"))


def test_filter_refuses_a_value_on_both_sides_of_the_bound():
    steps = make_found("a", "1850"), make_found("b", "1700"), make_found("c", "1900")
    with pytest.raises(OperationError, match="either side"):
        compute(*steps, make_computed("e", "filter", *"abc", condition="after", bound="March 1850"))


def test_intersect_needs_one_thing():
    assert (
        compute(make_found("a", "0x0C"), make_found("b", "0x0C"), make_computed("c", "intersect", "a", "b")) == "0x0C"
    )
    with pytest.raises(OperationError, match="must have the same answer"):
        compute(make_found("a", "0x0C"), make_found("b", "0x0D"), make_computed("c", "intersect", "a", "b"))


@pytest.mark.parametrize(
    ("first", "second", "unit", "answer"),
    [
        ("1894", "1826", "years", "68 years"),
        ("986", "1449", "years", "463 years"),
        ("3 March 1894", "4 March 1826", "years", "67 years"),
        ("3 March 1894", "1 March 1894", "days", "2 days"),
        ("91 m", "84 m", "m", "7 m"),
    ],
)
def test_difference_of_dates_and_amounts(first, second, unit, answer):
    steps = make_found("a", first, is_exact=True), make_found("b", second, is_exact=True)
    assert compute(*steps, make_computed("c", "difference", "a", "b", unit=unit)) == answer


def test_difference_of_a_year_and_a_day_is_refused():
    with pytest.raises(OperationError, match="whole dates"):
        compute(
            make_found("a", "1894"),
            make_found("b", "4 March 1826"),
            make_computed("c", "difference", "a", "b", unit="years"),
        )


def test_some_operations_are_offered_only_on_request():
    assert {name for name, operation in operations().items() if not operation.is_offered} == {
        "count",
        "product",
        "sum",
        "yes_no",
    }
    steps = [make_found(name, answer) for name, answer in zip("abc", ("yes", "yes", "no"), strict=True)]
    assert compute(*steps, make_computed("e", "count", *"abc", condition="is", bound="yes")) == "2"
    assert compute(*steps[:2], make_computed("e", "yes_no", *"ab")) == "yes"


def test_list_refuses_answers_of_different_kinds():
    with pytest.raises(OperationError, match="one question of several things"):
        compute(make_found("a", "43.5%"), make_found("b", "1977"), make_computed("c", "list", "a", "b"))
    with pytest.raises(OperationError, match="one question of several things"):
        compute(make_found("a", "Lisbon"), make_found("b", "1977"), make_computed("c", "list", "a", "b"))


def test_list_refuses_an_item_twice():
    assert (
        compute(make_found("a", "Lisbon"), make_found("b", "Ghent"), make_computed("c", "list", "a", "b"))
        == "Lisbon; Ghent"
    )
    with pytest.raises(OperationError, match="twice"):
        compute(make_found("a", "Lisbon"), make_found("b", "lisbon"), make_computed("c", "list", "a", "b"))


def test_answer_of_an_earlier_step_is_reported():
    steps = make_found("a", "9"), make_found("b", "3"), make_computed("c", "ratio", "a", "b", answer="3")
    assert repeated_answers(Graph(steps=steps)) == ("b",)
    assert repeated_answers(make_oldest_founder()) == ()


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((make_found("a", "x"), make_found("a", "y", "a")), "two steps have the id"),
        ((make_found("a", "x", "b"), make_found("b", "y")), "no earlier step"),
        ((make_found("a", "x"), make_found("b", "y")), "nothing leads from step 'a'"),
    ],
)
def test_disconnected_graph_is_refused(steps, message):
    with pytest.raises(ValueError, match=message):
        Graph(steps=steps)


@pytest.mark.parametrize(
    "last",
    [
        make_computed("c", "difference", "a", "b", unit="years"),
        make_computed("c", "list", "a", "b"),
        make_computed("c", "extreme", "a", "b", which="earliest"),
    ],
)
def test_no_operand_of_two_years_is_idle(last: ComputedStep) -> None:
    assert idle_steps(Graph(steps=(make_found("a", "1975"), make_found("b", "2011"), last))) == ()


def test_difference_of_shares_is_in_percentage_points() -> None:
    steps = make_found("a", "75.2 %"), make_found("b", "48.8 %")
    assert (
        compute(*steps, make_computed("c", "difference", "a", "b", unit="percentage points"))
        == "26.4 percentage points"
    )


def test_winner_and_items_keep_the_names_of_their_steps() -> None:
    towns = [
        make_found(name, f"Town {name}").model_copy(update={"answer_aliases": (f"{name.upper()}-ville",)})
        for name in "abc"
    ]
    years = [make_found(f"year_{name}", year, name) for name, year in zip("abc", ("1871", "1880", "1902"), strict=True)]
    ids = [year.id for year in years]
    first = Graph(steps=(*towns, *years, make_computed("z", "extreme", *ids, which="earliest")))
    assert evaluate(first)["z"].aliases == ("A-ville",)
    late = Graph(steps=(*towns, *years, make_computed("z", "filter", *ids, condition="after", bound="1875")))
    assert evaluate(late)["z"].item_aliases == (("B-ville",), ("C-ville",))
    two_towns = Graph(steps=(*towns[:2], make_computed("z", "list", "a", "b")))
    assert evaluate(two_towns)["z"].item_aliases == (("A-ville",), ("B-ville",))


def test_name_of_a_first_step_is_its_subject_or_the_title_without_its_tag() -> None:
    steps = [
        make_found(name, year, title=f"Pier {name} (ferry stop)")
        for name, year in zip("ab", ("1871", "1902"), strict=True)
    ]
    last = make_computed("z", "extreme", "a", "b", which="earliest")
    assert evaluate(Graph(steps=(*steps, last)))["z"].aliases == ("Pier a",)
    with_name = steps[0].model_copy(update={"about": "Vess Pier"})
    assert evaluate(Graph(steps=(with_name, steps[1], last)))["z"].answer == "Vess Pier"


def test_guess_between_two_is_advised_against() -> None:
    steps = make_found("a", "1871"), make_found("b", "1902"), make_found("c", "1950")
    two = Graph(steps=(*steps[:2], make_computed("z", "extreme", "a", "b", which="earliest")))
    assert advice_against_guessing(two).startswith("compare three or more things")
    three = Graph(steps=(*steps, make_computed("z", "extreme", "a", "b", "c", which="earliest")))
    assert advice_against_guessing(three) == ""
    # A run offers yes-or-no questions only on request.
    assert advice_against_guessing(Graph(steps=(*steps[:2], make_computed("z", "yes_no", "a", "b")))) == ""


def test_every_unsettled_step_is_named_except_those_that_depend_on_one() -> None:
    steps = make_found("a", "1871"), make_found("b", "1871"), make_found("c", "x")
    tie = make_computed("tie", "extreme", "a", "b", which="earliest")
    bad = make_computed("bad", "ratio", "a", "c")
    graph = Graph(steps=(*steps, tie, bad, make_computed("z", "ratio", "tie", "bad")))
    assert [*unsettled_steps(graph)] == ["tie", "bad"]


@pytest.mark.parametrize(
    ("first", "second", "unit", "answer"),
    [
        ("3240", "1467", "stars", "1773 stars"),
        ("3240", "1467", "", "1773"),
        ("1467", "1022", "stars", "445 stars"),
        ("1467", "1022", "years", "445 years"),
        ("1467 stars", "1022 stars", "", "445"),
        ("6.601.472", "1,022,000", "passengers", "5579472 passengers"),
    ],
)
def test_counts_may_look_like_years_and_need_no_unit(first: str, second: str, unit: str, answer: str) -> None:
    steps = [make_found("a", first, is_exact=True), make_found("b", second, is_exact=True)]
    assert compute(*steps, make_computed("c", "difference", "a", "b", unit=unit)) == answer
