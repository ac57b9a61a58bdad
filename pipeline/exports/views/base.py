"""The interface of a view, and what views share: groups of columns, and which records and messages they take."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

import pyarrow as pa

from pipeline import registry
from pipeline.agents.environment_file import Environment
from pipeline.config.exports import GateConfig, Include
from pipeline.exports import question_columns
from pipeline.exports.trajectories import chat
from pipeline.reward import standalone
from pipeline.types import AnswerType, Draft, Message, PolicyMeasurement, Record, Status, curriculum
from pipeline.types.twin_record import twin_of

INCLUDES: tuple[str, ...] = get_args(Include)
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
"""Columns of every row to train on. No prompt holds them."""
RL: dict[str, Any] = PROVENANCE | curriculum.COLUMNS | question_columns.COLUMNS
"""Columns of every row for reinforcement learning."""
COMPLETION: dict[str, Any] = {"prompt": chat.MESSAGES, "completion": chat.MESSAGES, "tools": chat.JSON}
PREFERENCE: dict[str, Any] = {
    "prompt": chat.MESSAGES, "chosen": chat.MESSAGES, "rejected": chat.MESSAGES, "tools": chat.JSON
}  # fmt: skip
"""TRL's formats: the trainer learns the last turn, or prefers one of two last turns."""
PROMPT = [{"role": str, "content": str}]
"""A prompt of plain messages, without tool calls."""


class ViewOptions(NamedTuple):
    """What an export must know about a view besides its columns."""

    corpus_text: Literal["full", "spans", "ids"] = "full"
    """How much of the corpus its rows hold: whole passages, quotes, or ids only."""
    env_specific: bool = True
    """Whether rows hold prompts, tools or observations, so that rows of several environments must not be mixed."""
    takes_twins: bool = True
    """Whether it takes questions without an answer."""
    rewarded: bool = False
    """Whether it is for reinforcement learning. It then takes the questions of `is_rewarded`, graded as
    `gates.strict_calls` says."""
    extra_files: Mapping[str, str] = MappingProxyType({})
    """Texts to write into `code/` of the data set, by file name."""
    needs: str = "an accepted pair"
    """What a run must have to give the view a row."""


class View(NamedTuple):
    """A view, which is the only value of this type in its module. The module's docstring names consumer and rules."""

    rows: Callable[[Record, Environment], Rows]
    """Yields the rows of a record; none if the consumer could not use it."""
    schema: pa.Schema
    options: ViewOptions = ViewOptions()


def names() -> list[str]:
    return registry.names("views")


def load(name: str) -> View:
    return registry.instance("views", name, View)


def exceeds_licence(view: View, redistribute: str) -> bool:
    order = ("ids", "spans", "full")
    return redistribute in order and order.index(view.options.corpus_text) > order.index(redistribute)


SOLVED = ViewOptions(needs="a solved rollout that [sft] takes")
"""Options of the views whose rows are whole rollouts to imitate."""
REWARDED = ViewOptions(
    "ids",
    rewarded=True,
    extra_files={"reward.py": standalone("reward.py")},
    needs="a question whose solved rollouts the reward accepts",
)
"""Options of every view for reinforcement learning."""


def is_exported(record: Record, include: tuple[str, ...] = ()) -> bool:
    """Return whether a pair is accepted, or was tried and rejected for a reason that `include` names."""
    return record.status is Status.ACCEPTED or (record.reason in include and record.is_solved)


def is_rewarded(record: Record, gates: GateConfig) -> bool:
    """Check whether views for reinforcement learning take the question.

    They take every question that a rollout solved. For a named policy they leave out questions that it always solves,
    since equal rewards in a group give no gradient; `gates.solve_rate` can let these pass. Yes-or-no questions are
    taken only with `gates.rl_yes_no`, since every second guess is right.
    """
    if is_yes_no(record) and not gates.rl_yes_no:
        return False
    rate = record.hardness_for(gates.policy)[1] or 0.0
    return rate > 0 and (rate < 1 or not gates.policy or gates.has_band)


def is_yes_no(record: Record) -> bool:
    return record.draft is not None and record.draft.answer_type is AnswerType.BOOLEAN


def accepts(view: View, record: Record, gates: GateConfig) -> bool:
    if twin_of(record) and not view.options.takes_twins:
        return False
    return not view.options.rewarded or is_rewarded(record, gates)


