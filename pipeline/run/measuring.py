"""How good is a solver on questions with known answers? The check of the instrument that difficulty is measured with.

Recall of the supporting documents is set against one search with the bare question at the same number of distinct
passages: a solver that finds no more than that adds nothing by searching in steps.
"""

import asyncio
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from pipeline.agents.grading import f1
from pipeline.agents.solver import attempt, solver
from pipeline.config import RunConfig
from pipeline.errors import UsageError
from pipeline.llm.base import LLM
from pipeline.retrieval.base import Retriever
from pipeline.text import normalise
from pipeline.types import Data, Rollout

ALL = "all"


class GoldQuestion(Data):
    """One line of a question file; other fields of the line are left out."""

    question: str
    answer: str
    answer_aliases: tuple[str, ...] = ()
    hops: int = 0
    """0: not known."""
    supporting_ids: tuple[str, ...] = ()
    """Documents, not passages."""
    dataset: str = ""

    @property
    def answers(self) -> tuple[str, ...]:
        return (self.answer, *self.answer_aliases)


class Scored(Data):
    """One rollout. The recalls are None where the question names no supporting documents."""

    question: int
    sample: int
    answer: str
    exact: bool
    f1: float
    steps: int
    seen: int
    """Distinct passages."""
    recall: bool | None
    """Was a passage of every supporting document seen?"""
    baseline: bool | None
    """The same of one search with the question, for as many passages."""


class SolverFigures(Data):
    """Means over the rollouts of one group of questions."""

    group: str
    questions: int
    rollouts: int
    exact: float
    """EM after SQuAD's normalisation; this is also the solve rate."""
    f1: float
    solved: float
    """Share of the questions that at least one rollout solved."""
    least_steps: float | None
    """Mean over the solved questions of the least steps of a right rollout."""
    steps: float
    median_steps: float
    p90_steps: int
    seen: float
    recall: float | None
    baseline: float | None


class Measurement(Data):
    model: str
    solver_digest: str
    """Empty for another model than the embedded one."""
    k: int
    figures: tuple[SolverFigures, ...]
    """`all`, then each data set, then each data set by hops."""
    scored: tuple[Scored, ...]


def read(path: Path) -> tuple[GoldQuestion, ...]:
    """The questions of a JSONL file, or of Parquet: a file or a folder of them, as the view `qa` is.

    Raises UsageError, naming the line, where one has no question or answer.
    """
    found = []
    try:
        for place, row in _parquet(path) if path.is_dir() or path.suffix == ".parquet" else _lines(path):
            try:
                found.append(GoldQuestion.model_validate(_told(row)))
            except ValidationError as error:
                field = error.errors()[0]["loc"][0]
                raise UsageError(f"{path}, {place}: its '{field}' is missing or of the wrong type") from error
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is no Parquet'}") from error
    if not found:
        raise UsageError(f"{path}: holds no question")
    return tuple(found)


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(path.read_bytes().removeprefix(BOM_UTF8).splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            row = None
        if not isinstance(row, dict):
            raise UsageError(f"{path}, line {number}: no JSON object with a 'question' and an 'answer'")
        yield f"line {number}", row


def _parquet(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        with pq.ParquetFile(file) as opened:
            known = [name for name in opened.schema_arrow.names if name in GoldQuestion.model_fields]
            for number, row in enumerate(opened.read(known).to_pylist(), 1):
                yield f"{file.name}, row {number}" if file != path else f"row {number}", row


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """What of a row is a question's. Our own rows tell their hops one by one, each with its passage."""
    told = {name: row[name] for name in GoldQuestion.model_fields if row.get(name)}
    hops = told.get("hops")
    if isinstance(hops, list) and all(isinstance(hop, dict) and isinstance(hop.get("passage_id"), str) for hop in hops):
        homes = dict.fromkeys(_document(hop["passage_id"]) for hop in hops)
        told = {"supporting_ids": tuple(homes), **told, "hops": len(hops)}
    return told


async def measure(questions: Sequence[GoldQuestion], llm: LLM, retriever: Retriever, config: RunConfig) -> Measurement:
    """`config.loop.rollouts` rollouts of each question, within `config.solver`; raises what model and index do."""
    from pipeline.embedded import solver as embedded

    gate = asyncio.Semaphore(config.seeds_at_work())
    agent = solver(config, llm, retriever)

    async def one(index: int, sample: int) -> Scored:
        async with gate:
            rollout = await attempt(agent, questions[index].question, sample)
            return await _scored(index, questions[index], rollout, retriever)

    pairs = [(index, sample) for index in range(len(questions)) for sample in range(config.loop.rollouts)]
    scored = await asyncio.gather(*(one(index, sample) for index, sample in pairs))
    return Measurement(
        model=config.models.of("solver").model,
        solver_digest=embedded.digest() if config.models.of("solver").embedded else "",
        k=config.retrieval.k,
        figures=tuple(_groups(questions, scored)),
        scored=tuple(scored),
    )


def _document(passage_id: str) -> str:
    """The id of the document that a passage is of."""
    return passage_id.rpartition("#")[0]


async def _scored(index: int, question: GoldQuestion, rollout: Rollout, retriever: Retriever) -> Scored:
    seen = {passage_id for call in rollout.trajectory.calls for passage_id in call.passage_ids}
    wanted = set(question.supporting_ids)
    once = await retriever.search(question.question, max(1, len(seen))) if wanted else []
    return Scored(
        question=index,
        sample=rollout.sample,
        answer=rollout.answer,
        exact=normalise(rollout.answer) in {normalise(answer) for answer in question.answers},
        f1=max(f1(rollout.answer, answer) for answer in question.answers),
        steps=rollout.trajectory.steps,
        seen=len(seen),
        recall=wanted <= {_document(passage_id) for passage_id in seen} if wanted else None,
        baseline=wanted <= {hit.passage.document_id for hit in once} if wanted else None,
    )


def _groups(questions: Sequence[GoldQuestion], scored: Sequence[Scored]) -> Iterable[SolverFigures]:
    groups: dict[str, list[Scored]] = defaultdict(list)
    for row in scored:
        question = questions[row.question]
        hops = f"{question.hops}-hop" if question.hops else ""
        named = [ALL, question.dataset, " ".join(part for part in (question.dataset, hops) if part) if hops else ""]
        for name in dict.fromkeys(name for name in named if name):
            groups[name].append(row)
    for name in sorted(groups, key=lambda name: (name != ALL, name)):
        yield _figures(name, groups[name])


def _figures(group: str, rows: Sequence[Scored]) -> SolverFigures:
    least: dict[int, int] = {}
    for row in rows:
        if row.exact:
            least[row.question] = min(row.steps, least.get(row.question, row.steps))
    steps = sorted(row.steps for row in rows)
    total = len({row.question for row in rows})
    return SolverFigures(
        group=group,
        questions=total,
        rollouts=len(rows),
        exact=_mean([row.exact for row in rows]) or 0.0,
        f1=_mean([row.f1 for row in rows]) or 0.0,
        solved=len(least) / total,
        least_steps=_mean(least.values()),
        steps=sum(steps) / len(steps),
        median_steps=median(steps),
        p90_steps=steps[min(len(steps) - 1, int(len(steps) * 0.9))],
        seen=sum(row.seen for row in rows) / len(rows),
        recall=_mean([row.recall for row in rows if row.recall is not None]),
        baseline=_mean([row.baseline for row in rows if row.baseline is not None]),
    )


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None
