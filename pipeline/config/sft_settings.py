"""The settings of which rollouts are trained on, and with how much of their reasoning."""

from typing import Literal

from pydantic import Field, model_validator

from pipeline.types import Data


class SftConfig(Data):
    """`[sft]`: like `[gates]`, it never changes the journal and is not part of the run's digest. Even without filters,
    a rollout must be correct, end by itself, and have no repeated or unreadable call."""

    source: tuple[Literal["solver", "teacher", "policy"], ...] = Field(("solver", "teacher"), min_length=1)
    """Agents whose rollouts become rows. `policy` is the model in training that `--for` names."""
    per_pair: int | None = Field(None, ge=1)
    """Largest number of rollouts of one agent for one pair. If left out, one of the solver, one of the policy, and all
    kept ones of the teacher."""
    select: Literal["shortest", "longest", "random", "diverse", "all"] = "shortest"
    """Which rollouts of a pair come first. `shortest`: those with the fewest steps. `longest`: those with the most.
    `random`: in the order of a hash. `diverse`: the shortest, then always the one whose calls differ most from those of
    the earlier ones. `all`: every one, the shortest first."""
    min_steps: int = Field(0, ge=0)
    """Only take rollouts with at least this many steps."""
    every_hop: bool = False
    """Only take rollouts that saw the evidence of every hop."""
    unguessed: bool = False
    """Only take rollouts that never searched for the answer of a hop before they had seen it."""
    max_tokens: int | None = Field(None, ge=1)
    """Only take rollouts with at most this many tokens, as estimated in the column `tokens`."""
    thinking: Literal["all", "last", "none"] = "all"
    """Reasoning in the views that train on turns. `all`: every turn has its reasoning and the context in which it was
    sampled; if the model did not get its reasoning back, a trajectory becomes one row per turn. `last`: a row only has
    the reasoning of its last turn. `none`: rows have no reasoning."""

    @model_validator(mode="after")
    def _check_select(self) -> "SftConfig":
        if self.select == "all" and self.per_pair is not None:
            raise ValueError("select = all takes every rollout: leave per_pair out")
        return self
