"""Measure a solver on questions with known answers, to check the instrument that measures difficulty.

Its recall of the supporting documents is compared with one search for the bare question at the same number of distinct
passages. A solver that finds no more than that gains nothing by searching in steps. Accuracy, evidence recall and
searches are defined as by BrowseComp-Plus.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import product

import polars as pl

from pipeline.agents.grading import f1
from pipeline.agents.judge import NearMiss, ask_judges, decide
from pipeline.agents.solver import attempt, solver
from pipeline.config import RunConfig
from pipeline.errors import FormatError, RequestRefused, UsageError
from pipeline.llm.base import LLM
from pipeline.llm.concurrent_work import run_concurrently
from pipeline.measurement.gold_questions import GoldQuestion
from pipeline.retrieval.base import Retriever
from pipeline.text.names import normalise
from pipeline.types import Data, Rollout, Stop

ALL = "all"


class Scored(Data):
    """One scored rollout. The recalls are None if the question names no supporting documents."""

    question: int
    sample: int
    answer: str
    right: bool | None
    """Whether the judge accepts the answer; None if it gave no readable verdict."""
    exact: bool
    f1: float
    steps: int
    searches: int
    """Calls of `search` and `find`, repeats included."""
    seen: int
    """Distinct passages."""
    evidence_recall: float | None
    """Share of the supporting documents of which the rollout saw a passage."""
    recall: bool | None
    """Whether the rollout saw a passage of every supporting document."""
    baseline: bool | None
    """Whether one search with the question finds the same, in as many passages."""
    calls: int
    """Valid calls, the answer included."""
    format_errors: int
    """Invalid calls, and turns without a call."""
    stop: Stop


class SolverFigures(Data):
    """Means over the rollouts of one group of questions."""

    group: str
    questions: int
    rollouts: int
    accuracy: float | None
    """Share of the judged rollouts whose answer the judge accepts. No answer is a wrong one."""
    exact: float
    """EM after SQuAD's normalisation; this is also the solve rate."""
    f1: float
    solved: float
    """Share of the questions that at least one rollout solved."""
    least_steps: float | None
    """Mean, over the solved questions, of the fewest steps of a correct rollout."""
    steps: float
    searches: float
    median_steps: float
    p90_steps: int
    seen: float
    evidence_recall: float | None
    recall: float | None
    baseline: float | None


class Measurement(Data):
    model: str
    demo_solver: int | None
    """The version of the demo model if it was the solver, else None."""
    k: int
    figures: tuple[SolverFigures, ...]
    """`all`, then each data set, then each data set by hops."""
    scored: tuple[Scored, ...]
    refused: int = 0
    """Rollouts that a server refused; they count in no figure."""

    @property
    def unjudged(self) -> int:
        """Return the number of rollouts without a readable verdict; they do not count in the accuracy."""
        return sum(rollout.right is None for rollout in self.scored)


async def measure(
    questions: Sequence[GoldQuestion], llm: LLM, retriever: Retriever, config: RunConfig, boundary: str
) -> Measurement:
    """Make `config.loop.rollouts` rollouts of each question, within the budgets of `config.solver`.

    `boundary` is the secret that marks the end of an answer in the judge's prompt, as in `RunContext`.

    Raises errors of model and index, and RequestRefused if a server refused every rollout.
    """
    if not all(question.answer for question in questions):
        raise UsageError("the questions have no answers: compare what retrievers find of their documents instead")
    agent = solver(config, llm, retriever)

    refused: list[RequestRefused] = []

    async def score_sample(pair: tuple[int, int]) -> Scored | None:
        index, sample = pair
        try:
            rollout = await attempt(agent, questions[index].question, sample)
        except RequestRefused as error:
            refused.append(error)
            return None
        is_right = await _is_right(questions[index], rollout, llm, config, boundary)
        return await _score_rollout(index, questions[index], rollout, retriever, is_right)

    pairs = product(range(len(questions)), range(config.loop.rollouts))
    rows = await run_concurrently(pairs, score_sample, config.seeds_at_work(), lambda ended: None)
    scored = [row for row in rows if row]
    if refused and not scored:
        raise refused[0]
    return Measurement(
        model=config.models.of("solver").model,
        demo_solver=config.models.of("solver").capabilities.version,
        k=config.retrieval.k,
        figures=tuple(_summarise(questions, scored)),
        scored=tuple(scored),
        refused=len(refused),
    )


