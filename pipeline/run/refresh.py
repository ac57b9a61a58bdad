"""Begin the next version of a run: carry over the pairs that still hold, and list the seeds to run again first.

What it writes is a function of the version before, the corpus, its index and the cache. The carried lines are written
first and `version.json` last, each at once, so that a killed command begins again with the same result.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pipeline.config import RunConfig
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.document_changes import count_changes
from pipeline.corpus.seed_passages import quality
from pipeline.errors import UsageError
from pipeline.llm.ledger import counting
from pipeline.loop import recheck
from pipeline.run import prepare, publish, resume, versions
from pipeline.run.attempts import REFRESHED, note_work
from pipeline.run.plan import bounds
from pipeline.store.journal import build_head, encode, write_lines
from pipeline.types import Draft, Record, sha256
from pipeline.types.version import (
    CARRIED,
    Change,
    DocumentChanges,
    DroppedPair,
    SeedPlace,
    StalePair,
    Version,
    VersionSummary,
    fingerprint_seed,
)

logger = logging.getLogger(__name__)


class Place(NamedTuple):
    """The folder of a run, and of the version before if the run is a new version that has yet to begin."""

    folder: Path
    parent: Path | None = None


def choose_place(config: RunConfig, fingerprint: str) -> Place:
    """Return the newest version of a run, or the next one if the corpus has changed or `new_pairs` asks for more."""
    newest = versions.find_newest(config.folder())
    version = versions.read_version(newest)
    if not (newest / resume.NAME).exists():
        is_begun = version is None or version.summary.corpus_fingerprint == fingerprint
        return Place(newest, None if is_begun or version is None else newest.with_name(version.parent))
    is_changed = resume.read(newest).corpus_fingerprint != fingerprint
    if config.hardens or not (is_changed or (config.runtime.new_pairs and publish.is_finished(newest))):
        return Place(newest)
    return Place(versions.next_folder(newest), newest)


def goal_of_refresh(newest: Path, config: RunConfig, new_pairs: int | None) -> dict[str, int | None]:
    """Return the settings of `runtime` that say how many pairs a refresh makes: by default as many as there were."""
    if new_pairs is not None:
        return {"new_pairs": new_pairs, "seeds": None}
    wanted, _ = bounds(config.runtime)
    result = publish.last_result(newest)
    return {"pairs": max(1, wanted or (result.accepted if result else 0)), "new_pairs": None, "seeds": None}


class _Judged(NamedTuple):
    """What becomes of a pair of the version before. The record itself may be large."""

    key: str
    question: str
    seed: SeedPlace
    changes: Mapping[str, Change] = MappingProxyType({})
    """The documents of its evidence that are no longer the same."""
    fault: str = ""
    """What a check on the new index says against it."""

    @property
    def is_carried(self) -> bool:
        return not self.changes and not self.fault


async def begin_version(parent: Path, folder: Path, context: RunContext, corpus: Corpus) -> Version:
    """Write the carried lines and `version.json` of the next version, in `folder`. The caller holds both locks.

    Raises ProviderError, RetrievalError and BudgetExceeded from rollouts that solve pairs again. Answers are cached.
    """
    former = _Former(parent)
    documents = _compare(former, corpus, context)
    judged = [await _judge(record, corpus, context) for record in former.pairs()]
    solved_again = list[str | None]()
    if corpus.fingerprint != former.fingerprint:
        judged, solved_again = await _solve_share_again(judged, former, folder, context)
    carried = [pair.key for pair in judged if pair.is_carried]
    lost = [pair for pair in judged if not pair.is_carried]
    dropped = tuple(DroppedPair(key=pair.key, question=pair.question, why=pair.fault) for pair in lost if pair.fault)
    stale = tuple(
        StalePair(key=pair.key, question=pair.question, documents=dict(pair.changes)) for pair in lost if pair.changes
    )
    graded = [fault for fault in solved_again if fault is not None]
    summary = versions.begin_summary(folder, corpus.fingerprint, f"{datetime.now(UTC):%Y-%m-%d}").model_copy(
        update={
            "documents": documents,
            "carried": len(carried),
            "stale": len(stale),
            "dropped": dict(Counter(pair.why for pair in dropped)),
            "solved_again": len(graded),
            "still_hold": graded.count(""),
        }
    )
    version = Version(
        parent=parent.name,
        summary=summary,
        history=former.summaries(),
        carried=tuple(carried),
        stale=stale,
        dropped=dropped,
        again=tuple(_select_seeds([*former.unfinished_seeds(), *(pair.seed for pair in lost)], corpus)),
        tried=tuple(sorted(former.tried())),
    )
    records = enumerate(map(former.read, carried))
    lines = (encode(build_head(record, f"{CARRIED}{index:012}"), record) for index, record in records)
    write_lines(folder / "journal" / "carried.jsonl", lines)
    versions.write_version(folder, version)
    return version


class _Former:
    """The version before, as far as its plan goes: which seeds ended beyond it depends on chance."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._version = folder, versions.read_version(folder)
        self.fingerprint = resume.read(folder).corpus_fingerprint
        publish.check_lost_seeds(folder)
        self._records = publish.RunRecords(folder, resume.read(folder).config)
        self._keys = self._records.seeds().select("key").collect()["key"].to_list()

    def pairs(self) -> Iterator[Record]:
        return map(self.read, self._records.accepted_keys())

    def read(self, key: str) -> Record:
        return self._records.read(key)

    def summaries(self) -> tuple[VersionSummary, ...]:
        """Return the rows of all versions up to this one, which is now complete."""
        summary = publish.summarise_version(self._folder, self._records.config)
        return (*(self._version.history if self._version else ()), summary)

    def unfinished_seeds(self) -> list[SeedPlace]:
        """Return the seeds that were to be run again, and were not."""
        again = self._version.again if self._version else ()
        identity, keys = versions.read_identity(self._folder), {*self._keys}
        return [place for place in again if identity and identity.key(place.passage_id, place.draw) not in keys]

    def tried(self) -> set[str]:
        before = self._version.tried if self._version else ()
        return {*before, *(fingerprint_seed(self._records.journal.read_seed(key)) for key in self._keys)}


