"""Recorded runs through the product's own stages: the loop, the journal, the forks, the export and the report.

Only this file here names stages of the product. Seeds are drawn from a pinned digest instead of the configuration's,
which covers every prompt: a changed prompt changes requests, but no seed, target or key.
"""

import asyncio
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from unittest.mock import patch

from pipeline import corpus
from pipeline.afterwards.resampling import branch
from pipeline.config import RunConfig, build
from pipeline.context import RunContext
from pipeline.corpus import Corpus, manifest
from pipeline.llm.base import LLM
from pipeline.llm.ledger import Counted, Spending, Spent
from pipeline.loop.episode import run_seed
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.run import LogCallbacks, Run, prepare, publish
from pipeline.run.attempts import NAME, read
from pipeline.run.plan import PassageSource
from pipeline.types import Record, Seed, Status, sha256
from tests.golden import places
from tests.golden.recording import HOME

SEEDS = 20
METHODS = ("cso", "eef", "pivot")
FORKED, FORK_CALLS = 2, 60
"""Accepted records of which forks are made, and the calls that a method may take on one."""
_MODEL = {
    "provider": "openai",
    "model": "recorded",
    "base_url": "http://127.0.0.1:9/v1",
    "prices": {"prompt": 2.0, "completion": 8.0, "cached": 0.5},
}
_KINDS = ["doppelganger", "false_shortcut", "fragmented_puzzle", "subjective_fallacy"]
_COMMON = {
    "corpus": {"name": "wiki"},
    "retrieval": {"retriever": "bm25"},
    "models": {"default": _MODEL, "judge": {"model": "recorded-judge"}},
    "distractors": {"kinds": _KINDS, "rollouts": 2},
    "teacher": {"rollouts": 2},
    # What was recorded is the demo model, which makes as many steps as it aims at.
    "difficulty": {"aims": {2: 1, 3: 1, 4: 1}, "again": 0.5},
    "gates": {"off": ["licence"]},
    "runtime": {"seeds": SEEDS, "rollout_seconds": 1e6},
}
RUNS = {
    # The reader of a recording is as good as its solver, so that few drafts would pass all of its checks.
    # Three rollouts leave one draft unsolved, so that it is sent back.
    "compose": {"seed": 8, "loop": {"rollouts": 3}, "checks": {"enabled": ["oracle", "alternatives"]}},
    "sage": {"strategy": "sage", "seed": 3, "checks": {"enabled": ["oracle", "alternatives"]}},
    "ragshaper": {
        "strategy": "ragshaper",
        "seed": 4,
        "checks": {"enabled": ["closed_book", "oracle", "alternatives"]},
        "models": {**_COMMON["models"], "policies": {"mine": {"model": "recorded-policy"}}},  # type: ignore[dict-item]
        "steps": [1, 3],
        "difficulty": {"aims": {1: 1, 2: 1, 3: 1}},
        "tree": {"depth": 4},
    },
}


class Pinned(RunConfig):
    """Its digest rests on no prompt and no code, so that seeds and keys stay what they are."""

    def digest(self) -> str:
        return sha256(f"golden {self.strategy}")


def config(name: str, out: Path) -> Pinned:
    tree = {**_COMMON, **RUNS[name]}
    tree["runtime"] = {**_COMMON["runtime"], "out": out}  # type: ignore[dict-item]
    return Pinned.model_validate(build(values=tree).model_dump())


@cache
def wiki() -> Corpus:
    """Load the part of `wiki` that the recording used, with the manifest of the full corpus."""
    excerpt = {"source": HOME / "wiki.jsonl.zst", "sha256": ""}
    return corpus.load(manifest.read("wiki").model_copy(update=excerpt))


@cache
def index() -> Bm25Retriever:
    return Bm25Retriever(wiki())


def context(settings: RunConfig, model: LLM) -> RunContext:
    """Open a context as a command does, except for the model and the index, which all runs share."""
    with (
        patch.object(prepare, "open_retriever", lambda kind, corpus, out: index()),
        patch.object(prepare, "model", lambda config, before: Counted(model, settings.models.default.cost)),
    ):
        return prepare.context(settings, wiki())


def replay(name: str, out: Path, model: LLM) -> Path:
    """Run the whole of it below `out`; the folder of the run."""
    return run_all_stages(context(config(name, out), model), wiki())


def run_all_stages(context: RunContext, corpus: PassageSource) -> Path:
    """Run all stages, forks included, with data set and report."""
    settings, folder = context.config, context.config.folder()
    with Run(settings, corpus, folder=folder) as run:

        async def dug(seed: Seed) -> Record:
            with places.at(seed):
                return await run_seed(seed, context)

        asyncio.run(run.execute(dug, Unwatched()))
        accepted = [record for record in run.records() if record.status is Status.ACCEPTED]
        for method in METHODS:
            for record in accepted[:FORKED]:
                with places.at(record.seed):
                    asyncio.run(branch(method, [record], context, folder, FORK_CALLS, lambda forks, calls: None))
    remove_times(folder)
    publish.dataset(folder, settings)
    publish.report(folder, settings)
    return folder


def remove_times(folder: Path) -> None:
    """Replace the measured times of the attempts, so that card and report are the same in every run."""
    epoch = datetime.fromtimestamp(0, UTC).isoformat(timespec="seconds")
    timeless = [
        attempt.model_copy(update={"began": epoch, "seconds": 60.0, "spent": _timeless(attempt.spent)})
        for attempt in read(folder)
    ]
    lines = sorted(attempt.model_dump_json() for attempt in timeless)
    (folder / NAME).write_text("".join(f"{line}\n" for line in lines))


def _timeless(spending: Spending) -> Spending:
    """Half a second a call."""
    stages = {
        stage: {role: _half(spent) for role, spent in sorted(roles.items())}
        for stage, roles in sorted(spending.by_stage.items())
    }
    return Spending(by_stage=stages)


def _half(spent: Spent) -> Spent:
    money = None if spent.money is None else round(spent.money, 9)
    return spent.model_copy(update={"seconds": spent.paid.calls / 2, "money": money})


class Unwatched(LogCallbacks):
    """Trouble ends the run."""

    def trouble(self, seed: Seed, error: Exception, pause: float) -> None:
        raise AssertionError(f"{places.seed_name(seed)}: {error}") from error