def _document_id(passage_id: str) -> str:
    return passage_id.rpartition("#")[0]


async def _is_right(
    question: GoldQuestion, rollout: Rollout, llm: LLM, config: RunConfig, boundary: str
) -> bool | None:
    if not rollout.answered:
        return False
    case = NearMiss(
        question=question.question,
        answer=question.answer,
        answer_aliases=question.answer_aliases,
        answer_type=question.answer_type,
        response=rollout.answer,
    )
    is_right = decide(case)
    if is_right is not None:
        return is_right
    try:
        return (await ask_judges(case, config.models.judges(), llm, boundary)).right
    except (FormatError, RequestRefused):
        return None


async def _score_rollout(
    index: int, question: GoldQuestion, rollout: Rollout, retriever: Retriever, is_right: bool | None
) -> Scored:
    seen_passages = {passage_id for call in rollout.trajectory.calls for passage_id in call.passage_ids}
    seen_documents = set(map(_document_id, seen_passages))
    needed = question.needed_documents
    baseline_hits = await retriever.search(question.question, max(1, len(seen_passages))) if needed else []
    return Scored(
        question=index,
        sample=rollout.sample,
        answer=rollout.answer,
        right=is_right,
        # Normalising drops articles, so the gold answer "A" becomes empty and would equal a missing answer.
        exact=bool(rollout.answer) and normalise(rollout.answer) in {normalise(answer) for answer in question.answers},
        f1=max(f1(rollout.answer, answer) for answer in question.answers) if rollout.answer else 0.0,
        steps=rollout.trajectory.steps,
        searches=sum(call.tool != "open" for call in rollout.trajectory.calls),
        seen=len(seen_passages),
        evidence_recall=_share_contained(needed, seen_documents),
        recall=_contains_all(needed, seen_documents),
        baseline=_contains_all(needed, {hit.passage.document_id for hit in baseline_hits}),
        calls=len(rollout.trajectory.calls) + bool(rollout.trajectory.final),
        format_errors=rollout.trajectory.format_errors,
        stop=rollout.trajectory.stop,
    )


def _share_contained(needed: Sequence[frozenset[str]], document_ids: Collection[str]) -> float | None:
    if not needed:
        return None
    return sum(not alternatives.isdisjoint(document_ids) for alternatives in needed) / len(needed)


def _contains_all(needed: Sequence[frozenset[str]], document_ids: Collection[str]) -> bool | None:
    return _share_contained(needed, document_ids) == 1 if needed else None


def _summarise(questions: Sequence[GoldQuestion], scored: Sequence[Scored]) -> Iterator[SolverFigures]:
    rows = pl.DataFrame(
        [{**dict(rollout), "group": groups(questions[rollout.question])} for rollout in scored],
        schema_overrides=dict.fromkeys(("right", "recall", "baseline"), pl.Boolean) | {"evidence_recall": pl.Float64},
    ).explode("group")
    question_count, steps = pl.col("question").n_unique(), pl.col("steps")
    fewest_steps = rows.filter("exact").group_by("group", "question").agg(steps.min())
    figures = rows.group_by("group").agg(
        pl.col("exact", "f1", "steps", "searches", "seen", "evidence_recall", "recall", "baseline").mean(),
        accuracy=pl.col("right").mean(),
        questions=question_count,
        rollouts=pl.len(),
        solved=pl.col("question").filter("exact").n_unique() / question_count,
        median_steps=steps.median(),
        p90_steps=steps.quantile(0.9, "higher").cast(int),
    )
    figures = figures.join(fewest_steps.group_by("group").agg(least_steps=steps.mean()), on="group", how="left")
    for row in figures.sort(pl.col("group") != ALL, "group").iter_rows(named=True):
        yield SolverFigures(**row)


def groups(question: GoldQuestion) -> list[str]:
    hops = f"{question.hops}-hop" if question.hops else ""
    candidates = [ALL, question.dataset, f"{question.dataset} {hops}".strip() if hops else ""]
    return [name for name in dict.fromkeys(candidates) if name]
