"""`synthetic`: the distractors of every question, as passages; to train with them in the index.

A `synthetic` passage was written or altered to mislead and is partly false. It belongs to the overlay of its question,
`question_id`, and must not be in an index that other questions search. Any other passage is an unaltered one of the
corpus, which a search for the question retrieves. `shown_id` is the id that observations of trajectories show; nothing
there tells distractors from other passages.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.views.base import Rows, View, ViewOptions
from pipeline.store.arrow import columns, projection
from pipeline.types import Record

_COLUMNS, row = projection(
    synthetic=(bool, lambda record, distractor: not distractor.unaltered),
    question_id=(str, lambda record, distractor: record.key),
    passage_id=(str, lambda record, distractor: distractor.id),
    shown_id=(str, lambda record, distractor: distractor.passage.shown_id),
    kind=(str, lambda record, distractor: distractor.kind),
    title=(str, lambda record, distractor: distractor.passage.heading),
    text=(str, lambda record, distractor: distractor.text),
    hop=(int, lambda record, distractor: distractor.hop),
    claim=(str, lambda record, distractor: distractor.claim),
    mark=(str, lambda record, distractor: distractor.mark),
    blind_readings=(int, lambda record, distractor: len(distractor.blind)),
    blind_named=(int, lambda record, distractor: sum(distractor.blind)),
    competes_with=(str, lambda record, distractor: record.draft.hops[distractor.hop].passage_id),
    licence=(str, lambda record, distractor: record.lineage.licence),
    trainable=(bool, lambda record, distractor: record.lineage.trainable),
    run=(str, lambda record, distractor: record.lineage.run),
)
SCHEMA = columns(**_COLUMNS)


def rows(record: Record, environment: Environment) -> Rows:
    for distractor in record.distractor_eval.used if record.distractor_eval else ():
        yield row(record, distractor)


VIEW = View(rows, SCHEMA, ViewOptions(env_specific=False, needs="distractors"))
