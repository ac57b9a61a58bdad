"""`qa`: one flat row per question with its evidence; for people, evaluation harnesses and your own converter.

The columns are a contract of Digsite. Solve rate and hit step come from the solver's rollouts, difficulty also from
those of seekers. `assessments` has them for the run's own solver, then for every measured policy, its latest
measurement last. A question without an answer follows its pair (`twin_of`); its last hop holds the passage that
contradicts its premise.
"""

from collections.abc import Iterable

from pipeline.agents.answers import list_items
from pipeline.agents.environment_file import Environment
from pipeline.exports import question_columns
from pipeline.exports.views.base import Rows, View, ViewOptions
from pipeline.store.arrow import columns, projection
from pipeline.types import AnswerItem, AnswerType, Assessment, Hop, OneSearch, Record, correct
from pipeline.types.curriculum import COLUMNS, curriculum
from pipeline.types.twin_record import twin_of

HOP: dict[str, object] = {
    "sub_question": str,
    "answer": str,
    "passage_id": str,
    "title": str,
    "quote": str,
    "needs": [int],
}
ITEM: dict[str, object] = {"answer": str, "aliases": [str]}


def item(value: AnswerItem | Hop, columns: Iterable[str]) -> dict[str, object]:
    fields = {name: getattr(value, name) for name in columns}
    return {name: list(field) if isinstance(field, tuple) else field for name, field in fields.items()}


_QUESTION, row = projection(
    id=(str, lambda record, draft: record.key),
    question=(str, lambda record, draft: draft.question),
    answer=(str, lambda record, draft: draft.answer),
    answer_aliases=([str], lambda record, draft: list(draft.answer_aliases)),
    answer_items=([ITEM], lambda record, draft: [item(i, ITEM) for i in list_items(draft)]),
    answer_type=(str, lambda record, draft: draft.answer_type.value),
    answerable=(bool, lambda record, draft: draft.answer_type is not AnswerType.UNANSWERABLE),
    twin_of=(str, lambda record, draft: twin_of(record)),
    target_steps=(int, lambda record, draft: record.seed.target_steps),
    difficulty=(int, lambda record, draft: record.difficulty),
    solve_rate=(float, lambda record, draft: record.solve_rate),
    hit_step=(int, lambda record, draft: hit_step(record)),
    rollouts=(int, lambda record, draft: len(record.measured)),
    assessments=([Assessment], lambda record, draft: [assessment.model_dump() for assessment in assessments(record)]),
    one_search=([OneSearch], lambda record, draft: [search.model_dump() for search in record.one_search]),
    # Number of revisions: 0 is the generator's own draft.
    rounds=(int, lambda record, draft: record.rounds[-1].index),
    strategy=(str, lambda record, draft: record.lineage.strategy),
    preset=(str, lambda record, draft: record.lineage.preset),
    model=(str, lambda record, draft: record.lineage.model),
    hops=([HOP], lambda record, draft: [item(hop, HOP) for hop in draft.hops]),
    origin=(str, lambda record, draft: draft.origin),
    corpus=(str, lambda record, draft: record.lineage.corpus),
    corpus_fingerprint=(str, lambda record, draft: record.lineage.corpus_fingerprint),
    licence=(str, lambda record, draft: record.lineage.licence),
    as_of=(str, lambda record, draft: record.lineage.as_of),
    language=(str, lambda record, draft: record.lineage.language),
    trainable=(bool, lambda record, draft: record.lineage.trainable),
    run=(str, lambda record, draft: record.lineage.run),
)
SCHEMA = columns(**_QUESTION | COLUMNS | question_columns.COLUMNS)


def rows(record: Record, environment: Environment) -> Rows:
    if record.draft:
        facts = question_columns.question_columns(record, environment)
        yield {**curriculum(record, environment.policy), **facts, **row(record, record.draft)}


def assessments(record: Record) -> list[Assessment]:
    return [*record.assessments, *(measured.assessment for measured in record.measurements)]


def hit_step(record: Record) -> int | None:
    return min((v.hit_step for v in correct(record.measured) if v.hit_step is not None), default=None)


VIEW = View(rows, SCHEMA, ViewOptions("spans", env_specific=False))
