"""The settings of RAGShaper's stages: questions from an information tree, distractors, and a teacher."""

from typing import Literal

from pydantic import Field

from pipeline.types import Data


class TreeConfig(Data):
    """The curator's information tree (RAGShaper, arXiv 2601.08699, §3.1 and Fig. 11 to 12)."""

    depth: int = Field(20, ge=1, le=64)
    """Largest number of actions on one path of the tree. RAGShaper's 30 cost about 65 expansions per seed."""
    branching: float = Field(0.5, ge=0, le=1)
    """Probability that a node gets a second child."""
    branching_depth: int = Field(2, ge=0)
    """Number of levels that may branch. Below them, every path is a chain."""
    paths: int = Field(2, ge=1)
    """m: number of the best paths from which a question is composed."""
    hops: int = Field(2, ge=1)
    """Smallest number of dependent hops of a composed question, whatever its target. RAGShaper uses 3."""
    composer_searches: int = Field(12, ge=0)
    """Number of searches with which the composer may try out its question. RAGShaper's composer has none."""


class DistractorConfig(Data):
    """Misleading passages for every accepted pair: written (RAGShaper, arXiv 2601.08699, Table 1), altered, or taken
    from the corpus."""

    kinds: tuple[str, ...] = ()
    """Kinds of distractors, such as `doppelganger` or `hard_negative`. An empty list turns this off."""
    passages: int = Field(2, ge=1, le=16)
    """Largest number of distractors for one pair. The paper uses two. More would displace the evidence in the search
    results."""
    tries: int = Field(3, ge=1, le=32)
    """Largest number of attempts at one kind for the last hop until one passes all checks. The writer sees why the
    earlier ones were refused. For an earlier hop, a quarter as many."""
    hops: Literal["last", "any"] = "any"
    """Hops that a distractor may answer wrongly: only the `last`, or `any`, which uses earlier ones if the last hop has
    too few distractors."""
    rank: Literal["among", "above"] = "among"
    """Rank of a distractor in a search for its hop. `among`: in the first k passages; written distractors rank by their
    own words, and passages of the corpus are moved up. `above`: above the hop's evidence; both are moved up."""
    keep_original: bool = False
    """Whether the original of an `altered` passage stays in the index of that question."""
    policies: bool = False
    """Whether every model in `models.policies` gets rollouts with the distractors too, to measure how much they harm
    it."""
    outright: bool = False
    """Let distractors state their claim without a limitation (another year, a part, a guess, an opinion), so that only
    the evidence shows that it is wrong."""
    rollouts: int = Field(4, ge=1, le=64)
    """Number of new rollouts of the solver without the distractors, and of as many with them."""


class TeacherConfig(Data):
    """Rollouts with injected distractors, to be imitated (RAGShaper, arXiv 2601.08699, §3.3 to 3.4)."""

    rollouts: int = Field(4, ge=0, le=64)
    """Number of teacher rollouts for every accepted pair that has distractors."""
    injected: int = Field(2, ge=1, le=16)
    """Number of distractors that are injected into the k passages of a search."""
    injected_again: float = Field(0.5, ge=0, le=1)
    """p_e: probability that a search after the first gets distractors if the search before it got none."""
    keep: Literal["correct", "f1"] = "correct"
    """Teacher rollouts that are kept for training: the `correct` ones or, as in the paper, those whose answer has a
    token F1 above 0.9 (`f1`)."""
