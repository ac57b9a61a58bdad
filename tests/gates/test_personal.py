"""Addresses, numbers and keys of people are personal data; other figures are not."""

import pytest

from pipeline.gates.personal import mask_record, mask_text
from pipeline.types import Record
from tests.fork_records import branched
from tests.gates.pairs import enable_only, make_pair, run_gates
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
def test_personal_data_in_a_quote_drops_the_pair(text: str) -> None:
    hop = accepted().draft.hops[0].model_copy(update={"quote": f"The bridge; {text}."})
    assert run_gates([make_pair(0, hops=(hop,))], enable_only("personal")) == ["personal"]


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
def test_other_figures_and_public_addresses_pass(text: str) -> None:
    assert run_gates([make_pair(0, question=f"What does this mean: {text}?")], enable_only("personal")) == [""]


def test_personal_data_in_a_trajectory_costs_no_pair() -> None:
    tree = accepted().model_dump(mode="json")
    tree["confirmation"][0]["trajectory"]["messages"][3]["content"] += KEY
    assert run_gates([Record.model_validate(tree)], enable_only("personal")) == [""]


def test_a_key_at_the_beginning_of_a_line_is_masked() -> None:
    tree = accepted().model_dump(mode="json")
    for space in "\n\t\r":
        tree["confirmation"][0]["trajectory"]["messages"][3]["content"] = f"token:{space}{KEY}"
        assert KEY not in mask_record(Record.model_validate(tree)).model_dump_json()


def test_an_address_that_ends_like_a_role_is_a_persons() -> None:
    assert mask_text("groot@firm.example, info@firm.example") == "[an e-mail address], info@firm.example"


ADDRESS = "ada.brannick@fells.example.org"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
PLACES: dict[str, list[str | int]] = {
    "seed": ["seed", "passage", "text"],
    "generator": ["rounds", 0, "agent", "messages", 3, "content"],
    "refiner's inputs": ["rounds", 1, "agent", "messages", 1, "content"],
    "earlier rollout": ["rounds", 0, "rollouts", 0, "trajectory", "messages", 3, "content"],
    "confirmation": ["confirmation", 0, "trajectory", "messages", 3, "content"],
    "over distractors": ["distractor_eval", "with_distractors", 0, "trajectory", "messages", 3, "content"],
    "teacher": ["teacher_rollouts", 0, "rollout", "trajectory", "messages", 3, "content"],
    "distractor": ["distractor_eval", "distractors", 0, "text"],
    "fork": ["forks", 0, "branches", 0, "rollout", "trajectory", "messages", -2, "content"],
}


@pytest.mark.parametrize("place", PLACES)
def test_the_data_set_contains_no_address_and_no_key(place: str) -> None:
    """Keep everything else of the record, including addresses of lists."""
    update = {
        "distractor_eval": taught(1).distractor_eval,
        "teacher_rollouts": taught(1).teacher_rollouts,
        "forks": branched(1).forks,
    }
    record = accepted(1, rounds=2).model_copy(update=update)

    def make_record(text: str) -> Record:
        tree = node = record.model_dump(mode="json")
        *path, last = PLACES[place]
        for step in path:
            node = node[step]
        node[last] += text
        return Record.model_validate(tree)

    masked = mask_record(make_record(f" {ADDRESS}, {KEY}; {PEM} and list@fells.example.org"))
    assert masked == make_record(" [an e-mail address], [a key]; [a private key] and list@fells.example.org")
