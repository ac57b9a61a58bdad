"""How many searches a question takes: honest work, a shortcut, and whatever a reward pays for."""

from collections.abc import Iterable, Sequence

from pipeline.types.data import Data
from pipeline.types.rollout import GradedRollout


class StepCounts(Data):
    """The least numbers over the tries of one question; None where no try counts.

    More tries can only lower a minimum, so that each is told with the number of its tries. A try counts if it is right,
    its evidence was shown, and nothing was recalled (`Verdict.counts`).
    """

    honest_tries: int = 0
    """Rollouts of the solver that measure the question."""
    honest_counted: int = 0
    """Of them, those that count."""
    adversarial_tries: int = 0
    """Rollouts of seekers, who look for shortcuts."""
    adversarial_right: int = 0
    """Of them, those that count."""
    least_steps: int | None = None
    """Searches, over the honest tries that count."""
    adversarial_steps: int | None = None
    """Searches, over all tries that count. None where no seeker's does: the true number is not known then, and the
    honest one is only an upper bound."""
    adversarial_more_than: int | None = None
    """Where no seeker's try counts: the fewest searches after which one gave up."""
    reward_steps: int | None = None
    """Searches, over all right tries, whether or not their evidence was shown: what a reward pays for."""
    least_rounds: int | None = None
    """Turns with searches, over all tries that count. Searches of one turn run in parallel."""
    recall_steps: int | None = None
    """Searches, over the right tries that recalled something: what memory makes of the question."""

    @classmethod
    def of(cls, honest: Sequence[GradedRollout], seekers: Sequence[GradedRollout] = ()) -> "StepCounts":
        """Count the steps of these tries."""
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
    def is_censored(self) -> bool:
        """Return whether every seeker failed, so that the adversarial number is not known."""
        return self.adversarial_tries > 0 and self.adversarial_steps is None

    @property
    def described(self) -> str:
        """Tell the numbers in one sentence, each with its tries."""
        honest = "no honest try counts"
        if self.least_steps is not None:
            honest = f"honest work takes {self.least_steps} ({self.honest_counted} of {self.honest_tries} tries count)"
        if self.adversarial_steps is not None:
            ways = f"{self.adversarial_right} of {self.adversarial_tries} seekers found a way"
            shortest = f"The shortest way takes {self.adversarial_steps} searches ({ways})"
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
