"""Which of the rollouts that were paid for are trained on, and how much of what they thought."""

from typing import Literal

from pydantic import Field, model_validator

from pipeline.types import Data


class SftConfig(Data):
    """`[sft]`: as `[gates]`, nothing of it changes the journal or is digested. Without any filter too, a rollout is
    correct, ended on its own and neither repeated a call nor made one that could not be read."""

    source: tuple[Literal["solver", "teacher", "policy"], ...] = Field(("solver", "teacher"), min_length=1)
    """Agents whose rollouts become rows; `policy` is the model to be trained that `--for` names."""
    per_pair: int | None = Field(None, ge=1)
    """Most rollouts of one agent for one pair; left out, one of the solver, one of the policy, and all kept ones of
    the teacher."""
    select: Literal["shortest", "longest", "random", "diverse", "all"] = "shortest"
    """Order of the rollouts of a pair: `shortest`: fewest steps first; `longest`: most steps first; `random`: by a
    hash; `diverse`: the shortest, then each time the one whose calls differ most from those before it; `all`: every
    one, the shortest first."""
    min_steps: int = Field(0, ge=0)
    """Take only rollouts of at least this many steps."""
    every_hop: bool = False
    """Take only rollouts that saw the evidence of every hop."""
    unguessed: bool = False
    """Take only rollouts that never searched for a hop's answer before they had seen it."""
    max_tokens: int | None = Field(None, ge=1)
    """Take only rollouts of at most this many tokens, by the estimate in the column `tokens`."""
    thinking: Literal["all", "last", "none"] = "all"
    """Reasoning in the views that train on turns. `all`: every turn is learnt with its reasoning and in the context
    in which it was sampled; where reasoning was not sent back, a trajectory becomes one row per turn. `last`: a row
    holds the reasoning of its last turn only. `none`: no row holds any."""

    @model_validator(mode="after")
    def _all_or_some(self) -> "SftConfig":
        if self.select == "all" and self.per_pair is not None:
            raise ValueError("select = all takes every rollout: leave per_pair out")
        return self
