"""What every view is, and what all of them share: which records they take and which rollouts stand for one."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import pyarrow as pa

from pipeline import registry
from pipeline.agents.environment import Environment
from pipeline.dataset import chat, shipped
from pipeline.types import Message, Record, Rollout, Status, Verdict

_PART = re.compile(r"^from pipeline\.dataset\.shipped\.(\w+) import .+\n", re.MULTILINE)
INCLUDES = ("below_target", "beyond_solver", "always_solved")
"""What `include` may add: confirmed pairs below their target, those that only a solver of `digsite remeasure` solved,
and to `rl_*` questions that every rollout solved."""

PROVENANCE: list[tuple[str, pa.DataType]] = [
    ("id", pa.string()),
    ("difficulty", pa.int32()),
    ("solve_rate", pa.float64()),
    ("tokens", pa.int32()),
    ("corpus", pa.string()),
    ("licence", pa.string()),
    ("model", pa.string()),
    ("trainable", pa.bool_()),
    ("run", pa.string()),
]
"""What every row to train on says of itself, in columns of its own and never in a prompt."""
COMPLETION = [("prompt", chat.MESSAGES), ("completion", chat.MESSAGES), ("tools", chat.JSON)]
PREFERENCE = [("prompt", chat.MESSAGES), ("chosen", chat.MESSAGES), ("rejected", chat.MESSAGES), ("tools", chat.JSON)]
"""TRL's shapes: the last turn is what is learnt, or the last two, of which one is."""


class View(Protocol):
    """A module of this package. Its docstring names its consumer and where its rules come from.

    It may have `BESIDE`: texts to write into `code/` of the data set, by file name; and `HOLDS`, what its rows have of
    the corpus: whole passages ("full", where it says nothing), quotes ("spans") or neither ("ids"). One whose name
    begins with `rl_` is given only what `teaches`.
    """

    SCHEMA: pa.Schema

    def rows(self, record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
        """The rows of one record that has been taken: any number, none where the consumer could not use it."""
        ...


class Attempt(NamedTuple):
    rollout: Rollout
    verdict: Verdict


def names() -> list[str]:
    return registry.names("views")


def load(name: str) -> View:
    """The view of that name; UsageError names the known ones."""
    return cast(View, registry.load("views", name))


def beside(view: View) -> Mapping[str, str]:
    """Texts that are written into `code/` of the data set that holds the view, by file name."""
    return getattr(view, "BESIDE", {})


def withheld(view: View, redistribute: str) -> bool:
    """Does the view hold more of the corpus than may be passed on? `redistribute` is the manifest's."""
    order = ("ids", "spans", "full")
    return redistribute in order and order.index(getattr(view, "HOLDS", "full")) > order.index(redistribute)


def shipped_file(name: str) -> str:
    """The text of a file of `dataset/shipped`, with what it imports from there in its place: it has to stand alone."""
    text = (Path(shipped.__file__).parent / name).read_text(encoding="utf-8")
    return _PART.sub(lambda part: shipped_file(f"{part[1]}.py"), text)


def taken(record: Record, include: tuple[str, ...] = ()) -> bool:
    """Is it accepted, or of a kind that `include` names, measured on fresh rollouts?"""
    if record.status is Status.ACCEPTED:
        return True
    return record.reason in include and bool(record.confirmation_verdicts)


def teaches(record: Record, include: tuple[str, ...] = ()) -> bool:
    """Is a question of use to reinforcement learning: solved at times? Equal rewards in a group give no gradient."""
    rate = record.solve_rate or 0.0
    return rate > 0 and (rate < 1 or "always_solved" in include)


def trainable(record: Record) -> bool:
    """No, where the embedded model took part: such rows show that the loop works and teach nothing."""
    return not record.lineage.embedded


def provenance(record: Record, texts: Iterable[str]) -> dict[str, Any]:
    """The columns of PROVENANCE; `texts` are what a trainer tokenises."""
    (difficulty, solve_rate), lineage = record.hardness, record.lineage
    return {
        "id": record.key,
        "difficulty": difficulty,
        "solve_rate": solve_rate,
        "tokens": chat.tokens(texts),
        "corpus": lineage.corpus,
        "licence": lineage.licence,
        "model": lineage.model,
        "trainable": trainable(record),
        "run": lineage.run,
    }


def completion(record: Record, texts: list[str], tools: str) -> dict[str, Any]:
    """The columns of COMPLETION and PROVENANCE."""
    return {"prompt": texts[:-1], "completion": texts[-1:], "tools": tools, **provenance(record, [*texts, tools])}


def preference(record: Record, texts: list[str], tools: str) -> dict[str, Any]:
    """The columns of PREFERENCE and PROVENANCE; `texts` end with the chosen turn and the rejected one."""
    turns = {"prompt": texts[:-2], "chosen": texts[-2:-1], "rejected": texts[-1:]}
    return {**turns, "tools": tools, **provenance(record, [*texts, tools])}


def attempts(record: Record) -> list[Attempt]:
    """All rollouts of the final question with their verdicts: of its confirmation and of its own round."""
    return [Attempt(rollout, verdict) for rollout, verdict in _tried(record)]


def correct(record: Record) -> Iterator[tuple[Rollout, Verdict]]:
    """The correct ones, shortest first."""
    found: list[tuple[int, int, int, int, Rollout, Verdict]] = []
    for rollout, verdict in _tried(record):
        if verdict.right and verdict.supported:
            # The place parts equal ones.
            found.append((verdict.steps, verdict.calls, verdict.sample, len(found), rollout, verdict))
    found.sort()
    # One at a time, since most views want the first alone.
    for *_, rollout, verdict in found:
        yield rollout, verdict


def _tried(record: Record) -> Iterable[tuple[Rollout, Verdict]]:
    last = record.last
    if last is None:
        return ()
    rollouts, verdicts = record.confirmation + last.rollouts, record.confirmation_verdicts + last.verdicts
    return zip(rollouts, verdicts, strict=True)


def under(environment: Environment, messages: Sequence[Message]) -> list[str] | None:
    """The conversation as `chat.dumped` gives it, with the environment's system prompt: a teacher's own is not what its
    pupil will be given."""
    texts = chat.dumped(messages[1:])
    return texts and [environment.opening, *texts]
