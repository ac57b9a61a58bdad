"""Mix several runs into one data set: deduplicate over all of them, then apply quotas.

The seeds of all runs are judged in the order of their plans, which are shuffled by hash. So the selection depends
neither on the order in which the runs are named nor on their folders.
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
from pipeline.config.exports import GateConfig, SftConfig
from pipeline.errors import UsageError
from pipeline.exports.data_set import DatasetManifest, Redistribute, Selection, export
from pipeline.exports.mix import mix_version
from pipeline.exports.mix.quota_sample import Quota, QuotaResult, parse_quotas, sample_pairs
from pipeline.exports.views import base
from pipeline.gates import Drop, Gates, mark_dropped
from pipeline.gates.quota import TRAITS
from pipeline.llm.ledger import Ledger
from pipeline.run import publish
from pipeline.run.publish import RunRecords
from pipeline.run.resume import read
from pipeline.store.real_paths import real_root
from pipeline.types import Data, Lineage, Record, sha256

_NARROWEST: tuple[Redistribute, ...] = ("ids", "spans", "unknown", "full")


class Mixing(NamedTuple):
    """The runs of a mix and its settings."""

    folders: Sequence[Path]
    quotas: tuple[str, ...] = ()
    """For example `band:hard=0.3`."""
    pairs: int | None = None
    """The most pairs to take; None takes as many as keep every quota exact."""
    views: tuple[str, ...] = ()
    version: str = ""
    gates: GateConfig | None = None
    """None takes the settings that the runs share; see `find_shared_settings`."""
    sft: SftConfig | None = None
    allow_removal: bool = False


def mix(mixing: Mixing, into: Path) -> DatasetManifest:
    """Write the data set of several runs to `into`, as the next version of the mix in that folder.

    Raises UsageError if two runs are the same, a run cannot be exported by itself, a quota cannot be read, `into` holds
    something else, or a requested view belongs to one environment and the runs have several.
    """
    into = real_root(into)
    mix_version.read(into)
    quotas = parse_quotas(list(mixing.quotas))
    runs = _open_runs(mixing.folders)
    gates, sft = find_shared_settings([run.config for run in runs])
    update = {"gates": mixing.gates or gates, "sft": mixing.sft or sft}
    configs = [run.config.model_copy(update=update) for run in runs]
    left_out = _find_views_to_omit(configs, mixing.views)
    missing = sum(publish.check_lost_seeds(run.folder) for run in runs)
    redistributions = [publish.check_redistribution(run.folder, run.config) for run in runs]
    records = MixedRecords(runs, configs, quotas, mixing.pairs)
    redistribute = min(redistributions, key=_NARROWEST.index)
    view_names = (name for name in mixing.views or base.names() if name not in left_out)
    views = tuple(
        name for name in view_names if mixing.views or not base.exceeds_licence(base.load(name), redistribute)
    )
    selection = Selection(
        config=configs[0],
        views=views,
        missing=missing,
        source=sha256("\n".join(run.source for run in runs)),
        outside=_combine_outside([publish.outside(run.folder) for run in runs]),
        redistribute=redistribute,
        allow_removal=mixing.allow_removal,
        mix=records.mix.model_copy(update={"version": mixing.version, "left_out": left_out}),
    )
    return export(records, into, selection, records.row, records.environment)


def find_shared_settings(configs: Sequence[RunConfig]) -> tuple[GateConfig, SftConfig]:
    """Return the gates and `[sft]` for a mix of these runs.

    A setting keeps its value if all runs share it, and gets its default otherwise. The gates use the benchmarks of all
    runs.
    """
    gates = _settings_in_common([config.gates for config in configs])
    sft = _settings_in_common([config.sft for config in configs])
    against = sorted({path for config in configs for path in config.gates.against})
    return GateConfig.model_validate({**gates, "against": against}), SftConfig.model_validate(sft)


def _settings_in_common(settings: Sequence[Data]) -> dict[str, object]:
    fields = (
        (name, [getattr(run_settings, name) for run_settings in settings]) for name in type(settings[0]).model_fields
    )
    return {name: values[0] for name, values in fields if all(value == values[0] for value in values)}


class MixedRecords:
    """The records of several runs after the gates and quotas of the mix, one at a time."""

    def __init__(
        self, runs: Sequence[RunRecords], configs: Sequence[RunConfig], quotas: tuple[Quota, ...], pairs: int | None
    ) -> None:
        """Judge all records and apply the quotas. `configs` are the runs' configurations with the gates of the mix."""
        self._runs = runs
        environments = [environment(config) for config in configs]
        # If only some runs' prompts mentioned them, the prompt would reveal which questions have no answer.
        shared_prompt = {"unanswerable": any(env.unanswerable for env in environments)}
        self._environments = [env.model_copy(update=shared_prompt) for env in environments]
        self._order: dict[str, int] = {}
        self._drops: dict[str, Drop] = {}
        traits = {quota.trait for quota in quotas}
        values, lineages, policy = dict[str, dict[str, str]](), dict[int, Lineage](), configs[0].gates.policy
        gates, measured = Gates(configs[0].gates), False
        for _, _, run_index, record in merge(*map(self._plan, range(len(runs)))):
            self._order[record.key] = run_index
            lineages.setdefault(run_index, record.lineage)
            if record.confirmed:
                if drop := gates.admit(gates.check(record)):
                    self._drops[record.key] = drop
                elif draft := record.draft:
                    measured = measured or bool(record.find_assessment(policy))
                    values[record.key] = {trait: str(TRAITS[trait](draft, record, policy)) for trait in traits}
        quotas_met = self._limit(values, quotas, pairs)
        if unfinished := [run.folder for run_index, run in enumerate(runs) if run_index not in lineages]:
            raise UsageError(f"{unfinished[0]} has no finished seed; leave it out")
        if policy and not measured:
            raise UsageError(
                f"no pair of these runs was measured for policy '{policy}': digsite remeasure RUN --policy {policy}"
            )
        names = [lineages[run_index].run for run_index in range(len(runs))]
        counts = Counter(names[self._order[key]] for key in values if key not in self._drops)
        self.mix = mix_version.Mix(
            runs=tuple(lineages[run_index] for run_index in range(len(runs))),
            settings={name: run.config.digest_input() for name, run in zip(names, runs, strict=True)},
            solvers={name: run.config.models.of("solver").model for name, run in zip(names, runs, strict=True)},
            pairs=dict(counts),
            policy=policy,
            quotas=quotas_met,
        )

    def __iter__(self) -> Iterator[Record]:
        for key, run_index in self._order.items():
            record = self._runs[run_index].read(key)
            yield mark_dropped(record, self._drops[key]) if key in self._drops else record

    def row(self, record: Record) -> seeds.Row:
        run = self._runs[self._order[record.key]]
        return seeds.row(record, run.journal.entries[record.key], self._drops.get(record.key))

    def environment(self, record: Record) -> Environment:
        return self._environments[self._order[record.key]]

    def _plan(self, run_index: int) -> Iterator[tuple[str, str, int, Record]]:
        entries = self._runs[run_index].journal.entries
        return ((entries[record.key].head.order, record.key, run_index, record) for record in self._runs[run_index])

    def _limit(
        self, values: dict[str, dict[str, str]], quotas: tuple[Quota, ...], pairs: int | None
    ) -> tuple[QuotaResult, ...]:
        if not quotas and pairs is None:
            return ()
        sample = sample_pairs(values, quotas, pairs)
        drop = Drop("quota", "enough pairs of its kind are in the mix")
        self._drops |= {key: drop for key in values if key not in sample.keys}
        return sample.quotas


