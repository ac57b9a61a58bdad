"""Counts of the questions for reinforcement learning: solved by some, all or none of their rollouts."""

from collections import Counter

from pipeline.config.exports import GateConfig
from pipeline.exports.trajectories.strict_calls import fail_repaired_rollouts
from pipeline.exports.views.base import is_yes_no
from pipeline.types import Data, Record

BAND_COMMAND = "digsite generate CORPUS --for NAME --solve-rate 0.2-0.8"


class RewardQuestions(Data):
    """Numbers of exported questions, by how many of their rollouts solved them, graded as in `rl_*` views."""

    policy: str = ""
    """The policy whose rollouts count; empty: the run's own solver."""
    has_band: bool = False
    """Whether `gates.solve_rate` selects the questions."""
    some: int = 0
    every: int = 0
    none: int = 0
    unmeasured: int = 0
    yes_no: int = 0
    """Yes-or-no questions, which are left out however often they were solved."""

    def describe(self) -> str:
        groups = self._groups()
        included = [(count, text) for count, text, is_taken in groups if is_taken]
        left_out = [(count, text) for count, text, is_taken in groups if count and not is_taken]
        total = sum(count for count, _ in included)
        line = f"{total:,} question{'s' if total != 1 else ''}: {_join(included)}"
        if left_out:
            line += f"; left out: {_join(left_out)}"
        return line if self.policy or self.has_band else f"{line}; for a band: {BAND_COMMAND}"

    def describe_lack(self) -> str:
        """Say why no `rl_*` view has a row, and which command makes pairs for them."""
        groups = self._groups()
        causes = [(count, text) for count, text, is_taken in groups if count and not is_taken]
        if unscored := sum(count for count, _, is_taken in groups if is_taken):
            causes.append((unscored, "whose solved rollouts the reward does not accept"))
        return f"{_join(causes) or 'no pair'}; for RL: {BAND_COMMAND}"

    def _groups(self) -> list[tuple[int, str, bool]]:
        """Return each number of questions with its meaning, and whether `rl_*` views take them."""
        whose = f" of {self.policy}" if self.policy else ""
        return [
            (self.some, f"that some rollouts{whose} solved and some did not", True),
            (self.every, "that all solved", not self.policy or self.has_band),
            (self.none, "that none solved", False),
            (self.unmeasured, "not measured (digsite remeasure)", False),
            (self.yes_no, "of yes or no (gates.rl_yes_no=true takes them)", False),
        ]


def _join(groups: list[tuple[int, str]]) -> str:
    return ", ".join(f"{count:,} {text}" for count, text in groups)


class RewardCounter:
    """Grades the records of an export for `rl_*` views, and counts them."""

    def __init__(self, gates: GateConfig) -> None:
        self.gates, self._counts = gates, Counter[str]()

    def grade(self, record: Record) -> Record:
        if self.gates.strict_calls:
            record = fail_repaired_rollouts(record)
        self._counts[self._group(record)] += 1
        return record

    def _group(self, record: Record) -> str:
        if is_yes_no(record) and not self.gates.rl_yes_no:
            return "yes_no"
        rate = record.hardness_for(self.gates.policy)[1]
        return "unmeasured" if rate is None else {0.0: "none", 1.0: "every"}.get(rate, "some")

    def total(self) -> RewardQuestions:
        return RewardQuestions(policy=self.gates.policy, has_band=self.gates.has_band, **self._counts)
