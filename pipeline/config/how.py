"""`[how]`: how a run is carried out. Not digested: none of this may change a byte of a record."""

from pathlib import Path

from pydantic import Field

from pipeline.types import Data

MOST_SEEDS = 4096


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
