"""`planner`: question → sub-questions with references to each other's answers; for APEX-style planners.

Rules: APEX-Searcher (arXiv 2603.13853), `{question, gold_plan}` as in MuSiQue's decompositions: "#1" stands for the
answer of the first sub-question. The plan is the evidence chain of the question. A sub-question depends on another if
it names that one's answer, or if the answer is the title of its evidence. Questions are left out if they have one hop,
if nothing depends on one of their earlier hops, or if they have no answer.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories.checklist import step
from pipeline.exports.views.base import PROVENANCE, Rows, View, ViewOptions, provenance
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(
    question=str, answer=str, gold_plan=[str], depends_on=[[int]], sub_answers=[str], passage_ids=[str], **PROVENANCE
)


def rows(record: Record, environment: Environment) -> Rows:
    if record.draft is None:
        return
    hops = record.draft.hops
    steps = [step(hop, hops[:index]) for index, hop in enumerate(hops)]
    used = {number for _, numbers in steps for number in numbers}
    if len(hops) < 2 or used != set(range(1, len(hops))):
        return
    yield {
        "question": record.draft.question,
        "answer": record.draft.answer,
        "gold_plan": [text for text, _ in steps],
        "depends_on": [numbers for _, numbers in steps],
        "sub_answers": [hop.answer for hop in hops],
        "passage_ids": [hop.passage_id for hop in hops],
        **provenance(record, [record.draft.question, *(text for text, _ in steps)]),
    }


VIEW = View(rows, SCHEMA, ViewOptions("ids", env_specific=False, takes_twins=False, needs="a question of several hops"))
