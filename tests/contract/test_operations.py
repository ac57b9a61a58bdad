"""Every operation in the folder keeps the contract."""

import pytest

from pipeline import registry
from pipeline.operations import Operand, operation
from pipeline.types import AnswerType
from pipeline.types.graph import ComputedStep
from pipeline.values.interval import read_interval


@pytest.fixture(params=registry.names("operations"))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_docstring_has_an_example(name: str) -> None:
    description = operation(name).description
    assert description.startswith(f"{name.removeprefix('zz_planted') or 'extreme'}: ")
    assert "Example: " in description
    assert "->" in description


def test_an_operation_describes_a_step_in_words(name: str) -> None:
    step = ComputedStep(
        id="c", sub_question="?", answer="", needs=("a", "b"), operation=name, which="most", condition="is", bound="no"
    )
    words = operation(name).describe(step, ["the length of A", "the length of B"])
    assert "the length of A" in words
    assert "the length of B" in words
    assert not {"{", "}"} & {*words}


def test_answers_have_a_known_type(name: str) -> None:
    assert operation(name).answer_types
    assert operation(name).answer_types <= set(AnswerType) - {AnswerType.UNANSWERABLE}


def test_the_chance_of_a_guess_is_a_probability(name: str) -> None:
    operands = [Operand(year, year, f"thing of {year}", read_interval(year)) for year in ("1871", "1902")]
    assert 0 <= operation(name).chance(operands) < 1