def provenance(
    record: Record, texts: Iterable[str], policy: str = "", *, measured: PolicyMeasurement | None = None
) -> dict[str, Any]:
    """Return the columns of PROVENANCE. `texts` are those that a trainer tokenises.

    Difficulty and solve rate are those for `policy`, or else for the run's own solver. If the rollout of the row was
    `measured`, the model of the measurement is named too.
    """
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


def rl_first_turn(draft: Draft, record: Record, environment: Environment) -> dict[str, Any]:
    """Return the column `prompt`, which is the first turn of `sft`, and the columns of RL."""
    return rl_row(record, environment, environment.first_turn(draft.question), environment.offered)


def rl_row(record: Record, environment: Environment, prompt: Mapping[str, str], tools: str = "") -> dict[str, Any]:
    """Return the column `prompt`, whose texts are given by role, and the columns of RL.

    Args:
        tools: what the trainer tokenises beside the prompt.
    """
    messages = [{"role": role, "content": text} for role, text in prompt.items()]
    return {"prompt": messages, **rl_columns(record, environment, [*prompt.values(), tools])}


def rl_columns(record: Record, environment: Environment, texts: Iterable[str]) -> dict[str, Any]:
    policy = environment.policy
    return {
        **provenance(record, texts, policy),
        **curriculum.curriculum(record, policy),
        **question_columns.question_columns(record, environment),
    }


def completion_columns(
    record: Record, texts: list[str], tools: str, measured: PolicyMeasurement | None = None
) -> dict[str, Any]:
    """Return the columns of COMPLETION and PROVENANCE. The last text is the completion."""
    turns = {"prompt": texts[:-1], "completion": texts[-1:], "tools": tools}
    return {**turns, **provenance(record, [*texts, tools], measured=measured)}


def preference_columns(
    record: Record, texts: list[str], tools: str, measured: PolicyMeasurement | None = None
) -> dict[str, Any]:
    """Return the columns of PREFERENCE and PROVENANCE. The last two texts are the chosen and the rejected turn."""
    turns = {"prompt": texts[:-2], "chosen": texts[-2:-1], "rejected": texts[-1:]}
    return {**turns, "tools": tools, **provenance(record, [*texts, tools], measured=measured)}


def split_conversation(
    messages: Sequence[Message], environment: Environment, agent: str
) -> list[tuple[tuple[Message, ...], list[bool]]]:
    """Return the rows of a trajectory for a trainer that learns assistant turns: messages, and which of them to learn.

    Usually this is one row. If all thoughts are learnt but the model was not sent its earlier ones, each turn is a row
    of its own: the earlier thoughts were not in its context.
    """
    turns = [index for index, message in enumerate(messages) if message.role == "assistant"]
    per_turn = environment.sft.thinking == "all" and not environment.keeps_thoughts(agent)
    if per_turn and any(messages[index].reasoning for index in turns[:-1]):
        rows = [render_for_model(messages[: index + 1], 1, environment, agent) for index in turns]
        return [(row, [*[False] * (len(row) - 1), True]) for row in rows]
    # Roles are read from the rendered messages: in words, all results of a turn are one message.
    row = render_for_model(messages, 1, environment, agent)
    return [(row, [message.role == "assistant" for message in row])]


def render_for_model(
    messages: Sequence[Message], targets: int, environment: Environment, agent: str
) -> tuple[Message, ...]:
    """Return the messages in the form that the model saw. The last `targets` are to be learnt.

    Thoughts are left out if they were not sent back or if `sft.thinking` excludes them. If the model was told about
    the tools in words, calls and results are in words as well.
    """
    return environment.apply_tool_mode(select_thoughts(messages, targets, environment, agent))


def select_thoughts(
    messages: Sequence[Message], targets: int, environment: Environment, agent: str
) -> tuple[Message, ...]:
    """Return the messages with only those thoughts that the model saw, or that are to be learnt."""
    thinking, last = environment.sft.thinking, len(messages) - targets
    keeps_thoughts = thinking == "all" and environment.keeps_thoughts(agent)
    context = messages[:last] if keeps_thoughts else map(_drop_thought, messages[:last])
    learnt = map(_drop_thought, messages[last:]) if thinking == "none" else messages[last:]
    return (*context, *learnt)


def _drop_thought(message: Message) -> Message:
    return message.model_copy(update={"reasoning": ""}) if message.reasoning else message


def dump_with_system_prompt(environment: Environment, messages: Sequence[Message]) -> list[str] | None:
    """Dump the messages, with the environment's system prompt in place of the first one.

    A trained model will get that prompt, not the prompt of a teacher.
    """
    texts = chat.dump_messages(messages[1:])
    return texts and [environment.opening, *texts]
