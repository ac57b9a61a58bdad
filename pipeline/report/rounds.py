"""What became of the drafts, round by round, and what the controls say of the checks that sent drafts back."""

from collections import Counter, defaultdict

from pipeline import assess
from pipeline.report.figures import Controls, Share, Stage
from pipeline.types import Draft, Label, Record, Round, correct


class Rounds:
    """Counts one record at a time."""

    def __init__(self) -> None:
        self._became: dict[int, Counter[str]] = defaultdict(Counter)
        self._steps: dict[int, list[int]] = defaultdict(list)
        self._controls: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        for past in record.rounds:
            counts = self._became[past.index]
            if past.draft is None:
                counts["none"] += 1
                continue
            counts["drafts"] += 1
            counts[_became(past, record)] += 1
            if steps := [verdict.steps for verdict in correct(past.verdicts)]:
                self._steps[past.index].append(min(steps))
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

    def rows(self) -> tuple[Stage, ...]:
        """By round."""
        return tuple(self._row(index) for index in sorted(self._became))

    def _row(self, index: int) -> Stage:
        counts, steps = self._became[index], self._steps[index]
        return Stage(
            index=index,
            drafts=counts["drafts"],
            none=counts["none"],
            unsound=counts[Label.UNSOUND],
            too_easy=counts[Label.TOO_EASY],
            unsolved=counts[Label.UNSOLVED],
            candidates=counts[Label.CANDIDATE],
            accepted=counts["accepted"],
            mean_steps=sum(steps) / len(steps) if steps else None,
        )

    def controls(self) -> Controls:
        counts = self._controls
        return Controls(
            false_alarms=Share(part=counts["false_alarms"], whole=counts["alarms"]),
            early_stop=Share(part=counts["changed"], whole=counts["cut"]),
            rollouts_saved=counts["saved"] / counts["cut"] if counts["cut"] else None,
        )


def _became(past: Round, record: Record) -> str:
    # Preset sage relaxes its last round: there a draft may be accepted although it was found too easy.
    if past is record.rounds[-1] and record.confirmed:
        return "accepted"
    return past.feedback.label if past.feedback else Label.CANDIDATE
