"""Live progress of a run, on stderr: a panel on a terminal, a plain line every few seconds elsewhere.

The time left is what the last seeds say: wanted pairs over pairs accepted per second. While too few were accepted to
say, it is "–". Nothing here may end a run: a screen that went away is ignored.
"""

import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar

from pipeline.cli.tell import Screen, table, words
from pipeline.types import Record, Seed, Status

if TYPE_CHECKING:
    from pipeline.dataset.gates import Drop
    from pipeline.run import Attempt, Run
    from pipeline.store.journal import Head

PLAIN_EVERY = 5.0
RECENT = 60
FEWEST = 3


class ProgressCounts:
    """What has happened so far. `clock` counts seconds and never goes back."""

    def __init__(self, *, pairs: int | None, seeds: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.pairs, self.seeds, self.clock = pairs, seeds, clock
        self.stage = "starting"
        self.by_status: Counter[Status] = Counter()
        self.by_target: Counter[int] = Counter()
        self.planned_by_target: Counter[int] = Counter()
        self.reasons: Counter[str] = Counter()
        self.calls = 0
        self.cost: float | None = 0.0
        """Money spent; None where no price is known. The embedded model costs nothing."""
        self.started = self.digging = clock()
        self._recent: deque[tuple[float, bool]] = deque(maxlen=RECENT)

    def add(self, record: Record, *, now: bool = True) -> None:
        """Count a finished seed; one of an earlier session (`now=False`) says nothing of this one's speed."""
        accepted = record.status is Status.ACCEPTED
        self.by_status[record.status] += 1
        self.planned_by_target[record.seed.target_steps] += 1
        self.by_target[record.seed.target_steps] += accepted
        self.reasons[record.reason] += not accepted
        self.calls += sum(usage.calls for usage in record.usage.values())
        if now:
            self._recent.append((self.clock(), accepted))

    def gated(self, target: int, reason: str) -> None:
        """An accepted seed of that target turned out to be no pair."""
        self.by_status.update({Status.ACCEPTED: -1, Status.REJECTED: 1})
        self.by_target[target] -= 1
        self.reasons[reason] += 1
        # Nor does it say how fast pairs come. Which of the accepted ones it was makes no difference to that.
        last = next((n for n, (_, accepted) in enumerate(reversed(self._recent), 1) if accepted), 0)
        if last:
            self._recent[-last] = self._recent[-last][0], False

    def pay(self, money: float | None) -> None:
        self.cost = None if self.cost is None or money is None else self.cost + money

    @property
    def done(self) -> int:
        return self.by_status.total()

    @property
    def accepted(self) -> int:
        return self.by_status[Status.ACCEPTED]

    @property
    def rate(self) -> float | None:
        return self.accepted / self.done if self.done else None

    def seconds_left(self) -> float | None:
        """By the speed of the last seeds; None where it cannot be said."""
        if self.seeds is not None:
            wanted, got = self.seeds - self.done, len(self._recent)
        else:
            wanted, got = (self.pairs or 0) - self.accepted, sum(accepted for _, accepted in self._recent)
        if wanted <= 0:
            return 0.0
        if got < FEWEST:
            return None
        since = self.digging if len(self._recent) < RECENT else self._recent[0][0]
        return wanted * (self.clock() - since) / got

    def line(self) -> str:
        """Everything in one plain line."""
        goal = f"/{self.seeds}" if self.seeds is not None else ""
        pairs = f"/{self.pairs}" if self.seeds is None else ""
        rate = "–" if self.rate is None else f"{self.rate:.0%}"
        targets = " ".join(f"{target}:{self.by_target[target]}" for target in sorted(self.planned_by_target))
        parts = [
            f"{self.done}{goal} seeds",
            f"{self.accepted}{pairs} accepted ({rate})" + (f" by steps {targets}" if targets else ""),
            f"{self.calls:,} calls, cost {'–' if self.cost is None else f'{self.cost:.2f}'}",
            f"{duration(self.clock() - self.started)} gone, {duration(self.seconds_left())} left",
        ]
        return f"{self.stage}: " + ", ".join(parts)


class Progress:
    """Shows a tally while it is entered."""

    def __init__(self, tally: ProgressCounts) -> None:
        self.tally = tally
        self._screen = Screen(error=True)
        self._said = 0.0
        self._known: set[str] = set()
        live = self._screen.is_terminal and not self._screen.is_dumb_terminal
        self._live = Live(get_renderable=self._panel, console=self._screen, refresh_per_second=4) if live else None

    def __enter__(self) -> "Progress":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.tally.stage = self.tally.stage if kind else "done"
        with suppress(OSError):
            if self._live is not None:
                self._live.stop()
            elif self.tally.done:
                self._plain()

    def stage(self, name: str) -> None:
        """A part of the work has begun."""
        changed, self.tally.stage = name != self.tally.stage, name
        if self._live is None and changed:
            self._plain()

    def started(self, run: "Run") -> None:
        """Told again by every batch; what an earlier command left counts once."""
        from pipeline.run.attempts import spent

        if not self.tally.done:
            self.tally.pay(spent(run.folder).total.money)
            self.tally.digging = self.tally.clock()
            for record in run.kept():
                self.tally.add(record, now=False)
                self._known.add(record.key)

    def record(self, record: Record) -> None:
        self.tally.add(record)
        if self._live is None and time.monotonic() - self._said >= PLAIN_EVERY:
            self._plain()

    def attempt(self, attempt: "Attempt") -> None:
        self.tally.pay(attempt.spent.total.money)

    def gated(self, head: "Head", drop: "Drop") -> None:
        # What an earlier command left was counted as the gates see it.
        if head.key not in self._known:
            self.tally.gated(head.target_steps, drop.reason)

    def trouble(self, seed: Seed, error: Exception, pause: float) -> None:
        line = f"{error}; seed {seed.key[:12]} is tried again in {pause:.0f} s"
        with suppress(OSError):
            self._screen.print(words(line, style="yellow"), soft_wrap=True)

    def _plain(self) -> None:
        self._said = time.monotonic()
        with suppress(OSError):
            self._screen.print(words(self.tally.line()), soft_wrap=True)

    def _panel(self) -> Group:
        tally = self.tally
        total = tally.seeds if tally.seeds is not None else tally.pairs
        bar = ProgressBar(total=total, completed=tally.done if tally.seeds is not None else tally.accepted, width=40)
        reasons = ", ".join(f"{reason} {count}" for reason, count in tally.reasons.most_common(4) if count)
        targets = table(
            "steps",
            "accepted",
            "seeds",
            rows=[(t, tally.by_target[t], tally.planned_by_target[t]) for t in sorted(tally.planned_by_target)],
        )
        rest = [targets] if tally.planned_by_target else []
        return Group(
            words(tally.line()),
            Padding(bar, 0),
            *rest,
            words(f"not accepted: {reasons}" if reasons else "", style="dim"),
        )


def duration(seconds: float | None) -> str:
    """`1:05`, or `–` where it is not known."""
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
