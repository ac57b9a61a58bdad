"""Records → shards, code, environment, card and manifest: one folder that trainers load as it is.

A pure function of the records and settings: the same journal gives the same shards, byte for byte. Every shard has the
view's own schema and at least one row, since an empty one makes the whole set unreadable. A view's folder holds Parquet
alone, so that every reader takes it as it is; the code that trainers need lies in `code/`. The folder is built aside
and takes its place when all of it is there, with the manifest written last.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from pipeline.agents.environment_file import Environment, environment
from pipeline.analysis import seed_rows as seeds
from pipeline.analysis import seed_table
from pipeline.analysis.figures import Outside, figures
from pipeline.config import RunConfig
from pipeline.errors import UsageError, unknown
from pipeline.exports.card.card import Contents, card
from pipeline.exports.mix import mix_version
from pipeline.exports.reward_questions import RewardCounter, RewardQuestions
from pipeline.exports.shards import SHARD_BYTES, File, ShardFile, ShardWriter, described
from pipeline.exports.trajectories.selection import counts
from pipeline.exports.twins import with_twin
from pipeline.exports.views import base
from pipeline.store.files import atomic_folder, atomic_write, find_folder, link_or_copy, write_json
from pipeline.types import Data, Draft, Record, sha256

Redistribute = Literal["full", "spans", "ids", "unknown"]
CODE = "code"
MANIFEST = "manifest.json"
_EXAMPLES = 3
"""Pairs on the card."""
ENVIRONMENT = "environment.json"


class Exported(Data):
    """How one view was last written."""

    include: tuple[str, ...] = ()
    missing: int = 0
    """Seeds whose lines in the journal were damaged, so that their pairs are in no row."""
    plain: bool = False
    """With text in place of Arrow's JSON type."""
    source: str = ""
    """Digest of what decides the rows: views with another one were written from another state of the run."""


class DatasetManifest(Data):
    """What a finished data set holds: with this file, all that is of it."""

    run: str
    records: int
    """All that the last export has read, taken or not."""
    views: dict[str, Exported]
    """One without rows has no shard."""
    shards: tuple[ShardFile, ...]
    rewards: RewardQuestions = RewardQuestions()
    withheld: tuple[str, ...] = ()
    """Views that hold more of the corpus than may be passed on."""
    files: tuple[File, ...] = ()
    """Card, environment, code and the table of all seeds."""

    @property
    def missing(self) -> int:
        """Seeds of the run whose pairs could not be exported."""
        return max((how.missing for how in self.views.values()), default=0)

    @property
    def unwritten(self) -> dict[str, str]:
        """The views that were asked for and not written, with the reason."""
        rows = self.rows()
        needs = {name: f"needs {base.load(name).OPTIONS.needs}" for name in self.views if name not in rows}
        return needs | dict.fromkeys(self.withheld, "holds more of the corpus than may be passed on")

    def rows(self) -> dict[str, dict[str, int]]:
        """By view, then split, the one to train on first."""
        counts: dict[str, dict[str, int]] = {}
        for shard in sorted(self.shards, key=lambda shard: (shard.view, shard.split != "train")):
            splits = counts.setdefault(shard.view, {})
            splits[shard.split] = splits.get(shard.split, 0) + shard.rows
        return counts

    def token_shares(self) -> dict[str, tuple[float, ...]]:
        """Return by view with a column `tokens` the share of its rows within each of TOKEN_LIMITS."""
        shares: dict[str, tuple[float, ...]] = {}
        for view, splits in self.rows().items():
            counts = [shard.within for shard in self.shards if shard.view == view and shard.within]
            if counts:
                shares[view] = tuple(sum(column) / sum(splits.values()) for column in zip(*counts, strict=True))
        return shares


class Selection(Data):
    """What to export."""

    config: RunConfig
    views: tuple[str, ...] = ()
    """None named: all. Those that are not named stay as they are."""
    include: tuple[str, ...] = ()
    plain: bool = False
    """Text in place of Arrow's JSON type, for readers that do not know it."""
    missing: int = 0
    """Seeds whose lines in the journal were damaged."""
    source: str = ""
    """Digest of the state of the run, by which the table of seeds is known to be the latest."""
    outside: Outside = Outside()
    redistribute: Redistribute = "unknown"
    """How much of the corpus may be passed on: views that hold more are left out."""
    language_detected: bool = False
    shard_bytes: int = SHARD_BYTES
    mix: mix_version.Mix | None = None
    """What is mixed, where the records are of several runs. Then no view of before stays."""


