"""Addresses, numbers and keys of people; and figures that are none of these."""

import pytest

from pipeline.types import Record
from tests.dataset.gates.test_gates import having, judged, only
from tests.records import accepted
from tests.teacher_rollouts import taught

KEY = "sk-" + "a1B2" * 8


@pytest.mark.parametrize(
    "text",
    [
        "write to ada.brannick+old@fells.example.org",
        f"the key is {KEY}",
        "AKIA" + "A2B3" * 4,
        "-----BEGIN RSA PRIVATE KEY-----",
        "call +44 20 7946 0958",
        "call (555) 010-1234 or 555-010-1234",
        "pay with 4111 1111 1111 1111",
        "pay to GB82 WEST 1234 5698 7654 32",
        "number 078-05-1120",
    ],
)
def test_what_is_nobodys_business(text: str) -> None:
    hop = accepted().draft.hops[0].model_copy(update={"quote": f"The bridge; {text}."})
    assert judged([having(0, hops=(hop,))], only("personal")) == ["personal"]


@pytest.mark.parametrize(
    "text",
    [
        "It opened on 12 May 1874 and carried 1,234,567 people.",
        "Its ISBN is 978-0-306-40615-7 and its area 1234 5678 km.",
        "the 1990-1994 season, 4-3-3",
        "On 2012-08-19 the @Kirkholm band played",
        "write to debian-user@lists.debian.org, 4711@bugs.debian.org or Postmaster@fells.example.org",
        "population 120,345 (2010), 119,888 (2000)",
        "4111 1111 1111 1112",
    ],
)
def test_what_is_not(text: str) -> None:
    assert judged([having(0, question=f"What does this mean: {text}?")], only("personal")) == [""]


def test_passages_are_looked_at_for_addresses_and_keys_alone() -> None:
    def observed(text: str):
        tree = accepted().model_dump(mode="json")
        tree["confirmation"][0]["trajectory"]["messages"][3]["content"] += text
        return type(accepted()).model_validate(tree)

    found = [observed(KEY), observed("a@b.example"), observed("call +44 20 7946 0958")]
    assert judged(found, only("personal")) == ["personal", "personal", ""]


def test_the_teacher_s_passages_and_those_of_the_overlay_are_looked_at_too() -> None:
    def observed(*path: str | int) -> Record:
        tree = place = taught().model_dump(mode="json")
        for step in path:
            place = place[step]
        next(m for m in place["trajectory"]["messages"] if m["role"] == "tool")["content"] += KEY
        return Record.model_validate(tree)

    false = taught().model_dump(mode="json")
    false["opposition"]["distractors"][-1]["text"] += KEY
    assert judged([Record.model_validate(false)], only("personal")) == ["personal"]
    found = [observed("lessons", 0, "rollout"), observed("opposition", "opposed", 0), taught()]
    assert judged(found, only("personal")) == ["personal", "personal", ""]
