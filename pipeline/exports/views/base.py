"""What a view is, and what views share: columns, the records they take, and the rollouts worth learning from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, cast

import pyarrow as pa

from pipeline import registry
from pipeline.agents.environment_file import Environment
from pipeline.config.gates import GateConfig
from pipeline.exports import question_columns
from pipeline.exports.trajectories import chat
from pipeline.reward import standalone
from pipeline.types import AnswerType, Message, PolicyMeasurement, Record, Status, curriculum
from pipeline.types.twin_record import twin_of

INCLUDES = ("below_target", "below_range", "beyond_solver")
"""What `include` may add: confirmed pairs below their target, and those that only a solver of `digsite remeasure`
solved."""
Rows = Iterator[dict[str, Any]]

PROVENANCE: dict[str, Any] = {
    "id": str,
    "difficulty": int,
    "solve_rate": float,
    "tokens": int,
    "corpus": str,
    "licence": str,
    "as_of": str,
    "model": str,
    "trainable": bool,
    "run": str,
}
"""Columns of every row to train on, which no prompt holds."""
RL: dict[str, Any] = PROVENANCE | curriculum.COLUMNS | question_columns.COLUMNS
"""Columns of every row to learn from by reward."""
COMPLETION: dict[str, Any] = {"prompt": chat.MESSAGES, "completion": chat.MESSAGES, "tools": chat.JSON}
PREFERENCE: dict[str, Any] = {
    "prompt": chat.MESSAGES, "chosen": chat.MESSAGES, "rejected": chat.MESSAGES, "tools": chat.JSON
}  # fmt: skip
"""TRL's shapes: the last turn is what is learnt, or the last two, of which one is."""
PROMPT = [{"role": str, "content": str}]
"""A prompt of plain messages, without tool calls."""


class ViewOptions(NamedTuple):
    """What an export must know of a view beside its columns."""

    corpus_text: Literal["full", "spans", "ids"] = "full"
    """What its rows hold of the corpus: whole passages, quotes, or neither."""
    env_specific: bool = True
    """Do rows hold prompt, tools or observations of the environment, so that those of several cannot stand together?"""
    takes_twins: bool = True
    """Is it given questions without an answer?"""
    rewarded: bool = False
    """Whether it is for reinforcement learning: it takes the questions of `is_rewarded`, graded as
    `gates.strict_calls` says."""
    extra_files: Mapping[str, str] = MappingProxyType({})
    """Texts to write into `code/` of the data set, by file name."""
    needs: str = "an accepted pair"
    """What there must be for the view to have a row."""


class View(Protocol):
    """A module of this package. Its docstring names its consumer and where its rules come from."""

    SCHEMA: pa.Schema
    OPTIONS: ViewOptions

    def rows(self, record: Record, environment: Environment) -> Rows:
        """The rows of one record: any number, none where the consumer could not use it."""
        ...


def projection(**table: tuple[Any, Callable[..., Any]]) -> tuple[dict[str, Any], Callable[..., dict[str, Any]]]:
    """The columns and a function that makes a row, from each column's type and how it is read."""

    def row(*values: Any) -> dict[str, Any]:
        return {name: read(*values) for name, (_, read) in table.items()}

    return {name: kind for name, (kind, _) in table.items()}, row


def names() -> list[str]:
    return registry.names("views")


def load(name: str) -> View:
    """The view of that name; UsageError names the known ones."""
    return cast(View, registry.load("views", name))


def exceeds_licence(view: View, redistribute: str) -> bool:
    """Does the view hold more of the corpus than may be passed on? `redistribute` is the manifest's."""
    order = ("ids", "spans", "full")
    return redistribute in order and order.index(view.OPTIONS.corpus_text) > order.index(redistribute)


NO_ANSWER = "If you have searched in several ways and nothing states the answer, the answer is: not found. "


def task(text: str, environment: Environment) -> str:
    """A prompt that ends in "Question: ", with what to answer where there is no answer, if there are such questions: in
    all rows, since a prompt must not tell which ones they are."""
    return f"{text.removesuffix('Question: ')}{NO_ANSWER}Question: " if environment.unanswerable else text


REWARDED = ViewOptions(
    "ids",
    rewarded=True,
    extra_files={"reward.py": standalone("reward.py")},
    needs="a question whose solved rollouts the reward accepts",
)
"""Of every view for reinforcement learning."""


def is_exported(record: Record, include: tuple[str, ...] = ()) -> bool:
    """Return whether a pair is accepted, or was tried and rejected for a reason that `include` names."""
    return record.status is Status.ACCEPTED or (record.reason in include and bool(record.measured))


def is_rewarded(record: Record, gates: GateConfig) -> bool:
    """Return whether views for reinforcement learning take the question.

    They take every question that a rollout solved. For a named policy, equal rewards in a group give no gradient, so
    they leave out what it always solves, unless `gates.solve_rate` was set and let that pass. A guess is right half of
    the time where yes or no is asked, so that such questions are taken only if `gates.rl_yes_no` asks for them.
    """
    if is_yes_no(record) and not gates.rl_yes_no:
        return False
    rate = record.hardness_for(gates.policy)[1] or 0.0
    return rate > 0 and (rate < 1 or not gates.policy or gates.has_band)


