"""How a draft is tried: the loop, and the checks in it that only a model can make."""

from typing import Literal

from pydantic import Field

from pipeline.types import Data

MOST_TRIES = 64


class LoopConfig(Data):
    """SAGE's loop (arXiv 2601.18202, Alg. 1 and 2) and the stages that this product adds to it."""

    rollouts: int = Field(4, ge=1, le=MOST_TRIES)
    """Fresh rollouts that confirm a candidate (K). Without a confirmation they give the verdict."""
    screen: int = Field(2, ge=1, le=64)
    """Rollouts of which the first correct one sends a draft on to the confirmation, which runs all K afresh. Without a
    confirmation all K decide, as in SAGE."""
    rounds: int = Field(4, ge=0, le=8)
    """Revisions after round 0 (R), most of which end without a rollout. SAGE's is 2: its third made the data harder and
    the training worse (Table 5), by drafts that few rollouts solve; the confirmation measures those afresh."""
    audit: bool = True
    """Check a draft for errors and shortcuts before any rollout is paid for."""
    early_stop: bool = True
    """Stop the rollouts of a draft once its verdict cannot change."""
    confirm: bool = True
    """Confirm a candidate by K fresh rollouts, whose figures are the exported ones."""
    refiner_searches: bool = True
    """Let the refiner search the corpus; in SAGE it only sees the traces."""
    feedback_rollouts: Literal["all", "one"] = "all"
    """`one`: the correct rollout with the fewest searches, else any with an answer, as in SAGE."""
    last_round_relaxed: bool = False
    """Accept on the last round whatever is solved, below the target too, as SAGE's post-filter does."""
    control_share: float = Field(0.05, ge=0, le=1)
    """Share of the drafts cut by audit or early stop that run to full K all the same, to measure both."""


Check = Literal[
    "naturalness", "skip_ahead", "complete_list", "closed_book", "naive_rag", "oracle", "leave_one_out", "alternatives"
]


class ChecksConfig(Data):
    """Checks of a draft that only a model can make."""

    run: tuple[Check, ...] | None = None
    """Left out: all of them with a real reader; with all embedded, which know nothing by heart, the oracle alone."""
    tries: int = Field(3, ge=1, le=32)
    """Tries at answering from memory, of which most must fail."""
    oracle_tries: int = Field(2, ge=1, le=32)
    """Tries at answering with the evidence in hand, of which one must succeed; the second is made only where the first
    failed."""
    naturalness: int = Field(4, ge=1, le=5)
    """The least grade, of 5, of a wording that is not sent back. Of 15 questions of a strong model an independent
    reader called five of the nine that had a 3 clumsy, and none of the six that had more."""