def _compare(former: _Former, corpus: Corpus, context: RunContext) -> DocumentChanges | None:
    """Count the changed documents. Raises UsageError if the two corpora have no document in common."""
    before = prepare.find_corpus(context.config, former.fingerprint)
    if before is None:
        return None
    changes = count_changes(before, corpus)
    if not changes.same + changes.changed:
        raise UsageError(
            f"the corpus '{corpus.manifest.name}' shares no document with the one of the earlier run of this name and "
            "settings, so this is no new version of it: name another --out"
        )
    logger.warning("%s: documents since the version before: %s", corpus.manifest.name, changes)
    return changes


async def _judge(record: Record, corpus: Corpus, context: RunContext) -> _Judged:
    assert record.draft  # noqa: S101 - accepted pairs have one
    seed, changes = record.seed, _find_changes(record.draft, corpus)
    fault = "" if changes else await recheck.find_fault(record, context)
    place = SeedPlace(passage_id=seed.passage.id, draw=seed.draw)
    return _Judged(record.key, record.draft.question, place, changes, fault)


def _find_changes(draft: Draft, corpus: Corpus) -> dict[str, Change]:
    changes: dict[str, Change] = {}
    for citation in (step.citation for step in draft.graph.found):
        passage = corpus.passage(citation.passage_id)
        if passage is None or (passage.sha256, passage.title) != (citation.passage_sha256, citation.title):
            is_gone = corpus.document(citation.document_id) is None
            changes[citation.document_id] = "gone" if is_gone else "changed"
    return changes


async def _solve_share_again(
    judged: Sequence[_Judged], former: _Former, folder: Path, context: RunContext
) -> tuple[list[_Judged], list[str | None]]:
    """Solve the drawn pairs on the new index. Return all pairs, and what was found about the drawn ones."""
    share, room = context.config.refresh.solve_again, asyncio.Semaphore(context.config.seeds_at_work())

    def is_drawn(pair: _Judged) -> bool:
        chance = int(sha256(f"solve again {context.lineage.corpus_fingerprint} {pair.key}")[:8], 16)
        return pair.is_carried and chance < share * 2**32

    async def solve(pair: _Judged) -> str | None:
        async with room:
            return await recheck.solve_again(former.read(pair.key), context)

    drawn = [pair for pair in judged if is_drawn(pair)]
    if not drawn:
        return list(judged), []
    with counting() as ledger:
        try:
            faults = await asyncio.gather(*map(solve, drawn))
        finally:
            note_work(folder, REFRESHED, ledger)
    by_key = {pair.key: fault or "" for pair, fault in zip(drawn, faults, strict=True)}
    return [pair._replace(fault=pair.fault or by_key.get(pair.key, "")) for pair in judged], faults


def _select_seeds(places: Sequence[SeedPlace], corpus: Corpus) -> Iterator[SeedPlace]:
    """Yield each seed once whose passage is still there and can start a question."""
    for place in {(place.passage_id, place.draw): place for place in places}.values():
        passage = corpus.passage(place.passage_id)
        if passage and quality(passage, corpus.language) is None:
            yield place
