"""Model calls, in the shapes of OpenAI's Chat Completions; what an agent did with them; what is said of it."""

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
    """Whether a strict parser would not have read the call: it stood in the text or the reasoning in another form than
    Hermes', or its name or arguments were mended."""
    server_fields: str = ""
    """A JSON object: the id that the server gave the call, and every field of it that we do not know. They go back to
    the server with the call, since some refuse a history without them, and into no view."""


@slotted
class Message(Slotted):
    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    server_fields: str = ""
    """A JSON object: the fields of an answer that we do not know, such as `reasoning_details`. They go back to the
    server where reasoning does, and into no view."""


@slotted
class Usage(Slotted):
    """Tokens of one or more calls. The demo model counts words and marks."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the server had in its prefix cache."""
    reasoning_tokens: int = 0
    estimated_cached_tokens: int = 0
    """Of `cached_tokens`, the estimated ones: their server reports none."""

    @property
    def computed_tokens(self) -> int:
        """The prompt tokens that the server read anew."""
        return self.prompt_tokens - self.cached_tokens

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage.total([self, other])

    @classmethod
    def total(cls, usages: Iterable["Usage"]) -> "Usage":
        # Most verdicts took no judge, and what made no call took no tokens.
        made = [used for used in usages if used.calls]
        return cls(**{name: sum([getattr(used, name) for used in made]) for name in cls.__slots__})


class Stop(StrEnum):
    """Every way in which an agent ends."""

    ANSWERED = "answered"
    SEARCH_BUDGET = "search_budget"
    """Answered in the forced last call, after the search budget was spent."""
    MAX_TURNS = "max_turns"
    MAX_TOKENS = "max_tokens"
    FORMAT_ERRORS = "format_errors"
    REPEATS = "repeats"
    """It made the same calls again and again."""
    CONTEXT = "context"
    """The conversation no longer fitted the model's context."""
    NO_PROPOSAL = "no_proposal"
    """The generator had used as many tokens as a pair is worth, and had proposed nothing."""
    UNGROUNDED = "ungrounded"
    """It found no evidence in the corpus for a question that somebody brought."""


@slotted
class Call(Slotted):
    """One search, open or find of an agent, or one look at a passage's links. A call that is no repeat is a *step*."""

    id: str
    """The id of the tool call, and so of the tool message that answers it."""
    tool: Literal["search", "open", "find", "links"]
    argument: str
    passage_ids: tuple[str, ...]
    """Corpus ids (not the shown ones) of what the agent was shown, in order."""
    repeat: bool = False


@slotted
class Trajectory(Slotted):
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

    @property
    def rounds(self) -> int:
        """Turns with a step in them: the calls of one turn run in parallel."""
        steps = {call.id for call in self.calls if not call.repeat}
        return sum(any(call.id in steps for call in message.tool_calls) for message in self.messages)


@slotted
class Rollout(Slotted):
    """One attempt of the solver."""

    sample: int
    trajectory: Trajectory
    answer: str
    """Empty where the solver gave none, `NOT_FOUND` where it gave up searching."""

    @property
    def answered(self) -> bool:
        """Did it give an answer to the question?"""
        return self.answer not in ("", NOT_FOUND)

    @property
    def repaired(self) -> bool:
        """Does it rest on a call that a strict parser would not have read?"""
        return any(call.repaired for message in self.trajectory.messages for call in message.tool_calls)


@slotted
class Verdict(Slotted):
    """What the judge and the evidence say of one rollout."""

    sample: int
    right: bool
    """The judge accepts the answer."""
    supported: bool
    """The rollout's own observations hold the support of the answer."""
    method: Literal["exact", "judge", "split", "none"]
    """How `right` was found. `exact` = by the rules alone; `split` = of two judges the second said no; `none` = not at
    all: there was no answer, or none that was supported, so that no judge was asked."""
    steps: int
    calls: int
    hit_step: int | None
    """The step (from 1) at which the answer first shows in an observation."""
    found_at: tuple[int | None, ...]
    """For each hop the step that first brought its evidence."""
    recalled: bool = False
    """Whether it searched for a hidden thing, by name or description, that nothing had shown it."""
    usage: Usage = Usage()
    """What the judges took."""
    second: Usage = Usage()
    """Of that, the second judge."""

    @property
    def correct(self) -> bool:
        return self.right and self.supported

    @property
    def counts(self) -> bool:
        """Does the try say how hard the question is?"""
        return self.right and self.supported and not self.recalled


class GradedRollout(NamedTuple):
    rollout: Rollout
    verdict: Verdict

    @property
    def wrong(self) -> bool:
        """Is it known not to be right? Of an answer without its support it is not where no judge was asked."""
        ruled = self.verdict.supported or self.verdict.method != "none" or not self.rollout.answered
        return not self.verdict.right and ruled


def correct(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The correct ones, in their order."""
    # Not by the property, which takes twice as long: an export asks this of every record many times.
    return [verdict for verdict in verdicts if verdict.right and verdict.supported]


def least_steps(right: Iterable[Verdict]) -> int | None:
    """Of the correct ones; none where there is none."""
    return min((verdict.steps for verdict in right), default=None)
