"""What became of the drafts, round by round, and what the controls say of the checks that sent drafts back."""

from collections import Counter, defaultdict

from pipeline.dataset.figures import Controls, Share
from pipeline.loop import assess
from pipeline.types import Draft, Label, Record, Round, correct


class Stage:
    """All drafts of one round."""

    def __init__(self) -> None:
        self.became: Counter[str] = Counter()
        """How many got which label, or were `accepted` (those that a gate dropped afterwards too), or are `none`:
        nothing usable was proposed. A `candidate` is hard enough, but fresh rollouts did not confirm it."""
        self.steps: list[int] = []
        """Of each draft that was solved, the least of its correct rollouts."""

    @property
    def mean_steps(self) -> float | None:
        return sum(self.steps) / len(self.steps) if self.steps else None


class Rounds:
    """Counts one record at a time."""

    def __init__(self) -> None:
        self.stages: dict[int, Stage] = defaultdict(Stage)
        self._controls: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        for past in record.rounds:
            stage = self.stages[past.index]
            stage.became[_became(past, record)] += 1
            if past.draft is None:
                continue
            if steps := [verdict.steps for verdict in correct(past.verdicts)]:
                stage.steps.append(min(steps))
            if past.control:
                self._control(past, past.draft, record.seed.target_steps)

    def _control(self, past: Round, draft: Draft, target: int) -> None:
        counts, tried = self._controls, list(zip(past.rollouts, past.verdicts, strict=True))
        if past.unsound:
            counts["alarms"] += 1
            counts["false_alarms"] += assess.feedback(draft, tried, target=target) is None
        else:
            early, late = (assess.feedback(draft, tried[:n], target=target) for n in (past.decided, len(tried)))
            counts["cut"] += 1
            counts["saved"] += len(tried) - past.decided
            counts["changed"] += (early and early.cause) != (late and late.cause)

    def controls(self) -> Controls:
        counts = self._controls
        return Controls(
            false_alarms=Share(part=counts["false_alarms"], whole=counts["alarms"]),
            early_stop=Share(part=counts["changed"], whole=counts["cut"]),
            rollouts_saved=counts["saved"] / counts["cut"] if counts["cut"] else None,
        )


def _became(past: Round, record: Record) -> str:
    if past.draft is None:
        return "none"
    # Preset sage relaxes its last round: there a draft may be accepted although it was found too easy.
    if past is record.rounds[-1] and record.confirmed:
        return "accepted"
    return past.feedback.label if past.feedback else Label.CANDIDATE
