"""Records whose rollouts have given styles, and their rows in a view."""

from collections.abc import Sequence
from typing import Any

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.types import Record
from tests.records import Style, accepted, confirmed, draft, round_, world

ENVIRONMENT = environment(RunConfig())
W = world(1)


def make_record(*styles: Style, in_round: Sequence[Style] = ()) -> Record:
    """Make an accepted record with these rollouts in its confirmation, and others in its only round."""
    return confirmed(accepted(1).model_copy(update={"rounds": (round_(W, draft(W), 0, in_round),)}), W, styles)


def make_uniform_record(*styles: Style) -> Record:
    """Make an accepted record with these rollouts both in its round and in its confirmation."""
    return make_record(*styles, in_round=styles)


def make_rows(view: Any, record: Record) -> list[dict[str, Any]]:
    return list(view.rows(record, ENVIRONMENT))
