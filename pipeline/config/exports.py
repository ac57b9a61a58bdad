"""The settings of which accepted pairs count, and which of their rollouts are trained on."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from pipeline.types import Data

Ratio = Annotated[float, Field(ge=0, le=1)]
Include = Literal["below_target", "below_range", "beyond_solver"]
"""Reasons of rejected pairs that a data set may hold: pairs that were solved below their target, and pairs that only a
solver of `digsite remeasure` solved."""


class RefreshConfig(Data):
    """`[refresh]`: what a run takes over from the version before, if the documents changed. Not part of the digest."""

    solve_again: Ratio = 0.05
    """Share of the carried pairs that the solver tries again on the new index. Those that no longer hold are dropped,
    and the card says how many held."""


class GateConfig(Data):
    """`[gates]`: what an accepted pair must pass to count.

    Gates never change the journal and are not part of the run's digest.
    """

    policy: str = ""
    """Name of the policy whose measurements are used by gates, `rl_*` views, card and report. `--for` sets it. If
    empty, the run's own solver."""
    strict_calls: bool = False
    """Whether `rl_*` views count a rollout as unsolved if one of its tool calls had to be repaired. Trainers with
    strict parsers, such as Search-R1 and verl, would not have run that call."""
    rl_yes_no: bool = False
    """Whether `rl_*` views include yes-or-no questions, half of which a guess answers."""
    include: tuple[Include, ...] = ()
    """Reasons of rejected pairs that the data set holds too: `below_target`, `below_range`, and `beyond_solver`, which
    only a solver of `digsite remeasure` solved. `digsite export --include` sets it."""
    off: tuple[str, ...] = ()
    """Names of gates that are turned off."""
    answers: Ratio = 0.01
    """Largest share of the pairs with the same answer. Two pairs may always have the same answer."""
    documents: Ratio = 0.10
    """Largest share of the pairs that use the same document as evidence, not counting pairs whose seed is in that
    document. Two pairs may always use the same document."""
    openings: Ratio = 0.10
    """Largest share of the pairs whose questions begin with the same four words."""
    least: int = Field(10, ge=1)
    """This many pairs may always share an opening or a quota, so that small runs keep their pairs."""
    pairs_per_passage: int = Field(5, ge=1)
    """Largest number of pairs that use the same passage as evidence."""
    solve_rate: tuple[Ratio, Ratio] = (0.0, 1.0)
    """Lowest and highest solve rate of a pair, both included, for `policy` or the run's own solver."""
    known_to: Ratio = 0.5
    """Drop a pair if `policy` answers it from memory in more than this share of the attempts. The memory of other
    models does not matter."""
    naturalness: int = Field(0, ge=0, le=5)
    """Lowest grade of a question's wording, from 1 to 5. A question without a grade passes."""
    quotas: dict[str, dict[str, Ratio]] = Field(default_factory=dict)
    """Largest share of the pairs with a value of a trait, such as `{hops = {2 = 0.5}}`; `*` means any other value.
    Traits: target, difficulty, steps, operation, band, answer_type, reasoning, hops, strategy, language, domain."""
    against: tuple[Path, ...] = ()
    """Files of benchmark questions that no pair may resemble, in addition to those that come with Digsite."""

    @field_validator("solve_rate")
    @classmethod
    def _check_order(cls, window: tuple[float, float]) -> tuple[float, float]:
        if window[0] > window[1]:
            raise ValueError(f"the range [{window[0]}, {window[1]}] is empty: give the smaller number first")
        return window

    @property
    def has_band(self) -> bool:
        return self.solve_rate != (0.0, 1.0) and "solve_rate" not in self.off

    @property
    def banded_policy(self) -> str:
        """Return the policy whose solve rate can drop a pair; empty if it is the solver's, or if every rate passes."""
        return self.policy if self.has_band else ""

    def public_settings(self) -> dict[str, Any]:
        """Return the settings for a card, without the folders of the user's files."""
        return {**self.model_dump(mode="json"), "against": [path.name for path in self.against]}


class SftConfig(Data):
    """`[sft]`: like `[gates]`, it never changes the journal and is not part of the run's digest.

    Even without filters, a rollout must be correct, end by itself, and have no repeated or unreadable call.
    """

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
    """Reasoning in the views that train on turns. `all`: every turn has its reasoning; if the model did not get its
    reasoning back, a trajectory becomes one row per turn. `last`: only the last turn has it. `none`: no turn has it."""

    @model_validator(mode="after")
    def _check_select(self) -> "SftConfig":
        if self.select == "all" and self.per_pair is not None:
            raise ValueError("select = all takes every rollout: leave per_pair out")
        return self
