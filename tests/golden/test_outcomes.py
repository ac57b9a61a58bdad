"""A scripted run through every outcome: each seed ends as its case says, and the bytes are the frozen ones."""

from itertools import chain
from pathlib import Path

import pytest

from pipeline.config import RunConfig
from pipeline.run import publish
from pipeline.types import Cause, Record, Status, Stop, Trajectory
from tests.golden import frozen, outcomes
from tests.golden.cases import RUNS

REASONS = {
    *(
        "",
        "relaxed",
        "no_draft",
        "no_draft:format_errors",
        "no_draft:no_proposal",
        "beyond_solver",
        "below_range",
        "below_target",
        "recalled",
        "outside_band",
        "unconfirmed",
        "deadline",
        "no_verdict",
    )
}
Played = dict[str, tuple[Path, RunConfig]]


@pytest.fixture(scope="module")
def play_all(tmp_path_factory) -> Played:
    return {name: outcomes.play(*run, tmp_path_factory.mktemp(name)) for name, run in RUNS.items()}


def read_outcomes(play_all: Played, name: str) -> dict[str, Record]:
    return {outcomes.name(record.seed.passage.id): record for record in publish.RunRecords(*play_all[name])}


@pytest.mark.parametrize("name", RUNS)
def test_every_seed_ends_as_its_case_says(play_all, name) -> None:
    records = read_outcomes(play_all, name)
    expected = {seed: (case.ends, case.causes) for seed, case in RUNS[name][0].items()}
    assert {seed: ((r.status.value, r.reason), causes(r)) for seed, r in records.items()} == expected


def causes(record: Record) -> tuple[str, ...]:
    return tuple(past.feedback.cause.value for past in record.rounds if past.feedback)


def test_no_outcome_is_left_out(play_all) -> None:
    records = list(chain.from_iterable(read_outcomes(play_all, name).values() for name in RUNS))
    assert {record.status for record in records} == set(Status)
    assert {record.reason for record in records} == REASONS | {cause.value for cause in Cause}
    assert {cause for record in records for cause in causes(record)} == {cause.value for cause in Cause}
    assert {trajectory.stop for record in records for trajectory in trajectories(record)} == set(Stop) - {
        Stop.UNGROUNDED
    }


def trajectories(record: Record) -> list[Trajectory]:
    rollouts = [*record.confirmation, *(rollout for past in record.rounds for rollout in past.rollouts)]
    return [past.agent for past in record.rounds] + [rollout.trajectory for rollout in rollouts]


@pytest.mark.parametrize("name", RUNS)
def test_the_bytes_are_the_frozen_ones(play_all, name) -> None:
    frozen.check(name, frozen.build_texts(*play_all[name]))
