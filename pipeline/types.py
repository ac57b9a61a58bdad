"""The nouns of the product, as DESIGN's "Words" defines them.

All of them are frozen and forbid unknown fields, so that the JSON form is the identity: what the journal holds is
what ran. Nothing here holds seconds, money, URLs or timestamps: those live in `attempts.jsonl`, outside the promise
that the same configuration, corpus, cache and seed give the same bytes.
"""

import hashlib
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Data(BaseModel):
    """Base of every value that crosses a module boundary."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def sha256(text: str) -> str:
    """Hex digest of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()


# --- corpus and retrieval ---------------------------------------------------------------------------------------


class Document(Data):
    """One text of the corpus. Offsets everywhere count code points of `stored`."""

    id: str
    title: str
    text: str
    url: str = ""
    aliases: tuple[str, ...] = ()
    """Titles of later documents with the same text, which were not kept."""

    @property
    def stored(self) -> str:
        return f"{self.title}\n{self.text}"


class Passage(Data):
    """A slice of about 100 words, on sentence boundaries; `text == document.stored[start:end]`."""

    id: str
    """`<document>#<n>`"""
    document_id: str
    title: str
    text: str
    start: int
    end: int

    @property
    def sha256(self) -> str:
        return sha256(self.text)

    @property
    def shown_id(self) -> str:
        """The id that agents see: opaque and of one shape, so that it tells nothing of corpus or origin."""
        return "p" + sha256(self.id)[:12]


class Hit(Data):
    """One search result; `score` is the engine's own and comparable within one query only."""

    passage: Passage
    score: float


# --- questions --------------------------------------------------------------------------------------------------


class AnswerType(StrEnum):
    ENTITY = "entity"
    DATE = "date"
    NUMBER = "number"


class Hop(Data):
    """One link of the evidence chain. `quote` is a verbatim slice of the passage's text and holds the answer."""

    sub_question: str
    answer: str
    passage_id: str
    title: str
    quote: str
    passage_sha256: str
    relation: str = ""
    """The generator's own short name of the link (a verb and preposition, say), for diversity figures."""


class Draft(Data):
    """What a generator or refiner proposes. The last hop's answer is the answer."""

    question: str
    answer: str
    answer_aliases: tuple[str, ...] = ()
    answer_type: AnswerType
    answer_precision: Literal["", "day", "month", "year"] = ""
    """Dates only: how exact the question asks for it."""
    hops: tuple[Hop, ...]
    family: str = "chain"
    """How the question was made: `chain`, `control` (one hop) or `cloze` (a masked span)."""


class Seed(Data):
    """One planned attempt. `key` is the identity of its journal line."""

    key: str
    passage: Passage
    draw: int
    side: Literal["train", "eval"]
    answer_type: AnswerType
    target_steps: int


# --- model calls (shapes of OpenAI's Chat Completions) ------------------------------------------------------------


class ToolCall(Data):
    id: str
    name: str
    arguments: str
    """A JSON object, as text."""


class Message(Data):
    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""


class Usage(Data):
    """Tokens of one or more calls. The embedded model counts words and marks."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class Stop(StrEnum):
    """Every way in which an agent ends."""

    ANSWERED = "answered"
    SEARCH_BUDGET = "search_budget"
    """Answered in the forced last call, after the search budget was spent."""
    MAX_TURNS = "max_turns"
    MAX_TOKENS = "max_tokens"
    FORMAT_ERRORS = "format_errors"


# --- rollouts and what is said of them ----------------------------------------------------------------------------


class Call(Data):
    """One search or open of an agent. A call that is no repeat is a *step*."""

    id: str
    """The id of the tool call, and so of the tool message that answers it."""
    tool: Literal["search", "open"]
    argument: str
    passage_ids: tuple[str, ...]
    """Corpus ids (not the shown ones) of what the agent was shown, in order."""
    repeat: bool = False


class Trajectory(Data):
    """One agent's whole conversation: `messages` are exactly what the model was sent and said."""

    messages: tuple[Message, ...]
    calls: tuple[Call, ...]
    stop: Stop
    final: str = ""
    """The arguments (JSON text) of the call that ended it (`answer`, `propose` or `revise`), or nothing."""
    format_errors: int = 0
    usage: Usage = Usage()

    @property
    def steps(self) -> int:
        return sum(not call.repeat for call in self.calls)


class Rollout(Data):
    """One attempt of the solver."""

    sample: int
    trajectory: Trajectory
    answer: str
    """Empty where the solver gave none."""


