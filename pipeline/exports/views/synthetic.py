"""`synthetic`: the distractors of every question, as passages; to train with them in the index.

A passage that is `synthetic` was written or altered to mislead and is false in part. It belongs to the overlay of its
own question, `question_id`, and must enter no index that other questions search. One that is not is a passage of the
corpus as it stands, which a search for its question brings up. `shown_id` is the id that the observations of the
trajectories show; nothing there tells them from other passages.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.views.base import Rows, ViewOptions, projection
from pipeline.store.arrow import columns
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
OPTIONS = ViewOptions(env_specific=False, needs="distractors")


def rows(record: Record, environment: Environment) -> Rows:
    for distractor in record.distractor_eval.used if record.distractor_eval else ():
        yield row(record, distractor)
