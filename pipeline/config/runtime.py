"""`[runtime]`: how a run is carried out. Nothing here is part of the digest or may change a byte of a record."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from pipeline.types import Data

MOST_SEEDS = 4096


class Runtime(Data):
    pairs: int = Field(30, ge=1)
    """Number of accepted pairs to generate, including those carried over from the version before."""
    new_pairs: int | None = Field(None, ge=1)
    """Number of accepted pairs to generate beyond those carried over, instead of `pairs`. The next command after a
    finished one adds as many again, in the next version."""
    carried: int = Field(0, ge=0)
    """Number of pairs carried over from the version before. Digsite sets it."""
    seeds: int | None = Field(None, ge=1)
    """Run exactly this many seeds, however many pairs they give. Carried pairs are no seeds."""
    max_seeds: int | None = Field(None, ge=1)
    """Give up after this many seeds. If left out, ten for each pair that is not carried over."""
    concurrency: int | None = Field(None, ge=1, le=MOST_SEEDS)
    """Number of seeds in progress at once. If left out, enough to keep all endpoints busy."""
    out: Path = Path("outputs")
    """Folder of all runs, prepared corpora and indexes, and of the cache of answers."""
    name: str = Field("", pattern=r"^[a-z0-9_-]{0,64}$")
    """Name of a data set that grows, such as `nightly`: `wiki/nightly` then means its newest version. A nightly flow
    takes the name of its file of settings."""
    engine: Literal["local", "dask", "ray"] = "local"
    """Where seeds run: in this process, or on Dask or Ray workers through Prefect's task runners. The bytes are the
    same."""
    address: str = ""
    """Address of a running Dask or Ray cluster, such as `tcp://host:8786`. If empty, workers are started on this
    machine."""
    workers: int = Field(2, ge=1, le=MOST_SEEDS)
    """Number of processes that run seeds with Dask or Ray; with `address`, number of batches of seeds in flight. Each
    gets an equal part of the endpoint's limits and of the remaining budget."""
    resources: dict[str, float] = Field(default_factory=dict)
    """Resources that the engine reserves for each batch, by name: Ray's, such as `num_cpus`, or Dask's."""
    verify: bool = False
    """Read the corpus and hash its index again, even if sizes and times of all files are unchanged."""
    allow_removal: bool = False
    """Whether a run or its export may remove pairs, views and files of the data set that is there, which a trainer may
    be reading."""
    rollout_seconds: float | None = Field(None, gt=0)
    """Seconds that one agent may take, not counting waits for an endpoint that is busy or down. If left out, no limit.
    Seeds that it ended are run again if the limit is raised or removed."""
    same_error_seeds: int = Field(8, ge=0)
    """Stop the run, with advice, after this many seeds in a row that the same format error ended. Until one seed ends
    otherwise, only this many run at once. 0 never stops the run."""
    budget_tokens: int | None = Field(None, ge=1)
    """Largest number of tokens to pay for, over all commands that continue the run: prompt tokens, computed or cached,
    and completion tokens."""
    budget_money: float | None = Field(None, gt=0)
    """Largest amount to spend, in the currency of `prices`, over all commands that continue the run."""
    budget_seconds: float | None = Field(None, gt=0)
    """Seconds that one command may take."""
    wait_seconds: float = Field(0.0, ge=0)
    """Seconds to wait at the start for an endpoint that does not answer yet."""

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if name == "latest":
            raise ValueError("'latest' is the link to what a person started last: choose another name")
        return name
