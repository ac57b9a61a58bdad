"""What an accepted pair must pass to count."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from pipeline.types import Data

Ratio = Annotated[float, Field(ge=0, le=1)]


class GateConfig(Data):
    """`[gates]`: what an accepted pair must pass to count. Nothing of it changes the journal or is digested."""

    policy: str = ""
    """Name of the policy whose measurements gates, `rl_*` views, card and report use; empty: the run's own solver.
    `--for` sets it."""
    strict_calls: bool = False
    """Whether in `rl_*` views a rollout counts as unsolved where one of its calls had to be repaired: trainers with
    strict parsers, such as Search-R1 and verl, would not have carried that call out."""
    rl_yes_no: bool = False
    """Whether `rl_*` views take questions of yes or no, of which a guess answers half."""
    off: tuple[str, ...] = ()
    """Names of gates that are turned off."""
    answers: Ratio = 0.01
    """Greatest share of the pairs with the same answer; the first pair always passes."""
    documents: Ratio = 0.10
    """Greatest share of the pairs that use the same document as evidence, apart from pairs whose seed lies in it; two
    pairs may use it whatever their share is."""
    openings: Ratio = 0.10
    """Greatest share of the pairs whose questions begin with the same four words."""
    least: int = Field(10, ge=1)
    """This many pairs may share an opening or a quota whatever their share is, so that small runs keep
    their pairs."""
    pairs_per_passage: int = Field(5, ge=1)
    """Most pairs that use the same passage as evidence."""
    solve_rate: tuple[Ratio, Ratio] = (0.0, 1.0)
    """Least and greatest solve rate of a pair, both included, for `policy` or the run's own solver."""
    known_to: Ratio = 0.5
    """Greatest share of the tries in which `policy` answers from memory. What other models know drops no pair."""
    naturalness: int = Field(0, ge=0, le=5)
    """Least grade of the wording, from 1 to 5; a question without a grade passes."""
    quotas: dict[str, dict[str, Ratio]] = Field(default_factory=dict)
    """Greatest share of the pairs by trait (target, difficulty, steps, operation, band, answer_type, reasoning, hops,
    strategy, language, domain) and value, such as `{hops = {2 = 0.5}}`; `*` stands for any other value."""
    against: tuple[Path, ...] = ()
    """Files of benchmark questions that no pair may resemble, in addition to the shipped ones."""

    @field_validator("solve_rate")
    @classmethod
    def _ordered(cls, window: tuple[float, float]) -> tuple[float, float]:
        if window[0] > window[1]:
            raise ValueError(f"the range [{window[0]}, {window[1]}] is empty: give the smaller number first")
        return window

    @property
    def has_band(self) -> bool:
        """Whether the solve rate decides which pairs count."""
        return self.solve_rate != (0.0, 1.0) and "solve_rate" not in self.off

    @property
    def banded_policy(self) -> str:
        """The policy whose solve rate decides; empty where any rate passes, or the solver's decides."""
        return self.policy if self.has_band else ""

    def shown(self) -> dict[str, Any]:
        """For a card: lists by name, since where they lie is nobody's business."""
        return {**self.model_dump(mode="json"), "against": [path.name for path in self.against]}