class Verdict(Data):
    """What the judge and the evidence say of one rollout."""

    sample: int
    right: bool
    """The judge accepts the answer."""
    supported: bool
    """The rollout's own observations hold the support of the answer."""
    method: Literal["exact", "judge", "none"]
    """How `right` was found; `none` = there was no answer to judge."""
    steps: int
    calls: int
    hit_step: int | None
    """The step (from 1) at which the answer first shows in an observation."""
    usage: Usage = Usage()
    """What the judge took."""

    @property
    def correct(self) -> bool:
        return self.right and self.supported


class Label(StrEnum):
    """What an assessment says of a draft."""

    UNSOUND = "unsound"
    TOO_EASY = "too_easy"
    UNSOLVED = "unsolved"
    CANDIDATE = "candidate"


class Cause(StrEnum):
    """Why a draft was sent back. The first four are SAGE's names of "too easy", the next four of "unsolved"."""

    CO_LOCATED = "co_located"
    OVER_SPECIFIED = "over_specified"
    QUERY_COLLAPSE = "query_collapse"
    SUPERFICIAL = "superficial"
    RETRIEVAL_MISS = "retrieval_miss"
    SOLVER_ERROR = "solver_error"
    GENERATOR_ERROR = "generator_error"
    AMBIGUOUS = "ambiguous"


class Finding(Data):
    """What one audit check found. A fatal finding sends the draft back without a rollout."""

    check: str
    cause: Cause
    fatal: bool
    hops: tuple[int, ...] = ()
    """Indices of the hops concerned."""
    detail: str = ""


class Feedback(Data):
    """The one edge back: what the refiner is told."""

    label: Label
    cause: Cause
    message: str
    hops: tuple[int, ...] = ()


class Round(Data):
    """One draft and all that was found out about it. Round 0 is the generator's, later ones the refiner's."""

    index: int
    agent: Trajectory
    """The generator's or refiner's own trace."""
    draft: Draft | None
    """None where the agent proposed nothing usable; `findings` says why."""
    findings: tuple[Finding, ...] = ()
    rollouts: tuple[Rollout, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    control: bool = False
    """One of the 5 % that ran to full K although the audit or the early stop had decided."""
    feedback: Feedback | None = None
    """None on the round that was a candidate."""


class Status(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    FAILED = "failed"


class Lineage(Data):
    """Where a record comes from."""

    run: str
    preset: str
    strategy: str
    model: str
    solver_digest: str
    """Digest of the embedded solver's code where it solved; empty for another model."""
    corpus: str
    corpus_fingerprint: str
    licence: str
    attribution: str
    retriever: str


class Record(Data):
    """The journal line of one seed."""

    key: str
    seed: Seed
    status: Status
    reason: str
    """One code: `below_target`, a cause, `no_draft`, `deadline`, ...; empty or `relaxed` if accepted."""
    rounds: tuple[Round, ...]
    confirmation: tuple[Rollout, ...] = ()
    confirmation_verdicts: tuple[Verdict, ...] = ()
    lineage: Lineage

    @property
    def usage(self) -> dict[str, Usage]:
        """By role, over all rounds and the confirmation; calls count whether or not a cache answered them."""
        spent = {role: Usage() for role in ("generator", "refiner", "solver", "judge")}
        for past in self.rounds:
            spent["refiner" if past.index else "generator"] += past.agent.usage
        rollouts = [*self.confirmation, *(rollout for past in self.rounds for rollout in past.rollouts)]
        verdicts = [*self.confirmation_verdicts, *(verdict for past in self.rounds for verdict in past.verdicts)]
        spent["solver"] = sum((rollout.trajectory.usage for rollout in rollouts), Usage())
        spent["judge"] = sum((verdict.usage for verdict in verdicts), Usage())
        return spent

    @property
    def draft(self) -> Draft | None:
        return self.rounds[-1].draft if self.rounds else None

    @property
    def measured(self) -> tuple[Verdict, ...]:
        """The verdicts that difficulty and solve rate rest on: the confirmation's, and the last round's without one."""
        return self.confirmation_verdicts or (self.rounds[-1].verdicts if self.rounds else ())

    @property
    def measured_rollouts(self) -> tuple[Rollout, ...]:
        """The rollouts of `measured`, in the same order."""
        return self.confirmation or (self.rounds[-1].rollouts if self.rounds else ())

    @property
    def difficulty(self) -> int | None:
        """Least steps over the correct rollouts; none where none was correct."""
        return min((v.steps for v in self.measured if v.correct), default=None)

    @property
    def solve_rate(self) -> float | None:
        return sum(v.correct for v in self.measured) / len(self.measured) if self.measured else None
