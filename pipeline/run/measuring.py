"""How good is a solver on questions with known answers? The check of the instrument that difficulty is measured with.

Recall of the supporting documents is set against one search with the bare question at the same number of distinct
passages: a solver that finds no more than that adds nothing by searching in steps.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from pipeline.agents.grading import f1
from pipeline.agents.solver import attempt, solver
from pipeline.config import RunConfig
from pipeline.corpus import readers
from pipeline.corpus.readers.base import ReadLimits
from pipeline.dataset.tables import scan_parquet
from pipeline.errors import UsageError
from pipeline.llm.base import LLM
from pipeline.names import normalise
from pipeline.retrieval.base import Retriever
from pipeline.run.additions import each
from pipeline.run.prepare import solver_digest
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
    for place, row in _parquet(path) if path.is_dir() or path.suffix == ".parquet" else _lines(path):
        try:
            found.append(GoldQuestion.model_validate(_fields(row)))
        except ValidationError as error:
            field = error.errors()[0]["loc"][0]
            raise UsageError(f"{path}, {place}: its '{field}' is missing or of the wrong type") from error
    if not found:
        raise UsageError(f"{path}: contains no questions")
    return tuple(found)


def _lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for row in readers.rows("jsonl", path, ReadLimits()):
        if row.error:
            raise UsageError(f"{path}, {row.place}: {row.error}; give a JSON object with a 'question' and an 'answer'")
        yield row.place, row.values


def _parquet(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for file in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        try:
            rows = scan_parquet(file).collect().to_dicts()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise UsageError(f"cannot read {file}: it is not Parquet") from error
        for number, row in enumerate(rows, 1):
            yield f"{file.name}, row {number}" if file != path else f"row {number}", row


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a question. In our own rows `hops` is a list, each with its passage."""
    fields = {name: row[name] for name in GoldQuestion.model_fields if row.get(name)}
    hops = fields.get("hops")
    if isinstance(hops, list) and all(isinstance(hop, dict) and isinstance(hop.get("passage_id"), str) for hop in hops):
        homes = dict.fromkeys(_document(hop["passage_id"]) for hop in hops)
        fields = {"supporting_ids": tuple(homes), **fields, "hops": len(hops)}
    return fields


async def measure(questions: Sequence[GoldQuestion], llm: LLM, retriever: Retriever, config: RunConfig) -> Measurement:
    """`config.loop.rollouts` rollouts of each question, within `config.solver`; raises what model and index do."""
    agent = solver(config, llm, retriever)

    async def one(pair: tuple[int, int]) -> Scored:
        index, sample = pair
        rollout = await attempt(agent, questions[index].question, sample)
        return await _scored(index, questions[index], rollout, retriever)

    pairs = product(range(len(questions)), range(config.loop.rollouts))
    scored = await each(pairs, one, config.seeds_at_work(), lambda ended: None)
    return Measurement(
        model=config.models.of("solver").model,
        solver_digest=solver_digest(config.models.of("solver")),
        k=config.retrieval.k,
        figures=tuple(_figures(questions, scored)),
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


def _figures(questions: Sequence[GoldQuestion], scored: Sequence[Scored]) -> Iterator[SolverFigures]:
    rows = pl.DataFrame(
        [{**dict(one), "group": groups(questions[one.question])} for one in scored],
        schema_overrides={"recall": pl.Boolean, "baseline": pl.Boolean},
    ).explode("group")
    asked, steps = pl.col("question").n_unique(), pl.col("steps")
    least = rows.filter("exact").group_by("group", "question").agg(steps.min())
    figures = rows.group_by("group").agg(
        pl.col("exact", "f1", "steps", "seen", "recall", "baseline").mean(),
        questions=asked,
        rollouts=pl.len(),
        solved=pl.col("question").filter("exact").n_unique() / asked,
        median_steps=steps.median(),
        p90_steps=steps.quantile(0.9, "higher").cast(int),
    )
    figures = figures.join(least.group_by("group").agg(least_steps=steps.mean()), on="group", how="left")
    for row in figures.sort(pl.col("group") != ALL, "group").iter_rows(named=True):
        yield SolverFigures(**row)


def groups(question: GoldQuestion) -> list[str]:
    """`all`, its data set, and its data set by hops."""
    hops = f"{question.hops}-hop" if question.hops else ""
    named = [ALL, question.dataset, f"{question.dataset} {hops}".strip() if hops else ""]
    return [name for name in dict.fromkeys(named) if name]
