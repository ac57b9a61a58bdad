"""The embedded judge: dates at the precision asked, by the rules of the shipped reward, names by equality."""

import asyncio

import orjson
import pytest

from pipeline import prompts
from pipeline.agents.judge import VERDICT
from pipeline.demo.role_dispatch import DemoModel
from pipeline.llm.base import Request


def verdict(answer: str, response: str, kind: str, precision: str = "", aliases: tuple[str, ...] = ()) -> bool:
    messages = prompts.load("judge/verdict").render(
        "0" * 16,
        question="Q",
        answer=answer,
        answer_aliases=aliases,
        answer_type=kind,
        answer_precision=precision,
        response=response,
    )
    completion = asyncio.run(DemoModel().complete(Request(model="embedded", messages=messages, output=VERDICT)))
    assert completion.usage.prompt_tokens > 0
    return bool(orjson.loads(completion.message.content)["correct"])


@pytest.mark.parametrize(
    ("answer", "response", "precision", "right"),
    [
        ("7 March 2007", "March 2007", "month", True),
        ("7 March 2007", "March 2007", "day", False),
        ("March 2007", "7 March 2007", "month", True),
        ("March 7, 2007", "2007-03-07", "day", True),
        ("2007", "7 March 2007", "year", True),
        ("2007", "2008", "year", False),
        ("2007", "2007 or 2008", "year", False),
        ("7 March 2007", "someday", "day", False),
    ],
)
def test_a_date_is_right_at_the_precision_asked(answer: str, response: str, precision: str, right: bool) -> None:
    assert verdict(answer, response, "date", precision) is right


@pytest.mark.parametrize(
    ("answer", "response", "right"),
    [
        ("1,234", "1234", True),
        ("1,234", "1,235", False),
        ("12", "twelve", True),
        ("3.5 million", "3,500,000", True),
        ("3.5 million", "3.9 million", False),
        ("387 metres", "387 feet", False),
        ("387 metres", "0.387 km", True),
        ("76.4 years", "76.4 days", False),
        ("about 40", "between 30 and 50", False),
    ],
)
def test_a_number_is_right_by_the_rules_of_the_reward(answer: str, response: str, right: bool) -> None:
    assert verdict(answer, response, "number") is right


def test_a_name_is_equal_to_the_answer_or_an_alias_and_otherwise_wrong() -> None:
    assert verdict("Hal Ashby", "hal  ashby.", "entity")
    assert verdict("Hal Ashby", "William Hal Ashby", "entity", aliases=("William Hal Ashby",))
    assert not verdict("Hal Ashby", "Ashby", "entity")
    assert not verdict("Hal Ashby", "Hal Ashby or Jane Roe", "entity")
