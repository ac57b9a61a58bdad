"""`[how]`: how a run is carried out. Not digested: none of this may change a byte of a record."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from pipeline.types import Data

MOST_SEEDS = 4096


class Runtime(Data):
    pairs: int = Field(30, ge=1)
    """Accepted pairs wanted."""
    seeds: int | None = Field(None, ge=1)
    """Run exactly so many seeds, however many pairs they give."""
    max_seeds: int | None = Field(None, ge=1)
    """Most seeds to try; left out, ten for each pair wanted."""
    concurrency: int | None = Field(None, ge=1, le=MOST_SEEDS)
    """Seeds in progress at once; left out, enough to keep all endpoints busy."""
    out: Path = Path("outputs")
    """The folder of all runs, with prepared corpora, indexes and the cache of answers."""
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
    """Most tokens to pay for, over all commands that continue the run: computed and cached prompt tokens, and
    completion tokens."""
    budget_money: float | None = Field(None, gt=0)
    """Most money to spend, in the currency of `prices`, over all commands that continue the run."""
    budget_seconds: float | None = Field(None, gt=0)
    """Most seconds that one command may take."""
    wait_seconds: float = Field(0.0, ge=0)
    """Seconds to wait at the start for an endpoint that does not answer yet."""
