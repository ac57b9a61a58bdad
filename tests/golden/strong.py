"""Six seeds that a strong model ran in every role, exported by the current product.

Their records are stored in their original format; `convert` is the only place that says how they are read today.
"""

from pathlib import Path
from typing import Any

import orjson

from pipeline.config import build
from pipeline.run import publish, resume
from pipeline.store.files import write_json
from pipeline.store.journal import Journal
from pipeline.types import Draft, Record
from tests.golden.recording import HOME, read_packed_lines
from tests.golden.runs import Pinned

ROLES = {"default": "gen", "solver": "sol", "judge": "judge", "reader": "read", "writer": "writer"}
RENAMED = {
    "lessons": "teacher_rollouts",
    "opposition": "distractor_eval",
    "plain": "without_distractors",
    "plain_verdicts": "without_distractors_verdicts",
    "opposed": "with_distractors",
    "opposed_verdicts": "with_distractors_verdicts",
    "solver": "model",
}
"""Fields of records, at any depth, that have another name since."""
DROPPED = frozenset({"control", "decided", "solver_digest", "hides"})
"""Fields of records, at any depth, that are no more."""


def convert(tree: Any) -> Any:
    """Convert a stored record to today's format."""
    if isinstance(tree, dict):
        fields = {name: value for name, value in tree.items() if name not in DROPPED}
        if "check" in tree:  # a probe or finding: what it was about and whether it was fatal is kept no more
            fields = {name: value for name, value in fields.items() if name not in ("fatal", "searches")}
            fields = {name: value for name, value in fields.items() if name != "hops" or "cause" in tree}
        if "draw" in tree:  # a seed, which draws no type of answer any more
            del fields["answer_type"]
        tree = {RENAMED.get(name, name): convert(value) for name, value in fields.items()}
        return _as_draft(tree) if "hops" in tree and "question" in tree else tree
    return [convert(value) for value in tree] if isinstance(tree, list) else tree


def _as_draft(tree: dict[str, Any]) -> dict[str, Any]:
    """Return a kept draft with its hops as the steps of a graph."""
    steps = [
        {
            "id": f"h{n}",
            "sub_question": hop["sub_question"],
            "answer": hop["answer"],
            "answer_aliases": hop.get("answer_aliases", []),
            "needs": [f"h{n - 1}"] if n else [],
            "citation": {name: hop[name] for name in ("passage_id", "title", "quote", "passage_sha256")}
            | {"sentences": [0]},
        }
        for n, hop in enumerate(tree["hops"])
    ]
    return {name: value for name, value in tree.items() if name in Draft.model_fields} | {"graph": {"steps": steps}}


def config(out: Path) -> Pinned:
    """Return the configuration of the run, as far as records, card and report show it."""
    server = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
    values = {
        "seed": 777,
        "corpus": {"name": "wiki"},
        "models": {role: {**server, "model": model} for role, model in ROLES.items()},
        "loop": {"rollouts": 2, "rounds": 2},
        "checks": {"tries": 1},
        "distractors": {"kinds": ["doppelganger", "false_shortcut", "fragmented_puzzle", "subjective_fallacy"]},
        "teacher": {"rollouts": 1},
        "runtime": {"seeds": 6, "out": out},
    }
    return Pinned.model_validate(build(values=values).model_dump())


def write_run(out: Path) -> tuple[Path, Pinned]:
    """Write journal, data set and report below `out`. Return the run's folder and configuration."""
    settings = config(out)
    folder = settings.folder()
    journal = Journal(folder / "journal")
    for line in read_packed_lines(HOME / "strong-model.jsonl.zst"):
        stored = orjson.loads(line)
        record = Record.model_validate(convert(stored["record"]))
        resume.begin(folder, settings, record.lineage.corpus_fingerprint)
        journal.append(record, stored["order"])
    journal.close()
    # The configuration behind its keys is incomplete, so its digest cannot be compared.
    state = resume.read(folder).model_copy(update={"digest": ""})
    write_json(folder / resume.NAME, state.model_dump(mode="json"))
    publish.dataset(folder, settings)
    publish.report(folder, settings)
    return folder, settings
