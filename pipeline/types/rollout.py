"""Model calls in the format of OpenAI's Chat Completions, trajectories of agents, and verdicts on them."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, NamedTuple

from pipeline.reward.abstention import NOT_FOUND
from pipeline.types.data import Slotted, slotted


@slotted
class ToolCall(Slotted):
    id: str
    name: str
    arguments: str
    """A JSON object, as text."""
    repaired: bool = False
    """Whether a strict parser would not have read the call: it was in the text or the reasoning, in another form than
    Hermes', or its name or arguments were repaired."""
    server_fields: str = ""
    """A JSON object: the server's id of the call and its unknown fields. They are sent back with the call, since some
    servers refuse a history without them, but are not part of any view."""


@slotted
class Message(Slotted):
    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    server_fields: str = ""
    """A JSON object: the unknown fields of an answer, such as `reasoning_details`. They are sent back together with the
    reasoning, but are not part of any view."""


@slotted
class Usage(Slotted):
    """The tokens of one or more calls. The demo model counts words and punctuation."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens from the server's prefix cache."""
    reasoning_tokens: int = 0
    estimated_cached_tokens: int = 0
    """The part of `cached_tokens` that is estimated, since the server reports none."""

    @property
    def computed_tokens(self) -> int:
        return self.prompt_tokens - self.cached_tokens

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage.total([self, other])

    @classmethod
    def total(cls, usages: Iterable["Usage"]) -> "Usage":
        # Most verdicts needed no judge, and without calls there are no tokens.
        with_calls = [usage for usage in usages if usage.calls]
        return cls(**{name: sum([getattr(usage, name) for usage in with_calls]) for name in cls.__slots__})


class Stop(StrEnum):
    """The ways in which an agent ends."""

    ANSWERED = "answered"
    SEARCH_BUDGET = "search_budget"
    """It answered in the forced last call, after the search budget was spent."""
    MAX_TURNS = "max_turns"
    MAX_TOKENS = "max_tokens"
    FORMAT_ERRORS = "format_errors"
    REPEATS = "repeats"
    """It kept repeating the same calls."""
    CONTEXT = "context"
    """The conversation exceeded the model's context."""
    NO_PROPOSAL = "no_proposal"
    """The generator used up its tokens for a pair without a proposal."""
    UNGROUNDED = "ungrounded"
    """It found no evidence in the corpus for a user's question."""


@slotted
class Call(Slotted):
    """A call of an agent's tool. A call that is not a repeat is a *step*."""

    id: str
    """The id of the tool call, and of the tool message that answers it."""
    tool: Literal["search", "open", "find", "links"]
    argument: str
    passage_ids: tuple[str, ...]
    """Corpus ids (not the shown ids) of the passages that the agent saw, in order."""
    repeat: bool = False


@slotted
class Trajectory(Slotted):
    """The complete conversation of an agent: `messages` are exactly the prompts and outputs of the model."""

    messages: tuple[Message, ...]
    calls: tuple[Call, ...]
    stop: Stop
    final: str = ""
    """The arguments (JSON) of the call that ended it (`answer`, `propose` or `revise`), if there was one."""
    format_errors: int = 0
    usage: Usage = Usage()

    @property
    def steps(self) -> int:
        return sum(not call.repeat for call in self.calls)

    @property
    def rounds(self) -> int:
        """Return the number of turns with a step. The calls of one turn run in parallel."""
        steps = {call.id for call in self.calls if not call.repeat}
        return sum(any(call.id in steps for call in message.tool_calls) for message in self.messages)


@slotted
class Rollout(Slotted):
    """An attempt of an agent to answer a question."""

    sample: int
    trajectory: Trajectory
    answer: str
    """Empty if the agent gave no answer, `NOT_FOUND` if it gave up searching."""

    @property
    def answered(self) -> bool:
        return self.answer not in ("", NOT_FOUND)

    @property
    def repaired(self) -> bool:
        """Return whether it contains a call that a strict parser would not have read."""
        return any(call.repaired for message in self.trajectory.messages for call in message.tool_calls)


@slotted
class Verdict(Slotted):
    """The grade of one rollout, by the judge and by its evidence."""

    sample: int
    right: bool
    """Whether the judge accepts the answer."""
    supported: bool
    """Whether the rollout's own observations support the answer."""
    method: Literal["exact", "judge", "split", "none"]
    """How `right` was decided. `exact`: by the rules alone; `split`: the second of two judges said no; `none`: not at
    all, since there was no answer or no support for it, so that no judge was called."""
    steps: int
    calls: int
    hit_step: int | None
    """The step (from 1) at which the answer first appears in an observation."""
    found_at: tuple[int | None, ...]
    """For each hop, the step that first retrieved its evidence."""
    recalled: bool = False
    """Whether it searched for a hidden thing, by name or description, that it had not seen."""
    usage: Usage = Usage()
    """The usage of the judges."""
    second: Usage = Usage()
    """The part of `usage` that the second judge used."""

    @property
    def correct(self) -> bool:
        return self.right and self.supported

    @property
    def counts(self) -> bool:
        """Return whether the rollout measures how hard the question is."""
        return self.right and self.supported and not self.recalled


class GradedRollout(NamedTuple):
    rollout: Rollout
    verdict: Verdict

    @classmethod
    def join(cls, rollouts: Iterable[Rollout], verdicts: Iterable[Verdict]) -> list["GradedRollout"]:
        return [cls(*pair) for pair in zip(rollouts, verdicts, strict=True)]

    @staticmethod
    def split(pairs: Iterable[tuple[Rollout, Verdict]]) -> tuple[tuple[Rollout, ...], tuple[Verdict, ...]]:
        pairs = list(pairs)
        return tuple(rollout for rollout, _ in pairs), tuple(verdict for _, verdict in pairs)

    @property
    def wrong(self) -> bool:
        """Return whether the answer is certainly wrong.

        If no judge was called for an unsupported answer, nobody knows.
        """
        is_decided = self.verdict.supported or self.verdict.method != "none" or not self.rollout.answered
        return not self.verdict.right and is_decided


def correct(verdicts: Iterable[Verdict]) -> list[Verdict]:
    # The property would take twice as long, and an export calls this many times for every record.
    return [verdict for verdict in verdicts if verdict.right and verdict.supported]


def least_steps(right: Iterable[Verdict]) -> int | None:
    return min((verdict.steps for verdict in right), default=None)
