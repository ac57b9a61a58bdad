"""Progress of a run on stderr: one live line on a terminal, otherwise a plain line now and then.

The remaining time is estimated from the rate of accepted pairs in the last minutes. It is "–" until there are three
pairs, then a range that narrows with their number. No error here may end a run: a closed terminal is ignored.
"""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import rich.progress
from rich.console import RenderableType

from pipeline.analysis.estimates import compact
from pipeline.cli.console import PlainConsole, text
from pipeline.gates import Drop
from pipeline.llm.ledger import Spent
from pipeline.run import Attempt, RunView
from pipeline.run.attempts import total_spending
from pipeline.run.plan import bounds
from pipeline.store.journal import Head
from pipeline.types import Record, Seed, Status, Usage

PLAIN_EVERY, PLAIN_SHARE = 5.0, 0.02
"""Least time between two plain lines: in seconds, and as a share of the elapsed time, so that long logs stay short."""
COMPLAIN_EVERY = 60.0
"""Seconds before the same trouble is printed again, however many seeds meet it."""
SPEED_SECONDS = 600.0
FEWEST = 3
FIRST_LOOK = 20
"""Number of seeds after which the yield of each aim is printed."""
_Z = 1.96


class Progress(rich.progress.Progress):
    """A progress display and its context manager, which receives the callbacks of a run.

    The run ends after `seeds` seeds if that is set, else with `pairs` accepted pairs. `clock` is monotonic.
    """

    def __init__(
        self, *, pairs: int | None, seeds: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.pairs, self.seeds = pairs, seeds
        self._stage = "starting"
        self._by_status: Counter[Status] = Counter()
        self._accepted_by_steps: Counter[int] = Counter()
        self._steps: dict[str, int] = {}
        self._by_aim: dict[int, Counter[Status]] = defaultdict(Counter)
        self._computed = 0
        self._reasons: Counter[str] = Counter()
        self._tokens = 0
        self._cost: float | None = 0.0
        self._printed_troubles: dict[str, float] = {}
        self._earlier: set[str] = set()
        self._earlier_accepted = 0
        self._printed = 0.0
        screen = PlainConsole(error=True)
        super().__init__(
            console=screen,
            refresh_per_second=4,
            speed_estimate_period=SPEED_SECONDS,
            get_time=clock,
            disable=not screen.is_terminal or screen.is_dumb_terminal,
        )
        self._bar = self.add_task("", total=pairs if seeds is None else seeds)

    def __exit__(self, kind: Any, *_: object) -> None:
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

    @property
    def _new(self) -> int:
        """Return what this command has added towards the end of the run: accepted pairs, or seeds."""
        return self.accepted - self._earlier_accepted if self.seeds is None else self.done - len(self._earlier)

    def seconds_left(self) -> float | None:
        """Return the estimate, or None if it is too early for one."""
        (task,) = self.tasks
        if task.remaining is not None and task.remaining <= 0:
            return 0.0
        return task.remaining / task.speed if self._new >= FEWEST and task.remaining and task.speed else None

    def range_left(self) -> tuple[float, float] | None:
        """Return the 95 % range of the seconds left if events come independently, or None if it is too early."""
        seconds, (task,) = self.seconds_left(), self.tasks
        if not seconds:
            return None if seconds is None else (0.0, 0.0)
        spread = math.exp(_Z * math.sqrt(1 / self._new + 1 / max(1.0, task.remaining or 0)))
        return seconds / spread, seconds * spread

    def line(self) -> str:
        steps = " ".join(f"{steps}:{count:,}" for steps, count in sorted(self._accepted_by_steps.items()) if count)
        by_steps = f" by steps {steps}" if steps else ""
        return f"{self._stage}: {self._yield()}{by_steps}, {self._tokens_and_cost()}, {self._clock()}"

    def live_line(self, width: int) -> str:
        """Return the longest form of the line that fits; the longest one says why seeds were not accepted."""
        why = ", ".join(f"{reason} {count:,}" for reason, count in self._reasons.most_common(3) if count)
        short = f"{self._yield()}, {self._tokens_and_cost()}, {self._clock()}"
        lines = [self.line() + (f"; not accepted: {why}" if why else ""), self.line(), f"{self._stage}: {short}"]
        shortest = short.replace(" seeds", "").replace("cost ", "").replace("elapsed ", "")
        return next((line for line in lines if len(line) < width), shortest)

    def _yield(self) -> str:
        rate = f"{self.accepted / self.done:.0%}" if self.done else "–"
        if self.seeds is not None or self.pairs is None:
            seeds = f"/{self.seeds:,}" if self.seeds is not None else ""
            return f"{self.done:,}{seeds} seeds, {self.accepted:,} accepted ({rate})"
        surplus = f" + {self.accepted - self.pairs:,} surplus" if self.accepted > self.pairs else ""
        return f"{self.done:,} seeds, {min(self.accepted, self.pairs):,}/{self.pairs:,}{surplus} accepted ({rate})"

    def _tokens_and_cost(self) -> str:
        return f"{compact(self._tokens)} tokens, cost {'–' if self._cost is None else f'{self._cost:,.2f}'}"

    def _clock(self) -> str:
        low, high = map(duration, self.range_left() or (None, None))
        eta = low if low == high else f"{low} to {high}"
        return f"elapsed {duration(self.tasks[0].elapsed)}, ETA {eta}"

    def get_renderables(self) -> Iterator[RenderableType]:
        if not self.tasks:  # rich calls it from the constructor
            return
        line = text(self.live_line(self.console.width))
        line.no_wrap, line.overflow = True, "ellipsis"
        yield line

    def stage(self, name: str) -> None:
        if name != self._stage:
            self._stage = name
            self._print_line()

    def started(self, run: RunView) -> None:
        """Count the records of earlier commands, which do not count for the speed of this one."""
        if not self.done:  # it is called again for every batch
            # Only now is it known how many pairs are carried over.
            self.pairs, most_seeds = bounds(run.config.runtime)
            self.seeds = most_seeds if self.pairs is None else None
            self.update(self._bar, total=self.pairs or most_seeds)
            self._pay(total_spending(run.folder).total)
            for record in run.records():
                self._count(record)
                self._earlier.add(record.key)
            self._earlier_accepted = self.accepted
            self.update(self._bar, completed=self.accepted if self.seeds is None else self.done)

    def record(self, record: Record) -> None:
        self._count(record)
        if self.done == FIRST_LOOK:
            self._say(self.first_look())
        self.advance(self._bar, self.seeds is not None or record.status is Status.ACCEPTED)
        if time.monotonic() - self._printed >= max(PLAIN_EVERY, PLAIN_SHARE * (self.tasks[0].elapsed or 0)):
            self._print_line()

    def attempt(self, attempt: Attempt) -> None:
        self._pay(attempt.spent.total)

    def gated(self, head: Head, drop: Drop) -> None:
        """Count an accepted seed as rejected, because a gate dropped it."""
        if head.key not in self._earlier:  # records of earlier commands were counted after the gates
            self._by_status.update({Status.ACCEPTED: -1, Status.REJECTED: 1})
            if steps := self._steps.pop(head.key, None):
                self._accepted_by_steps[steps] -= 1
            self._reasons[drop.reason] += 1
            if self.seeds is None:
                self.advance(self._bar, -1)

    def trouble(self, seed: Seed, error: Exception, pause: float) -> None:
        now, line = time.monotonic(), str(error)
        if now - self._printed_troubles.get(line, -COMPLAIN_EVERY) < COMPLAIN_EVERY:
            return
        self._printed_troubles[line] = now
        self._say(f"{line}; its seeds are tried again, seed {seed.key[:12]} in {pause:.0f} s", style="yellow")

    def first_look(self) -> str:
        """Return the yield of each aim so far, and the cost of the remaining pairs at this rate."""
        yields = [
            f"aim {aim} gave {ends[Status.ACCEPTED]} of {ends.total()} seeds"
            for aim, ends in sorted(self._by_aim.items())
        ]
        line = f"after {self.done} seeds: {', '.join(yields)}"
        if self.pairs is None or not self.accepted:
            return line
        remaining = max(0, self.pairs - self.accepted)
        cost = compact(self._computed * remaining // self.accepted)
        return f"{line}; the remaining {remaining:,} pairs will take about {cost} computed tokens"

    def _say(self, line: str, style: str = "") -> None:
        with suppress(OSError):
            self.console.print(text(line, style=style), soft_wrap=True)

    def _count(self, record: Record) -> None:
        accepted = record.status is Status.ACCEPTED
        self._by_status[record.status] += 1
        self._by_aim[record.seed.target_steps][record.status] += 1
        self._computed += Usage.total(record.usage.values()).computed_tokens
        if accepted and (steps := record.difficulty):
            self._steps[record.key] = steps
            self._accepted_by_steps[steps] += 1
        self._reasons[record.reason] += not accepted

    def _pay(self, spent: Spent) -> None:
        self._tokens += spent.paid.total_tokens
        # The money is None if the model has no known price.
        self._cost = None if self._cost is None or spent.money is None else self._cost + spent.money

    def _print_line(self) -> None:
        self._printed = time.monotonic()
        if self.disable:
            with suppress(OSError):
                self.console.print(text(self.line()), soft_wrap=True)


def duration(seconds: float | None) -> str:
    """Format a duration as `1:05`, or `–` if it is unknown."""
    if seconds is None:
        return "–"
    minutes, whole_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole_seconds:02}" if hours else f"{minutes}:{whole_seconds:02}"
