"""`synthetic`: the distractors of every question, apart from all that is of the corpus; for whoever trains with them.

Every passage here was written to mislead and is false in part: `synthetic` marks each row. They belong to the overlay
of their own question, `question_id`, and must enter no index that other questions search. `shown_id` is the id that
the observations of the trajectories show; nothing there tells them from real passages.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.dataset.views.base import trainable
from pipeline.types import Record

SCHEMA = pa.schema(
    [
        ("synthetic", pa.bool_()),
        ("question_id", pa.string()),
        ("passage_id", pa.string()),
        ("shown_id", pa.string()),
        ("kind", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("hop", pa.int32()),
        ("claim", pa.string()),
        ("mark", pa.string()),
        ("competes_with", pa.string()),
        ("licence", pa.string()),
        ("trainable", pa.bool_()),
        ("run", pa.string()),
    ]
)


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    for distractor in record.opposition.used if record.opposition else ():
        yield {
            "synthetic": True,
            "question_id": record.key,
            "passage_id": distractor.id,
            "shown_id": distractor.passage.shown_id,
            "kind": distractor.kind,
            "title": distractor.title,
            "text": distractor.text,
            "hop": distractor.hop,
            "claim": distractor.claim,
            "mark": distractor.mark,
            "competes_with": distractor.source_id,
            "licence": record.lineage.licence,
            "trainable": trainable(record),
            "run": record.lineage.run,
        }
