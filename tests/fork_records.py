"""Forks of the records of `tests/records.py`, written by hand so that their consequences are known."""

from collections.abc import Sequence
from typing import Literal

from pipeline.types import Branch, Fork, Record, Rollout
from tests import records
from tests.records import Style, World


def fork(record: Record, w: World, state: tuple[int, int], styles: Sequence[Style], **more: object) -> Fork:
    """From that state (source, prefix) on, rollouts of these styles. `more`: method, or styles of the controls."""
    controls = more.get("controls", ())
    assert isinstance(controls, Sequence)
    return Fork(
        key=record.key, method=str(more.get("method", "cso")), source=state[0], prefix=state[1],
        branches=tuple(_branch(record, w, state, n, style) for n, style in enumerate(styles)),
        controls=tuple(_branch(record, w, state, n, style) for n, style in enumerate(controls)),
    )  # fmt: skip


def _branch(record: Record, w: World, state: tuple[int, int], n: int, style: Style) -> Branch:
    """The source's messages up to the state, then those of the style."""
    assert record.draft
    made = records.rollout(w, record.draft, 8 + n, style)
    source = _source(record, state[0])
    before, after = source.trajectory, made.trajectory
    spliced = made.trajectory.model_copy(
        update={"messages": (*before.messages[: state[1]], *after.messages[state[1] :])}
    )
    made = made.model_copy(update={"trajectory": spliced})
    return Branch(rollout=made, verdict=records.verdict(w, made, record.draft))


def _source(record: Record, sample: int) -> Rollout:
    assert record.last
    return next(r for r in (*record.last.rollouts, *record.confirmation) if r.sample == sample)


def branched(n: int = 1, model: str = "embedded", side: Literal["train", "eval"] = "train") -> Record:
    """An accepted record with forks of all methods: its rollout 1 failed, 0 is its best."""
    w, record = records.world(n), records.accepted(n, side=side, model=model)
    made = [
        fork(record, w, (1, 6), ["right", "right", "wrong"], controls=["wrong", "wrong", "wrong"]),
        fork(record, w, (1, 2), ["right", "wrong"], method="eef"),
        fork(record, w, (1, 4), ["right", "right"], method="eef"),
        fork(record, w, (1, 6), ["right", "wrong"], method="eef"),
        fork(record, w, (1, 8), ["wrong", "wrong"], method="eef"),
        fork(record, w, (0, 2), ["right", "wrong", "right", "wrong"], method="pivot"),
        fork(record, w, (0, 6), ["right", "wrong", "wrong", "wrong"], method="pivot"),
    ]
    return record.model_copy(update={"forks": tuple(made)})
