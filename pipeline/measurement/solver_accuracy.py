"""How good is a solver on questions with known answers? The check of the instrument that difficulty is measured with.

Recall of the supporting documents is set against one search with the bare question at the same number of distinct
passages: a solver that finds no more than that adds nothing by searching in steps.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import product

import polars as pl

from pipeline.agents.grading import f1
from pipeline.agents.solver import attempt, solver
from pipeline.config import RunConfig
from pipeline.errors import RequestRefused, UsageError
from pipeline.llm.base import LLM
from pipeline.llm.concurrent_work import run_concurrently
from pipeline.measurement.gold_questions import GoldQuestion
from pipeline.retrieval.base import Retriever
from pipeline.text.names import normalise
from pipeline.types import Data, Rollout, Stop

ALL = "all"


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
    calls: int
    """Carried out, that of the answer among them: with `format_errors`, the share of valid calls."""
    format_errors: int
    """Calls that could not be carried out, and turns without any."""
    stop: Stop


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
    demo_solver: int | None
    """The version of the demo model where it solved; None for any other solver."""
    k: int
    figures: tuple[SolverFigures, ...]
    """`all`, then each data set, then each data set by hops."""
    scored: tuple[Scored, ...]
    refused: int = 0
    """Rollouts that a server refused; they count in no figure."""


async def measure(questions: Sequence[GoldQuestion], llm: LLM, retriever: Retriever, config: RunConfig) -> Measurement:
    """Make `config.loop.rollouts` rollouts of each question, within `config.solver`. Raises what model and index do,
    and RequestRefused if a server refused all of them."""
    if not all(question.answer for question in questions):
        raise UsageError("the questions have no answers: compare what retrievers find of their documents instead")
    agent = solver(config, llm, retriever)

    refused: list[RequestRefused] = []

    async def one(pair: tuple[int, int]) -> Scored | None:
        index, sample = pair
        try:
            rollout = await attempt(agent, questions[index].question, sample)
        except RequestRefused as error:
            refused.append(error)
            return None
        return await _scored(index, questions[index], rollout, retriever)

    pairs = product(range(len(questions)), range(config.loop.rollouts))
    rows = await run_concurrently(pairs, one, config.seeds_at_work(), lambda ended: None)
    scored = [row for row in rows if row]
    if refused and not scored:
        raise refused[0]
    return Measurement(
        model=config.models.of("solver").model,
        demo_solver=config.models.of("solver").capabilities.version,
        k=config.retrieval.k,
        figures=tuple(_figures(questions, scored)),
        scored=tuple(scored),
        refused=len(refused),
    )


def _document(passage_id: str) -> str:
    """The id of the document that a passage is of."""
    return passage_id.rpartition("#")[0]


async def _scored(index: int, question: GoldQuestion, rollout: Rollout, retriever: Retriever) -> Scored:
    seen = {passage_id for call in rollout.trajectory.calls for passage_id in call.passage_ids}
    wanted = question.wanted
    once = await retriever.search(question.question, max(1, len(seen))) if wanted else []
    return Scored(
        question=index,
        sample=rollout.sample,
        answer=rollout.answer,
        # Articles do not count: of the gold answer "A" or "The The" nothing is left, which equals no answer.
        exact=bool(rollout.answer) and normalise(rollout.answer) in {normalise(answer) for answer in question.answers},
        f1=max(f1(rollout.answer, answer) for answer in question.answers) if rollout.answer else 0.0,
        steps=rollout.trajectory.steps,
        seen=len(seen),
        recall=_all(wanted, {_document(passage_id) for passage_id in seen}),
        baseline=_all(wanted, {hit.passage.document_id for hit in once}),
        calls=len(rollout.trajectory.calls) + bool(rollout.trajectory.final),
        format_errors=rollout.trajectory.format_errors,
        stop=rollout.trajectory.stop,
    )


def _all(wanted: Sequence[frozenset[str]], found: Collection[str]) -> bool | None:
    return all(not one.isdisjoint(found) for one in wanted) if wanted else None


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
