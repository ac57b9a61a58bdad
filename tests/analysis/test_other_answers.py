"""The answers that speak against a pair are found, weighed by how many gave them, and quoted."""

from pipeline.analysis.other_answers import Source, find_other_answers
from pipeline.types import Assessment, PolicyMeasurement, Probe, Record
from tests.records import accepted, draft, rollout, verdict, world


def add_probes(record: Record, *probes: Probe) -> Record:
    last = record.rounds[-1].model_copy(update={"probes": probes})
    return record.model_copy(update={"rounds": (*record.rounds[:-1], last)})


def measure_policy(record: Record, policy: str) -> Record:
    w = world(0)
    tries = [rollout(w, draft(w), sample, "wrong") for sample in range(2)]
    measurement = PolicyMeasurement(
        key=record.key,
        assessment=Assessment(
            policy=policy, model="m", retriever="lucene", k=5, rollouts=2, solve_rate=0, least_steps=None
        ),
        rollouts=tuple(tries),
        verdicts=tuple(verdict(w, attempt, draft(w)) for attempt in tries),
    )
    return record.model_copy(update={"measurements": (*record.measurements, measurement)})


def test_wrong_rollouts_of_solver_and_policies_are_counted_by_answer_with_their_quote() -> None:
    (rival,) = find_other_answers(measure_policy(accepted(0), "mine"))
    assert rival.answer == world(0).wrong
    assert rival.sources == (Source("solver", 2, 8), Source("policy mine", 2, 2))
    assert rival.weight == (2, 4)
    assert rival.quote.endswith(f"its church tower dates from {world(0).wrong}.")
    assert rival.title == world(0).town.title


def test_a_policy_among_distractors_is_meant_to_err() -> None:
    (rival,) = find_other_answers(measure_policy(accepted(0), "mine/distractors"))
    assert rival.sources == (Source("solver", 2, 8),)


def test_readers_count_if_the_judge_refused_them_and_memory_only_if_it_repeats_itself() -> None:
    record = add_probes(
        accepted(0),
        Probe(check="oracle", model="m", answers=("1555", world(0).year, f"AD {world(0).year}"), right=2),
        Probe(check="closed_book", model="m", answers=("1600", "1600", "1700"), right=0),
        Probe(check="naturalness", model="m", answers=("4",), right=1),
    )
    rivals = find_other_answers(record)
    assert [(rival.answer, rival.sources) for rival in rivals[1:]] == [
        ("1600", (Source("memory alone", 2, 3),)),
        ("1555", (Source("reader with the evidence", 1, 3),)),
    ]
    assert {rival.quote for rival in rivals[1:]} == {""}, "no rollout was shown a passage with them"


def test_a_pair_that_nobody_doubts_has_no_other_answer() -> None:
    record = accepted(0)
    right = [pair for pair in record.graded if pair.verdict.right]
    rollouts, verdicts = zip(*right, strict=True)
    last = record.rounds[-1].model_copy(update={"rollouts": (), "verdicts": ()})
    agreed = record.model_copy(update={"rounds": (last,), "confirmation": rollouts, "confirmation_verdicts": verdicts})
    assert find_other_answers(agreed) == []