def is_yes_no(record: Record) -> bool:
    return record.draft is not None and record.draft.answer_type is AnswerType.BOOLEAN


def accepts(view: View, record: Record, gates: GateConfig) -> bool:
    """Return whether the view takes an exported record."""
    if twin_of(record) and not view.OPTIONS.takes_twins:
        return False
    return not view.OPTIONS.rewarded or is_rewarded(record, gates)


def provenance(
    record: Record, texts: Iterable[str], policy: str = "", *, measured: PolicyMeasurement | None = None
) -> dict[str, Any]:
    """The columns of PROVENANCE; `texts` are what a trainer tokenises. Difficulty and solve rate are those for the
    policy of that name; a row with a rollout that was `measured` is a work of that model too."""
    (difficulty, solve_rate), lineage = record.hardness_for(policy), record.lineage
    models = [lineage.model, *([measured.assessment.model] if measured else [])]
    return {
        "id": record.key,
        "difficulty": difficulty,
        "solve_rate": solve_rate,
        "tokens": chat.tokens(texts),
        "corpus": lineage.corpus,
        "licence": lineage.licence,
        "as_of": lineage.as_of,
        "model": " + ".join(dict.fromkeys(name for names in models for name in names.split(" + "))),
        "trainable": lineage.trainable and (measured is None or measured.trainable),
        "run": lineage.run,
    }


def rewarded(record: Record, environment: Environment, texts: Iterable[str]) -> dict[str, Any]:
    """The columns of RL."""
    policy = environment.policy
    return {
        **provenance(record, texts, policy),
        **curriculum.curriculum(record, policy),
        **question_columns.question_columns(record, environment),
    }


def completion(
    record: Record, texts: list[str], tools: str, measured: PolicyMeasurement | None = None
) -> dict[str, Any]:
    """The columns of COMPLETION and PROVENANCE."""
    turns = {"prompt": texts[:-1], "completion": texts[-1:], "tools": tools}
    return {**turns, **provenance(record, [*texts, tools], measured=measured)}


def preference(
    record: Record, texts: list[str], tools: str, measured: PolicyMeasurement | None = None
) -> dict[str, Any]:
    """The columns of PREFERENCE and PROVENANCE; `texts` end with the chosen turn and the rejected one."""
    turns = {"prompt": texts[:-2], "chosen": texts[-2:-1], "rejected": texts[-1:]}
    return {**turns, "tools": tools, **provenance(record, [*texts, tools], measured=measured)}


def conversations(
    messages: Sequence[Message], environment: Environment, agent: str
) -> list[tuple[tuple[Message, ...], list[bool]]]:
    """The rows that a trajectory is for a trainer that learns assistant turns within one conversation: the messages of
    each, and which of them are learnt.

    It is one row, but for thoughts that are all to be learnt and were not sent back: none of them was in the context of
    a later turn, so that every turn is a row of its own.
    """
    turns = [place for place, message in enumerate(messages) if message.role == "assistant"]
    apart = environment.sft.thinking == "all" and not environment.keeps_thoughts(agent)
    if apart and any(messages[place].reasoning for place in turns[:-1]):
        rows = [shown(messages[: place + 1], 1, environment, agent) for place in turns]
        return [(row, [*[False] * (len(row) - 1), True]) for row in rows]
    # In words the results of one turn are one message.
    row = shown(messages, 1, environment, agent)
    return [(row, [message.role == "assistant" for message in row])]


def shown(messages: Sequence[Message], targets: int, environment: Environment, agent: str) -> tuple[Message, ...]:
    """Return the messages, of which the last `targets` are learnt, as the model was shown what stands before them.

    That is without thoughts that were not sent back or that `sft.thinking` leaves out, and in words if it was told of
    the tools in words.
    """
    return environment.worded(remembered(messages, targets, environment, agent))


def remembered(messages: Sequence[Message], targets: int, environment: Environment, agent: str) -> tuple[Message, ...]:
    """Return the same messages one by one, with the thoughts that the model was shown and that are learnt."""
    thinking, last = environment.sft.thinking, len(messages) - targets
    kept = thinking == "all" and environment.keeps_thoughts(agent)
    context = messages[:last] if kept else [_unthought(message) for message in messages[:last]]
    learnt = map(_unthought, messages[last:]) if thinking == "none" else messages[last:]
    return (*context, *learnt)


def _unthought(message: Message) -> Message:
    return message.model_copy(update={"reasoning": ""}) if message.reasoning else message


def with_system_prompt(environment: Environment, messages: Sequence[Message]) -> list[str] | None:
    """The conversation as `chat.dumped` gives it, with the environment's system prompt: a trained model will be given
    that one, and not a teacher's own."""
    texts = chat.dumped(messages[1:])
    return texts and [environment.opening, *texts]