def read(folder: Path) -> DatasetManifest:
    """The manifest of the data set in `folder`. Raises UsageError where there is none that can be read."""
    try:
        return DatasetManifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(
            f"{folder} holds no finished data set of this version; write it with digsite export RUN"
        ) from error


def unchanged(folder: Path, file: File) -> Path:
    """Where that file of the data set lies. Raises UsageError where it is not as it was exported, or is reached through
    a link or from outside the folder."""
    path, home = folder / file.path, folder.resolve()
    if path.resolve() != home / file.path or home not in path.resolve().parents:
        problem = "is no file of the data set's own"
    elif not path.is_file() or described(path, file.path).sha256 != file.sha256:
        problem = "is not as it was exported"
    else:
        return path
    raise UsageError(f"{path} {problem}; write the data set anew with digsite export RUN")


def export(
    records: Iterable[Record],
    folder: Path,
    chosen: Selection,
    row: Callable[[Record], seeds.Row] = seeds.row,
    environment_of: Callable[[Record], Environment] | None = None,
) -> DatasetManifest:
    """Write the data set of `records`, which come in the order of the plan, to `folder`, replacing what was there but
    for the views that were not asked for.

    One record is held at a time, and one row group per view and split. `row` gives a record's row of `seeds.parquet`:
    one that names a gate stands there alone. `environment_of` gives what the record's agents were given where that is
    not the same for all.
    """
    if strange := set(chosen.include) - set(base.INCLUDES):
        raise unknown("reason to --include", min(strange), base.INCLUDES)
    views = _views(chosen)
    shared, seen, examples = environment(chosen.config), 0, list[tuple[int, Draft]]()
    rewards, selected, twin_drops = RewardCounter(chosen.config.gates), dict[str, Counter[str]](), Counter[str]()
    with (
        atomic_folder(folder) as building,
        ShardWriter(building, chosen.shard_bytes, as_text=chosen.plain) as shards,
        seed_table.SeedTable(building / seed_table.NAME, chosen.source) as table,
    ):
        before = find_folder(folder)
        kept, kept_shards = _kept(before, views, chosen)
        for record in records:
            table.add(in_table := row(record))
            # A sum of hashes, since what is included comes last and a list of all would grow with the run.
            measured = len(record.assessments) + len(record.measurements)
            seen += int(sha256(f"{record.key} {record.status} {len(record.forks)} {measured}"), 16)
            if in_table["gate"] or not base.is_exported(record, chosen.include):
                continue
            # Nothing below may see the record as it was.
            (record, *twin), dropped_by = with_twin(record, chosen.config)  # noqa: PLW2901
            twin_drops.update([dropped_by] if dropped_by else [])
            if record.draft:
                _exemplify(examples, record.seed.target_steps, record.draft)
            context = (environment_of(record) if environment_of else shared).of(record)
            for one in (record, *twin):
                for agent, count in counts(one, context).items():
                    selected.setdefault(agent, Counter()).update(count)
                _add_rows(shards, views, one, context, rewards)
        for shard in kept_shards:
            link_or_copy(before / shard.path, building / shard.path)
        source = _state(seen, chosen.config)
        how = Exported(include=chosen.include, plain=chosen.plain, missing=chosen.missing, source=source)
        made = figures(table.close(), chosen.outside, chosen.config.gates.policy)
        manifest = DatasetManifest(
            run=made.lineage.run if made.lineage else "",
            records=made.planned,
            views=dict(sorted({**kept, **dict.fromkeys(views, how)}.items())),
            shards=tuple(sorted((*kept_shards, *shards.close()), key=lambda shard: shard.path)),
            rewards=rewards.total(),
            withheld=() if chosen.views else tuple(sorted({*base.names()} - views.keys())),
        )
        if chosen.mix:
            chosen = chosen.model_copy(update={"mix": mix_version.write(building, before, chosen.mix, manifest.shards)})
        rows, how_made = manifest.rows(), manifest.views
        contents = Contents(
            rows=rows,
            included={reason: [name for name in rows if reason in how_made[name].include] for reason in base.INCLUDES},
            plain=[name for name in rows if how_made[name].plain],
            missing=manifest.missing,
            token_shares=manifest.token_shares(),
            older=[name for name in rows if how_made[name].source != source],
            examples=[draft for _, draft in examples],
            selected=selected,
            twin_drops=twin_drops,
            redistribute=chosen.redistribute,
            language_detected=chosen.language_detected,
            mix=chosen.mix,
            rewards=manifest.rewards,
            unwritten=manifest.unwritten,
        )
        return _described(building, manifest, card(made, contents, chosen.config), chosen)


