"""How many searches a question takes: with honest work, with a shortcut, and for a reward."""

from collections.abc import Iterable, Sequence

from pipeline.types.data import Data
from pipeline.types.rollout import GradedRollout


class StepCounts(Data):
    """The least numbers over the tries of one question; None if no try counts.

    More tries can only lower a minimum, so each minimum is reported with the number of its tries. A try counts if it is
    right, it saw the evidence, and it recalled nothing (`Verdict.counts`).
    """

    honest_tries: int = 0
    """Rollouts of the solver that measure the question."""
    honest_counted: int = 0
    """The number of honest tries that count."""
    adversarial_tries: int = 0
    """Rollouts of seekers, which look for shortcuts."""
    adversarial_right: int = 0
    """The number of seekers' tries that count."""
    least_steps: int | None = None
    """The fewest searches of an honest try that counts."""
    adversarial_steps: int | None = None
    """The fewest searches of any try that counts. None if no seeker's try counts: the true number is unknown then, and
    the honest one is only an upper bound."""
    adversarial_more_than: int | None = None
    """If no seeker's try counts, the fewest searches after which a seeker gave up."""
    reward_steps: int | None = None
    """The fewest searches of any right try, even without evidence: what a reward pays for."""
    least_rounds: int | None = None
    """The fewest turns with searches of any try that counts. Searches of one turn run in parallel."""
    recall_steps: int | None = None
    """The fewest searches of a right try that recalled something."""

    @classmethod
    def of(cls, honest: Sequence[GradedRollout], seekers: Sequence[GradedRollout] = ()) -> "StepCounts":
        tries = [*honest, *seekers]
        counting = [graded for graded in tries if graded.verdict.counts]
        shortcuts = [graded for graded in seekers if graded.verdict.counts]
        failures = [graded for graded in seekers if not graded.verdict.right]
        return cls(
            honest_tries=len(honest),
            honest_counted=sum(graded.verdict.counts for graded in honest),
            adversarial_tries=len(seekers),
            adversarial_right=len(shortcuts),
            least_steps=_least(graded for graded in honest if graded.verdict.counts),
            adversarial_steps=_least(counting) if shortcuts else None,
            adversarial_more_than=None if shortcuts else _least(failures),
            reward_steps=_least(graded for graded in tries if graded.verdict.right),
            least_rounds=min((graded.rollout.trajectory.rounds for graded in counting), default=None),
            recall_steps=_least(graded for graded in tries if graded.verdict.right and graded.verdict.recalled),
        )

    @property
    def difficulty(self) -> int | None:
        """Return the adversarial number, or the honest one as an upper bound if there is none."""
        return self.least_steps if self.adversarial_steps is None else self.adversarial_steps

    @property
    def described(self) -> str:
        honest = "no honest try counts"
        if self.least_steps is not None:
            honest = f"honest work takes {self.least_steps} ({self.honest_counted} of {self.honest_tries} tries count)"
        if self.adversarial_steps is not None:
            ways = f"{self.adversarial_right} of {self.adversarial_tries} seekers found a way"
            searches = "1 search" if self.adversarial_steps == 1 else f"{self.adversarial_steps} searches"
            shortest = f"The shortest way takes {searches} ({ways})"
        elif self.adversarial_more_than is not None:
            least = f"more than {self.adversarial_more_than} searches"
            shortest = f"None of {self.adversarial_tries} seekers found a way: {least}"
        elif self.adversarial_tries:
            shortest = f"All {self.adversarial_tries} seekers answered by recall or without evidence"
        else:
            shortest = "No seeker tried"
        recalled = "" if self.recall_steps is None else f"; recall takes {self.recall_steps}"
        return f"{shortest}; {honest}{recalled}."


def _least(tries: Iterable[GradedRollout]) -> int | None:
    return min((graded.verdict.steps for graded in tries), default=None)
