"""Every gate documents what it drops, is a pure function of a record, and gives a reason for each refusal."""

import pytest

from pipeline import gates
from pipeline.config.exports import GateConfig
from pipeline.gates.base import GateResult
from tests.hostile_texts import HOSTILE
from tests.records import batch, hostile

CHECKS = gates.load_gates()
RECORDS = [*batch(16), hostile(), *(hostile(6100 + n, text) for n, text in enumerate(HOSTILE))]


@pytest.fixture(params=CHECKS)
def check(request):
    return CHECKS[request.param].check


def test_the_folder_holds_the_promised_gates():
    assert set(CHECKS) >= {"duplicate", "overused_answer", "overused_passage", "overused_opening"}


@pytest.mark.parametrize("name", CHECKS)
def test_the_first_line_says_what_it_drops(name):
    assert gates.describe_gates()[name].endswith(".")
    assert name not in gates.describe_gates(GateConfig(off=(name,)))


def test_a_gate_is_deterministic_and_changes_nothing(check):
    for record in RECORDS:
        if record.draft:
            before = record.model_dump_json()
            answer = check(record.draft, record, GateConfig())
            assert isinstance(answer, str) or all(isinstance(result, GateResult) for result in answer)
            assert check(record.draft, record, GateConfig()) == answer
            assert record.model_dump_json() == before


def test_every_refusal_has_a_reason(check):
    for record in RECORDS:
        answer = check(record.draft, record, GateConfig()) if record.draft else ""
        for result in () if isinstance(answer, str) else answer:
            assert result.full
            assert result.marks
            assert result.most >= 1
            assert 0 <= result.share <= 1