def _add_rows(
    shards: ShardWriter, views: Mapping[str, base.View], record: Record, context: Environment, rewards: RewardCounter
) -> None:
    graded = rewards.grade(record)
    for name, view in views.items():
        source = graded if view.OPTIONS.rewarded else record
        if base.accepts(view, source, rewards.gates):
            shards.add(name, record.seed.side, view.SCHEMA, view.rows(source, context))


def _exemplify(examples: list[tuple[int, Draft]], target: int, draft: Draft) -> None:
    """Keep the first pairs as examples; one of a target that they lack takes the place of one that they have twice."""
    targets = [one for one, _ in examples]
    if len(examples) < _EXAMPLES:
        examples.append((target, draft))
    elif target not in targets and (twice := [at for at, one in enumerate(targets) if one in targets[:at]]):
        examples[twice[-1]] = (target, draft)


def _state(seen: int, config: RunConfig) -> str:
    """Return a digest of what decides the rows: the records and, if they differ from the defaults, `[sft]`, the policy,
    and what `rl_*` views take."""
    said = config.sft.model_dump_json(exclude_defaults=True)
    asked = {"strict_calls": config.gates.strict_calls, "rl_yes_no": config.gates.rl_yes_no}
    gates = [config.gates.policy, *(name for name, is_asked in asked.items() if is_asked)]
    return sha256(" ".join([str(seen), *([said] if said != "{}" else []), *filter(None, gates)]))


def _kept(folder: Path, views: Iterable[str], chosen: Selection) -> tuple[dict[str, Exported], tuple[ShardFile, ...]]:
    """Of the data set that is there, the views that stay, and their shards. Raises UsageError where they cannot be
    trusted."""
    if not chosen.views or chosen.mix or not folder.exists():
        return {}, ()
    before = read(folder)
    others = {name: how for name, how in before.views.items() if name not in views}
    # What may be passed on can have become less.
    stay = {name: how for name, how in others.items() if not base.exceeds_licence(base.load(name), chosen.redistribute)}
    shards = tuple(shard for shard in before.shards if shard.view in stay)
    for shard in shards:
        unchanged(folder, shard)
    return stay, shards


def _views(chosen: Selection) -> dict[str, base.View]:
    """Those asked for, or all that may be passed on."""
    views = {name: base.load(name) for name in chosen.views or base.names()}
    withheld = [name for name, view in views.items() if base.exceeds_licence(view, chosen.redistribute)]
    if chosen.views and withheld:
        raise UsageError(
            f"view '{withheld[0]}' holds more of the corpus than its manifest allows to redistribute "
            f"(redistribute = {chosen.redistribute})"
        )
    return {name: view for name, view in views.items() if name not in withheld}


def _described(building: Path, manifest: DatasetManifest, page: str, chosen: Selection) -> DatasetManifest:
    """With all that stands beside the shards: the card's page, code and environment; written last."""
    texts = {"README.md": page}
    for view in manifest.rows():
        texts |= {f"{CODE}/{file}": text for file, text in base.load(view).OPTIONS.extra_files.items()}
    for file, text in texts.items():
        atomic_write(building / file, text.encode())
    names = [*texts, seed_table.NAME]
    if not (chosen.mix and chosen.mix.left_out):
        write_json(building / ENVIRONMENT, environment(chosen.config).model_dump(mode="json"))
        names.append(ENVIRONMENT)
    names += mix_version.FILES if chosen.mix else ()
    manifest = manifest.model_copy(update={"files": tuple(described(building / name, name) for name in sorted(names))})
    write_json(building / MANIFEST, manifest.model_dump(mode="json"))
    return manifest
