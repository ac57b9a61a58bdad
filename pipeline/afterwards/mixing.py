"""Several runs as one data set: one deduplication over all of them, then quotas.

The seeds of all runs are judged in the order of their plans, which are shuffled by hash, so that neither the order in
which runs are named nor where they lie changes what is taken.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pipeline.agents.environment_file import Environment, environment
from pipeline.analysis import seed_rows as seeds
from pipeline.analysis.figures import Outside
from pipeline.config import RunConfig
from pipeline.config.gates import GateConfig
from pipeline.config.sft_settings import SftConfig
from pipeline.errors import UsageError
from pipeline.exports.data_set import DatasetManifest, Redistribute, Selection, export
from pipeline.exports.mix import mix_version
from pipeline.exports.mix.quota_sample import Quota, QuotaResult, parsed, sampled
from pipeline.exports.views import base
from pipeline.gates import Drop, Gates, dropped
from pipeline.gates.quota import TRAITS
from pipeline.llm.ledger import Ledger
from pipeline.run import publish
from pipeline.run.publish import RunRecords
from pipeline.run.resume import read
from pipeline.store.real_paths import real_root
from pipeline.types import Data, Lineage, Record, sha256

_NARROWEST: tuple[Redistribute, ...] = ("ids", "spans", "unknown", "full")


class Mixing(NamedTuple):
    """What a mix is made of, and how."""

    folders: Sequence[Path]
    quotas: tuple[str, ...] = ()
    """Such as `band:hard=0.3`."""
    pairs: int | None = None
    """So many at most; None: as many as leave every quota exact."""
    views: tuple[str, ...] = ()
    version: str = ""
    gates: GateConfig | None = None
    """None: what the runs have in common; see `shared`."""
    sft: SftConfig | None = None


def mix(mixing: Mixing, into: Path) -> DatasetManifest:
    """Write the data set of several runs to `into`, as the next version of the mix that stands there.

    Raises UsageError where runs are the same, where one cannot be exported by itself, where quotas are none, where a
    view is asked for that belongs to one environment and the runs have several, and where something else is in `into`.
    """
    into = real_root(into)
    mix_version.read(into)
    quotas = parsed(list(mixing.quotas))
    runs = _runs(mixing.folders)
    gates, sft = shared([run.config for run in runs])
    update = {"gates": mixing.gates or gates, "sft": mixing.sft or sft}
    configs = [run.config.model_copy(update=update) for run in runs]
    left_out = _left_out(configs, mixing.views)
    missing = sum(publish.whole(run.folder) for run in runs)
    kept = [publish.passed_on(run.folder, run.config) for run in runs]
    found = MixedRecords(runs, configs, quotas, mixing.pairs)
    redistribute = min(kept, key=_NARROWEST.index)
    named = (name for name in mixing.views or base.names() if name not in left_out)
    views = tuple(name for name in named if mixing.views or not base.exceeds_licence(base.load(name), redistribute))
    chosen = Selection(
        config=configs[0],
        views=views,
        missing=missing,
        source=sha256("\n".join(run.source for run in runs)),
        outside=_outside([publish.outside(run.folder) for run in runs]),
        redistribute=redistribute,
        mix=found.mix.model_copy(update={"version": mixing.version, "left_out": left_out}),
    )
    return export(found, into, chosen, found.row, found.environment)


def shared(configs: Sequence[RunConfig]) -> tuple[GateConfig, SftConfig]:
    """Each setting of gates and `[sft]` that all runs have in common, else its default; and all lists of benchmarks."""
    gates = _common([config.gates for config in configs])
    sft = _common([config.sft for config in configs])
    against = sorted({path for config in configs for path in config.gates.against})
    return GateConfig.model_validate({**gates, "against": against}), SftConfig.model_validate(sft)


def _common(found: Sequence[Data]) -> dict[str, object]:
    fields = ((name, [getattr(one, name) for one in found]) for name in type(found[0]).model_fields)
    return {name: values[0] for name, values in fields if all(value == values[0] for value in values)}


class MixedRecords:
    """The records of the plans of several runs, as the gates of the mix and its quotas see them, one at a time."""

    def __init__(
        self, runs: Sequence[RunRecords], configs: Sequence[RunConfig], quotas: tuple[Quota, ...], pairs: int | None
    ) -> None:
        """`configs` are those of the runs with the gates and selections of the mix."""
        self._runs = runs
        found = [environment(config) for config in configs]
        # A prompt that speaks of it in the rows of some runs only would tell which questions have an answer.
        told = {"unanswerable": any(one.unanswerable for one in found)}
        self._environments = [one.model_copy(update=told) for one in found]
        self._order: dict[str, int] = {}
        self._drops: dict[str, Drop] = {}
        traits = {quota.trait for quota in quotas}
        values, lineages, policy = dict[str, dict[str, str]](), dict[int, Lineage](), configs[0].gates.policy
        gates, measured = Gates(configs[0].gates), False
        for _, _, place, record in merge(*map(self._plan, range(len(runs)))):
            self._order[record.key] = place
            lineages.setdefault(place, record.lineage)
            if record.confirmed:
                if drop := gates.admit(gates.check(record)):
                    self._drops[record.key] = drop
                elif draft := record.draft:
                    measured = measured or bool(record.assessed(policy))
                    values[record.key] = {trait: str(TRAITS[trait](draft, record, policy)) for trait in traits}
        quotas_met = self._limit(values, quotas, pairs)
        if short := [run.folder for place, run in enumerate(runs) if place not in lineages]:
            raise UsageError(f"{short[0]} has no finished seed; leave it out")
        if policy and not measured:
            raise UsageError(
                f"no pair of these runs was measured for policy '{policy}': digsite remeasure RUN --policy {policy}"
            )
        names = [lineages[place].run for place in range(len(runs))]
        counts = Counter(names[self._order[key]] for key in values if key not in self._drops)
        self.mix = mix_version.Mix(
            runs=tuple(lineages[place] for place in range(len(runs))),
            settings={name: run.config.digested() for name, run in zip(names, runs, strict=True)},
            solvers={name: run.config.models.of("solver").model for name, run in zip(names, runs, strict=True)},
            pairs=dict(counts),
            policy=policy,
            quotas=quotas_met,
        )

    def __iter__(self) -> Iterator[Record]:
        for key, place in self._order.items():
            record = self._runs[place].read(key)
            yield dropped(record, self._drops[key]) if key in self._drops else record

    def row(self, record: Record) -> seeds.Row:
        run = self._runs[self._order[record.key]]
        return seeds.row(record, run.journal.entries[record.key], self._drops.get(record.key))

    def environment(self, record: Record) -> Environment:
        return self._environments[self._order[record.key]]

    def _plan(self, place: int) -> Iterator[tuple[str, str, int, Record]]:
        """The records of one run, sorted by their place in its plan and their key."""
        entries = self._runs[place].journal.entries
        return ((entries[record.key].head.order, record.key, place, record) for record in self._runs[place])

    def _limit(
        self, values: dict[str, dict[str, str]], quotas: tuple[Quota, ...], pairs: int | None
    ) -> tuple[QuotaResult, ...]:
        """Drop the pairs that the quotas, or the number of pairs, leave out."""
        if not quotas and pairs is None:
            return ()
        found = sampled(values, quotas, pairs)
        drop = Drop("quota", "enough pairs of its kind are in the mix")
        self._drops |= {key: drop for key in values if key not in found.keys}
        return found.quotas


def _runs(folders: Sequence[Path]) -> list[RunRecords]:
    """In the order of their digests, so that nothing rests on the order of the arguments."""
    kept = sorted(((read(folder), folder) for folder in folders), key=lambda one: (one[0].digest, str(one[1])))
    for (one, first), (other, second) in pairwise(kept):
        if (one.digest, one.corpus_fingerprint) == (other.digest, other.corpus_fingerprint):
            raise UsageError(f"{first} and {second} are the same run; name it once")
    return [RunRecords(folder, run.config) for run, folder in kept]


def _left_out(configs: Sequence[RunConfig], asked: tuple[str, ...]) -> tuple[str, ...]:
    """The views that a mix of these runs cannot have. Raises UsageError where one is asked for."""
    published = [environment(config).model_dump(mode="json") for config in configs]
    if all(one == published[0] for one in published):
        return ()
    bound = tuple(name for name in base.names() if base.load(name).OPTIONS.env_specific)
    if wrong := [name for name in asked if name in bound]:
        differing = sorted({key for one in published for key in one if one[key] != published[0][key]})
        raise UsageError(
            f"view '{wrong[0]}' belongs to one environment, and the runs differ in {', '.join(differing)}; leave it out"
        )
    return bound


def _outside(found: Sequence[Outside]) -> Outside:
    """What all of them took and passed over. What people said of one run is not said of the mix."""
    ledger, passed_over, unread = Ledger(), Counter[str](), Counter[str]()
    for one in found:
        ledger.take(one.spent)
        passed_over.update(one.dropped)
        unread.update(one.unread)
    return Outside(spent=ledger.spending, dropped=dict(passed_over), unread=dict(unread))
