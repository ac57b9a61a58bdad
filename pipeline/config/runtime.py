"""`[how]`: how a run is carried out. Not digested: none of this may change a byte of a record."""

import math
import re
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, field_validator

from pipeline.types import Data

MOST_SEEDS = 4096
MOST_SHARDS = 10_000


class Shard(NamedTuple):
    """One part of a plan: of its seeds every `of`-th, the first at index `number - 1`."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}-of-{self.of}"

    def seeds(self, whole: int) -> int:
        """How many of the first `whole` seeds of the plan are its own."""
        return len(range(self.number - 1, whole, self.of))


class Runtime(Data):
    pairs: int = Field(30, ge=1)
    """Accepted pairs wanted."""
    seeds: int | None = Field(None, ge=1)
    """Run exactly so many seeds, however many pairs they give."""
    max_seeds: int | None = Field(None, ge=1)
    """Most seeds to try; left out, ten for each pair wanted. Those without a walk, which cost no call, are not counted,
    up to nine for each that is."""
    concurrency: int | None = Field(None, ge=1, le=MOST_SEEDS)
    """Seeds in progress at once; left out, enough to keep all endpoints busy."""
    out: Path = Path("outputs")
    """The folder of all runs, with prepared corpora, indexes and the cache of answers."""
    shard: Shard | None = None
    """`I/N`: run only the I-th of N parts of the plan, in a run folder of its own. Pairs, seeds and budgets of
    tokens and money are given for the whole; each part takes its share."""
    engine: Literal["local", "dask", "ray"] = "local"
    """What runs the seeds: this process, or Dask or Ray workers through Prefect's task runners. The bytes are the
    same."""
    address: str = ""
    """Address of a running Dask or Ray cluster, such as `tcp://host:8786`; empty: workers are started on this
    machine."""
    workers: int = Field(2, ge=1, le=MOST_SEEDS)
    """Processes that run seeds, for an engine other than `local`; with `address`, how many batches of seeds are out
    at once. Each gets an equal part of the endpoint's limits and of the remaining budget."""
    resources: dict[str, float] = Field(default_factory=dict)
    """Resources that the engine reserves for each batch, by name: `num_cpus` and others of Ray, or resources of
    Dask."""
    verify: bool = False
    """Read the corpus and hash its index again, even if size and time of all files are unchanged."""
    rollout_seconds: float | None = Field(None, gt=0)
    """Seconds that one agent may take, without the time spent waiting for an endpoint that is busy or down; left out,
    no limit. A seed that it ended is run again under a longer one, or under none."""
    same_error_seeds: int = Field(8, ge=0)
    """Seeds in a row without a question or a verdict for one format error after which the run stops and says what would
    cure it; until one ends otherwise no more are run at once. 0: it never stops for that."""
    budget_tokens: int | None = Field(None, ge=1)
    """Most prompt and completion tokens to pay for, over all commands that continue the run."""
    budget_money: float | None = Field(None, gt=0)
    """Most money to spend, in the currency of `prices`, over all commands that continue the run."""
    budget_seconds: float | None = Field(None, gt=0)
    """Most seconds that one command may take."""
    wait_seconds: float = Field(0.0, ge=0)
    """Seconds to wait at the start for an endpoint that does not answer yet."""

    @field_validator("shard", mode="before")
    @classmethod
    def _part(cls, given: object) -> object:
        """`"2/4"`."""
        if not isinstance(given, str):
            return given
        match = re.fullmatch(r"(\d{1,5})/(\d{1,5})", given.strip())
        number, of = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= of <= MOST_SHARDS:
            raise ValueError(f"takes I/N, such as 1/4 to 4/4, with N of at most {MOST_SHARDS:,}, not '{given}'")
        return Shard(number, of)

    def share(self) -> "Runtime":
        """The same with the numbers that this shard aims at; without a shard all of it."""
        if self.shard is None:
            return self
        of = self.shard.of
        return self.model_copy(
            update={
                "pairs": math.ceil(self.pairs / of),
                "seeds": None if self.seeds is None else self.shard.seeds(self.seeds),
                "max_seeds": None if self.max_seeds is None else self.shard.seeds(self.max_seeds),
                "budget_tokens": None if self.budget_tokens is None else math.ceil(self.budget_tokens / of),
                "budget_money": None if self.budget_money is None else self.budget_money / of,
            }
        )
