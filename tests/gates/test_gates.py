"""The result depends only on the records in their order; shares hold in every prefix, and a small run loses nothing."""

import pytest

from pipeline.config.exports import GateConfig
from pipeline.errors import UsageError
from pipeline.gates import Drop, Gates, mark_dropped
from pipeline.types import Record, Status
from pipeline.types.model_probe import PriorKnowledge
from tests.gates.pairs import enable_only, make_pair, run_gates
from tests.graph_drafts import changed
from tests.records import accepted, no_draft


def test_a_pair_passes_once() -> None:
    assert run_gates([accepted(), accepted()]) == ["", "duplicate"]


def test_only_what_passed_is_remembered() -> None:
    gates = Gates(GateConfig())
    first, second = gates.check(accepted(1)), gates.check(accepted(1))
    assert gates.admit(first) is None
    assert gates.admit(second) == Drop("duplicate", "another pair asks the same")
    trial = gates.copy()
    assert trial.admit(gates.check(accepted(2))) is None
    assert gates.admit(gates.check(accepted(2))) is None


def test_a_record_without_a_draft_passes_every_gate() -> None:
    assert run_gates([no_draft(), no_draft()]) == ["", ""]


def test_a_dropped_record_is_rejected_with_the_gate_as_its_reason() -> None:
    record = mark_dropped(accepted(), Drop("duplicate", "another pair asks the same"))
    assert (record.status, record.reason) == (Status.REJECTED, "gate:duplicate")
    assert record.confirmed


@pytest.mark.parametrize("settings", [GateConfig(off=("no_such",)), GateConfig(quotas={"colour": {"red": 0.5}})])
def test_an_unknown_name_is_a_usage_error(settings: GateConfig) -> None:
    with pytest.raises(UsageError, match="known: "):
        Gates(settings)


def test_an_unnatural_pair_is_dropped_only_if_requested() -> None:
    record = accepted(1).model_copy(
        update={"known_to": (PriorKnowledge(model="m", tries=4, right=3),), "naturalness": 3}
    )
    assert run_gates([record]) == run_gates([record], enable_only("known_to", known_to=0)) == [""], "no policy is named"
    assert run_gates([record], enable_only("naturalness", naturalness=3)) == [""]
    assert run_gates([record], enable_only("naturalness", naturalness=4)) == ["naturalness"]
    assert run_gates([accepted(1)], enable_only("naturalness", naturalness=4)) == [""], "nobody graded it"


@pytest.mark.parametrize(
    ("question", "grade", "gate"),
    [
        ("Who is the current manager of the club?", None, "undated"),
        ("What is the latest album of that band?", None, "undated"),
        ("What is the population of the city of the mills?", None, "undated"),
        ("At the 2010 census, what was the population of the city of the mills?", None, ""),
        ("Who was the current champion in June 2011?", None, ""),
        ("Who founded the town on the Tarn?", None, ""),
        ("What was the latest album of the band when it broke up?", 4, ""),
    ],
)
def test_words_decide_whether_an_answer_changes_with_time_if_no_reader_graded_it(
    question: str, grade: int | None, gate: str
) -> None:
    record = make_pair(1, question=question).model_copy(update={"naturalness": grade})
    assert run_gates([record], enable_only("undated")) == [gate]


SHARES = {
    "overused_answer": ("answers", lambda n: make_pair(n, answer="2015"), 2),
    "overused_opening": ("openings", lambda n: make_pair(n, question=f"In what year did number {n} of them end?"), 10),
}


@pytest.mark.slow
@pytest.mark.parametrize("gate", SHARES)
def test_a_share_holds_in_every_prefix_and_has_a_floor(gate: str) -> None:
    """Repeat one alike among four others; the share that passes never exceeds the limit after the floor."""
    name, alike, least = SHARES[gate]
    settings = enable_only(gate, **{name: 0.1})
    records = [alike(n) if n % 4 == 0 else unlike(n) for n in range(200)]
    drops = run_gates(records, settings)
    assert drops[:1] == [""]
    assert set(drops) == {"", gate}
    assert not any(drops[n] for n in range(200) if n % 4)
    passed = like = 0
    for n, drop in enumerate(drops):
        passed += not drop
        like += n % 4 == 0 and not drop
        assert like <= max(least, 0.1 * passed)
    assert like > least


def unlike(n: int) -> Record:
    """Make a pair without an answer, opening or relation in common with any other."""
    hop = accepted(n).draft.hops[0]  # type: ignore[union-attr]
    return make_pair(n, answer=f"answer {n}", question=f"Opening {n} of four words: what is it?", hops=(hop,))


def test_a_small_run_loses_nothing_to_shares() -> None:
    assert run_gates([accepted(n) for n in range(10)], enable_only("overused_opening")) == [""] * 10


def test_a_passage_may_serve_five_pairs() -> None:
    hops = accepted().draft.hops  # type: ignore[union-attr]
    records = [make_pair(n, hops=hops) for n in range(7)]
    assert run_gates(records, enable_only("overused_passage")) == [""] * 5 + ["overused_passage"] * 2
    assert run_gates(records, enable_only("overused_passage", pairs_per_passage=6))[5:] == ["", "overused_passage"]


def test_a_larger_run_only_adds() -> None:
    records = [accepted(n % 60) for n in range(120)]
    assert run_gates(records)[:50] == run_gates(records[:50])


def test_pairs_of_other_seeds_do_not_crowd_on_one_document() -> None:
    def pair(n: int, documents: tuple[str, ...], home: str) -> Record:
        record = accepted(n)
        draft = record.draft
        assert draft is not None
        hops = [
            hop.model_copy(update={"passage_id": f"{d}#{n}"}) for d, hop in zip(documents, draft.hops, strict=False)
        ]
        passage = record.seed.passage.model_copy(update={"document_id": home, "id": f"{home}#0"})
        last = record.rounds[-1].model_copy(update={"draft": changed(draft, hops=tuple(hops))})
        seed = record.seed.model_copy(update={"passage": passage})
        return record.model_copy(update={"rounds": (*record.rounds[:-1], last), "seed": seed})

    gate = enable_only("overused_document")
    crowd = [pair(n, (f"d{n}", "hub"), f"d{n}") for n in range(4)]
    assert run_gates(crowd, gate) == ["", "", "overused_document", "overused_document"]
    assert run_gates([pair(n, (f"d{n}", "hub"), "hub") for n in range(4)], gate) == [""] * 4
    spread = [pair(n, (f"d{n}", f"e{n}"), f"d{n}") for n in range(27)]
    assert run_gates([*crowd[:2], *spread, *crowd[2:]], gate) == [""] * 30 + ["overused_document"]
    assert run_gates(crowd, enable_only("overused_document", documents=1.0)) == [""] * 4
