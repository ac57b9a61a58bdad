"""Every gate says what it drops, is a pure function of a record, and gives a reason with whatever it refuses."""

import pytest

from pipeline import registry
from pipeline.config.gates import GateConfig
from pipeline.dataset import gates
from pipeline.dataset.gates.base import GateResult
from tests.hostile import HOSTILE
from tests.records import batch, hostile

NAMES = registry.names("gates")
RECORDS = [*batch(16), hostile(), *(hostile(6100 + n, text) for n, text in enumerate(HOSTILE))]


@pytest.fixture(params=NAMES)
def gate(request):
    return registry.load("gates", request.param)


def test_the_folder_holds_the_promised_gates():
    assert set(NAMES) >= {"duplicate", "overused_answer", "overused_passage", "overused_opening", "overused_relation"}


def test_the_first_line_says_what_it_drops(gate):
    name = gate.__name__.rpartition(".")[2]
    assert gates.described(GateConfig())[name].endswith(".")
    assert name not in gates.described(GateConfig(off=(name,)))


def test_it_says_the_same_again_and_changes_nothing(gate):
    for record in RECORDS:
        if record.draft:
            before = record.model_dump_json()
            said = gate.check(record.draft, record, GateConfig())
            assert all(isinstance(weight, GateResult) for weight in said)
            assert gate.check(record.draft, record, GateConfig()) == said
            assert record.model_dump_json() == before


def test_whatever_it_may_refuse_has_a_reason(gate):
    for record in RECORDS:
        for weight in gate.check(record.draft, record, GateConfig()) if record.draft else ():
            assert bool(weight.drop) != bool(weight.full)
            assert bool(weight.drop) != bool(weight.marks)
            assert weight.most >= 1
            assert 0 <= weight.share <= 1
