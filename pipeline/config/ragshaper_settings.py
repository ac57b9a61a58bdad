"""What RAGShaper adds: questions from an information tree, distractors, and a teacher among them."""

from typing import Literal

from pydantic import Field

from pipeline.types import Data


class TreeConfig(Data):
    """The curator's information tree (RAGShaper, arXiv 2601.08699, §3.1 and Fig. 11 to 12)."""

    depth: int = Field(20, ge=1, le=64)
    """Most actions on one path of the tree; RAGShaper's 30 cost about 65 expansions a seed."""
    branching: float = Field(0.5, ge=0, le=1)
    """Probability that a node gets a second child."""
    branching_depth: int = Field(2, ge=0)
    """Levels that may branch; below them every path is a chain."""
    paths: int = Field(2, ge=1)
    """m: how many of the best paths a question is composed from."""
    hops: int = Field(2, ge=1)
    """Least number of dependent hops of a composed question, whatever its target; RAGShaper uses 3."""
    composer_searches: int = Field(12, ge=0)
    """Searches with which the composer may try out its question; RAGShaper's composer has none."""


class DistractorConfig(Data):
    """Misleading passages against every accepted pair, written (RAGShaper, arXiv 2601.08699, Table 1), altered or
    taken from the corpus."""

    kinds: tuple[str, ...] = ()
    """Kinds of distractors, such as `doppelganger` or `hard_negative`. An empty list turns the stage off."""
    passages: int = Field(2, ge=1, le=16)
    """Most distractors for one pair. The paper injects two; more would crowd the evidence out of the search results."""
    tries: int = Field(3, ge=1, le=32)
    """Most tries for one kind at the last hop, until one passes all checks; the writer sees why the earlier ones
    were refused. At an earlier hop, a quarter as many."""
    hops: Literal["last", "any"] = "any"
    """Which hops a distractor may answer wrongly: the `last` only, or `any`, an earlier one where the last leaves
    room."""
    rank: Literal["among", "above"] = "among"
    """Where a search for the hop has a distractor: `among` its k passages, where what was written stands by its own
    words and a passage of the corpus is lifted, or `above` the hop's evidence, where each is lifted."""
    keep_original: bool = False
    """Whether the passage that an `altered` one was made from stays in the index of that question beside it."""
    policies: bool = False
    """Whether the rollouts of every `[models.policies.NAME]` are made with the distractors too, so that their harm is
    measured for the models to be trained."""
    outright: bool = False
    """Let distractors state their claim without a limit (another year, a part, a guess, an opinion), so that only
    the evidence shows that it is wrong."""
    rollouts: int = Field(4, ge=1, le=64)
    """Fresh rollouts of the solver without the distractors, and as many with them."""


class TeacherConfig(Data):
    """Rollouts among forced distractors, to be imitated (RAGShaper, arXiv 2601.08699, §3.3 to 3.4)."""

    rollouts: int = Field(4, ge=0, le=64)
    """Teacher rollouts for every accepted pair that has distractors."""
    injected: int = Field(2, ge=1, le=16)
    """Distractors that are put among the k passages of a search."""
    injected_again: float = Field(0.5, ge=0, le=1)
    """p_e: probability that a search after the first gets distractors if the search before it got none."""
    keep: Literal["correct", "f1"] = "correct"
    """Which teacher rollouts are kept for training: the `correct` ones or, as in the paper, those whose answer has a
    token F1 above 0.9 (`f1`)."""
