"""`records`: everything, nested; the source that any other view can be made from again.

Consumer: our own tools and anyone's analysis. A row is the JSON of a `types.Record`, with how the rollouts went that
its difficulty rests on (`process`), and whether it may be trained on; `record` turns a row back into the very record,
but for e-mail addresses and keys that an agent read on the way, where no gate looks: their kind stands in their place.
The schema is that of the types, field by field: texts, whole numbers of 64 bits, lists, structs.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.dataset.gates.personal import masked, private
from pipeline.dataset.process import Process, measured, process
from pipeline.dataset.views.base import Rows, arrow
from pipeline.types import Record

TWINS = False
"""A twin is a part of the record of its pair."""
WHOLE = pa.int64()
BOUND = False
SCHEMA = pa.schema([*arrow(Record, WHOLE), ("process", pa.list_(arrow(Process, WHOLE))), ("trainable", pa.bool_())])


def rows(record: Record, environment: Environment) -> Rows:
    went = [process(*one).model_dump(mode="json") for one in measured(record)]
    yield {**_masked(record), "process": went, "trainable": record.lineage.trainable}


def _masked(record: Record) -> dict[str, Any]:
    """The final draft, its confirmation and the teacher's rollouts stay as they are: the gate has read them."""
    tree = record.model_dump(mode="json")
    # The journal has no room for what hardly a draft or round has; a column has.
    tree.setdefault("one_search", [])
    for past in tree["rounds"]:
        past["draft"] and past["draft"].setdefault("answer_items", [])
        past.setdefault("policy_rollouts", [])
        past.setdefault("policy_verdicts", [])
        _named(*past["findings"], *past["probes"], *past["checked"])
    _named(*(tree["twin"]["tries"] if tree["twin"] else ()))
    # Hardly any record holds one, and to go through all of it takes as long as Arrow takes with it.
    if not any(map(private, _ungated(record))):
        return tree
    kept, final = [past["draft"] for past in tree["rounds"]], record.last and record.last.index
    tree |= {name: _clean(tree[name]) for name in ("seed", "rounds", "opposition", "measurements", "twin", "forks")}
    for past, draft in zip(tree["rounds"], kept, strict=True):
        past["draft"] = draft if past["index"] == final else past["draft"]
    return tree


def _named(*checks: dict[str, Any]) -> None:
    for check in checks:
        for search in check["searches"]:
            search.setdefault("retriever", "")


def _ungated(record: Record) -> Iterator[str]:
    """The texts of corpus and distractors that agents read and that no gate looks at."""
    opposition = record.opposition
    rollouts = [rollout for past in record.rounds for rollout in (*past.rollouts, *past.policy_rollouts)]
    rollouts += [branch.rollout for fork in record.forks for branch in (*fork.branches, *fork.controls)]
    rollouts += opposition.plain if opposition else ()
    rollouts += [rollout for measured in record.measurements for rollout in measured.rollouts]
    rollouts += [rollout for tried in (record.twin.tries if record.twin else ()) for rollout in tried.rollouts]
    yield record.seed.passage.text
    for trajectory in (*(past.agent for past in record.rounds), *(rollout.trajectory for rollout in rollouts)):
        for message in trajectory.messages:
            yield message.content
    for distractor in opposition.distractors if opposition else ():
        yield distractor.text


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {name: _clean(part) for name, part in value.items()}
    return [_clean(part) for part in value] if isinstance(value, list) else value


def record(row: dict[str, Any]) -> Record:
    """The inverse of `rows`."""
    return Record.model_validate({name: row[name] for name in Record.model_fields})