def _open_runs(folders: Sequence[Path]) -> list[RunRecords]:
    """Open the runs in the order of their digests, so that the order of the arguments does not matter."""
    opened_runs = sorted(((read(folder), folder) for folder in folders), key=lambda run: (run[0].digest, str(run[1])))
    for (run, folder), (next_run, next_folder) in pairwise(opened_runs):
        if (run.digest, run.corpus_fingerprint) == (next_run.digest, next_run.corpus_fingerprint):
            raise UsageError(f"{folder} and {next_folder} are the same run; name it once")
    states: dict[str, tuple[str, Path]] = {}
    for run, folder in opened_runs:
        fingerprint, earlier = states.setdefault(run.config.corpus.identity, (run.corpus_fingerprint, folder))
        if fingerprint != run.corpus_fingerprint:
            raise UsageError(
                f"{earlier} and {folder} were made on two states of the corpus '{run.config.corpus.identity}', "
                "so that they cannot share an index; run `digsite refresh RUN` for each, and mix the new versions"
            )
    return [RunRecords(folder, run.config) for run, folder in opened_runs]


def _find_views_to_omit(configs: Sequence[RunConfig], requested: tuple[str, ...]) -> tuple[str, ...]:
    """Return the views that a mix of these runs cannot have. Raises UsageError if one of them is requested."""
    environments = [environment(config).model_dump(mode="json") for config in configs]
    if all(env == environments[0] for env in environments):
        return ()
    env_specific = tuple(name for name in base.names() if base.load(name).options.env_specific)
    if bound := [name for name in requested if name in env_specific]:
        differing = sorted({key for env in environments for key in env if env[key] != environments[0][key]})
        differences = ", ".join(differing)
        raise UsageError(
            f"leave out the view '{bound[0]}': its rows need one environment, and the runs differ in {differences}"
        )
    return env_specific


def _combine_outside(outsides: Sequence[Outside]) -> Outside:
    """Add up what all runs spent and skipped. People's marks belong to one run, so a mix has none."""
    ledger, passed_over, unread = Ledger(), Counter[str](), Counter[str]()
    for outside in outsides:
        ledger.add_spending(outside.spent)
        passed_over.update(outside.dropped)
        unread.update(outside.unread)
    return Outside(spent=ledger.spending, dropped=dict(passed_over), unread=dict(unread))
