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


class How(Data):
    pairs: int = Field(30, ge=1)
    """Accepted pairs wanted."""
    seeds: int | None = Field(None, ge=1)
    """Run exactly so many seeds, however many pairs they give."""
    max_seeds: int | None = Field(None, ge=1)
    """Most seeds that are tried; left out, ten for each pair wanted."""
    concurrency: int | None = Field(None, ge=1, le=MOST_SEEDS)
    """Seeds at work at once; left out: enough that no endpoint stands idle."""
    out: Path = Path("outputs")
    """The folder of all runs, with prepared corpora, indexes and the cache of answers."""
    shard: Shard | None = None
    """`I/N`: the I-th of N parts of the plan alone, in a run folder of its own. Pairs, seeds and budgets of tokens and
    money are of the whole: a part aims at its share of them."""
    engine: Literal["local", "dask", "ray"] = "local"
    """Who runs the seeds: this process, or workers of Dask or Ray through Prefect's task runners. The bytes are the
    same. Without Prefect it is this process."""
    address: str = ""
    """The scheduler of a cluster that runs already, such as `tcp://host:8786`; empty: workers are started here."""
    workers: int = Field(2, ge=1, le=MOST_SEEDS)
    """Processes that run seeds, for an engine other than `local`. Each takes its part of the limits of an endpoint, and
    of what is left of a budget: with `address` as many batches are out at once, and no more."""
    resources: dict[str, float] = Field(default_factory=dict)
    """What an engine sets aside for each batch, by name: `num_cpus` and the like of Ray, resources of Dask."""
    verify: bool = False
    """Read the corpus and hash its index again, even where the sizes and times of all files are as they were."""
    rollout_seconds: float = Field(300.0, gt=0)
    """Seconds that one agent may take; waiting for an endpoint that is busy or down does not count."""
    budget_tokens: int | None = Field(None, ge=1)
    """Prompt and completion tokens that were paid for, over all commands that went on with the run."""
    budget_money: float | None = Field(None, gt=0)
    """Money that may be spent, in the currency of `prices`, over all commands that went on with the run."""
    budget_seconds: float | None = Field(None, gt=0)
    """Seconds that one command may take."""
    wait_seconds: float = Field(0.0, ge=0)
    """How long an endpoint that does not answer at the start is waited for."""

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

    def share(self) -> "How":
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
