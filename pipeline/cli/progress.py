"""Progress of a run on stderr: a live panel on a terminal, a plain line every few seconds elsewhere.

The remaining time follows from how fast pairs were accepted in the last minutes; it is "–" until three were. Nothing
here may end a run: a terminal that has gone away is ignored.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

import rich.progress
from rich.console import RenderableType

from pipeline.cli.console import PlainConsole, text
from pipeline.types import Record, Seed, Status

if TYPE_CHECKING:
    from pipeline.dataset.gates import Drop
    from pipeline.run import Attempt, Run
    from pipeline.store.journal import Head

PLAIN_EVERY = 5.0
SPEED_SECONDS = 600.0
FEWEST = 3


class Progress(rich.progress.Progress):
    """Watches a run and shows its progress while it is entered. With `seeds` the run ends after so many seeds, else
    with `pairs` accepted pairs. `clock` counts seconds and never goes back."""

    def __init__(
        self, *, pairs: int | None, seeds: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.pairs, self.seeds = pairs, seeds
        self._stage = "starting"
        self._by_status: Counter[Status] = Counter()
        self._accepted_by_target: Counter[int] = Counter()
        self._reasons: Counter[str] = Counter()
        self._calls = 0
        self._cost: float | None = 0.0
        self._earlier: set[str] = set()
        self._earlier_accepted = 0
        self._printed = 0.0
        screen = PlainConsole(error=True)
        super().__init__(
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            console=screen,
            refresh_per_second=4,
            speed_estimate_period=SPEED_SECONDS,
            get_time=clock,
            disable=not screen.is_terminal or screen.is_dumb_terminal,
        )
        self._bar = self.add_task("", total=pairs if seeds is None else seeds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stage = self._stage if kind else "done"
        with suppress(OSError):
            if not self.disable:
                self.stop()
            elif self.done:
                self._print_line()

    @property
    def done(self) -> int:
        return self._by_status.total()

    @property
    def accepted(self) -> int:
        return self._by_status[Status.ACCEPTED]

    def seconds_left(self) -> float | None:
        """None while it cannot be estimated."""
        (task,) = self.tasks
        if task.remaining is not None and task.remaining <= 0:
            return 0.0
        new = self.accepted - self._earlier_accepted if self.seeds is None else self.done - len(self._earlier)
        return task.remaining / task.speed if new >= FEWEST and task.remaining and task.speed else None

    def line(self) -> str:
        """Everything in one plain line."""
        seeds = f"/{self.seeds}" if self.seeds is not None else ""
        pairs = f"/{self.pairs}" if self.seeds is None else ""
        rate = f"{self.accepted / self.done:.0%}" if self.done else "–"
        targets = " ".join(f"{target}:{count}" for target, count in sorted(self._accepted_by_target.items()))
        parts = [
            f"{self.done}{seeds} seeds",
            f"{self.accepted}{pairs} accepted ({rate})" + (f" by steps {targets}" if targets else ""),
            f"{self._calls:,} calls, cost {'–' if self._cost is None else f'{self._cost:.2f}'}",
            f"elapsed {duration(self.tasks[0].elapsed)}, ETA {duration(self.seconds_left())}",
        ]
        return f"{self._stage}: " + ", ".join(parts)

    def get_renderables(self) -> Iterator[RenderableType]:
        if not self.tasks:  # while it is being made
            return
        yield text(self.line())
        yield self.make_tasks_table(self.tasks)
        reasons = ", ".join(f"{reason} {count}" for reason, count in self._reasons.most_common(4) if count)
        yield text(f"not accepted: {reasons}" if reasons else "", style="dim")

    def stage(self, name: str) -> None:
        changed, self._stage = name != self._stage, name
        if changed:
            self._print_line()

    def started(self, run: "Run") -> None:
        """Called again for every batch; what earlier commands did counts once, and says nothing of this one's speed."""
        from pipeline.run.attempts import spent

        if not self.done:
            self._pay(spent(run.folder).total.money)
            for record in run.kept():
                self._count(record)
                self._earlier.add(record.key)
            self._earlier_accepted = self.accepted
            self.update(self._bar, completed=self.accepted if self.seeds is None else self.done)

    def record(self, record: Record) -> None:
        self._count(record)
        self.advance(self._bar, self.seeds is not None or record.status is Status.ACCEPTED)
        if time.monotonic() - self._printed >= PLAIN_EVERY:
            self._print_line()

    def attempt(self, attempt: "Attempt") -> None:
        self._pay(attempt.spent.total.money)

    def gated(self, head: "Head", drop: "Drop") -> None:
        """An accepted seed turned out to be no pair. Those of earlier commands were counted as the gates see them."""
        if head.key not in self._earlier:
            self._by_status.update({Status.ACCEPTED: -1, Status.REJECTED: 1})
            self._accepted_by_target[head.target_steps] -= 1
            self._reasons[drop.reason] += 1
            if self.seeds is None:
                self.advance(self._bar, -1)

    def trouble(self, seed: Seed, error: Exception, pause: float) -> None:
        line = f"{error}; seed {seed.key[:12]} is tried again in {pause:.0f} s"
        with suppress(OSError):
            self.console.print(text(line, style="yellow"), soft_wrap=True)

    def _count(self, record: Record) -> None:
        accepted = record.status is Status.ACCEPTED
        self._by_status[record.status] += 1
        self._accepted_by_target[record.seed.target_steps] += accepted
        self._reasons[record.reason] += not accepted
        self._calls += sum(usage.calls for usage in record.usage.values())

    def _pay(self, money: float | None) -> None:
        """None where no price is known; the demo model costs nothing."""
        self._cost = None if self._cost is None or money is None else self._cost + money

    def _print_line(self) -> None:
        self._printed = time.monotonic()
        if self.disable:
            with suppress(OSError):
                self.console.print(text(self.line()), soft_wrap=True)


def duration(seconds: float | None) -> str:
    """`1:05`, or `–` where it is not known."""
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
