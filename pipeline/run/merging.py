"""The shards of a run, joined into the run's own folder: their journals side by side, judged once over all."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from pipeline.config import RunConfig
from pipeline.config.differences import differences
from pipeline.config.runtime import Runtime
from pipeline.errors import UsageError
from pipeline.run import Run, RunCallbacks, RunFile, RunResult, attempts, facts, prepare, read, stages
from pipeline.run.plan import Order
from pipeline.run.resume import unchanged
from pipeline.store.shard_merge import join_journals, take_answers, take_lines
from pipeline.types import Data

_MOST_ABSENT = 50


class Merged(Data):
    """A run and the shards that its journal was taken from."""

    run: RunResult
    lines: dict[str, int]
    """Finished seeds by the folder of the shard."""
    damaged: dict[str, int]
    """Lines that were left out, by the folder of the shard: damaged ones, and those of other runs."""
    absent: tuple[str, ...]
    """The first shards of the same run that were not given, such as `3/4`."""
    owed: int
    """Seeds that the plan needs and that no shard has finished; `resume` runs them."""
    at_work: tuple[Path, ...]
    """Shards that a process was working on: what they have finished so far was taken, but none of their answers."""


def merge(shards: Sequence[Path], out: Path | None, watch: RunCallbacks) -> Merged:
    """Join what the shards in these folders have finished; in `out`, or where the first of them lies.

    It may be repeated, as when a shard has gone on. Raises UsageError, naming what differs, where they are not parts
    of one run.
    """
    config = whole([(folder, read(folder)) for folder in shards])
    place = out or shards[0].parents[1]
    place = Runtime().out if place.resolve() == Runtime().out.resolve() else place
    target = place / shards[0].parent.name / config.folder().name
    config = prepare.absolute_paths(config.with_how(out=place))
    with stages.locked_corpus(config, target, watch) as corpus:
        unchanged(shards[0], config, corpus.fingerprint)
        journals, planned = [folder / "journal" for folder in shards], Order(config, corpus).holds
        counts = join_journals(target / "journal", journals, read(shards[0]).identity, planned)
        for folder in shards:
            take_lines(folder / attempts.NAME, attempts.of_shard(target, _name(folder)))
        at_work = [folder for folder in shards if not take_answers(folder, prepare.CACHE, place / prepare.CACHE)]
        facts.keep(target, corpus)
        found = dict(zip(map(str, shards), counts, strict=True))
        with Run(config, corpus, folder=target, locks=False) as run:
            run.keep()
            stages.export_run(run, watch)
            return Merged(
                run=run.result(),
                lines={name: good for name, (good, _) in found.items()},
                damaged={name: damaged for name, (_, damaged) in found.items() if damaged},
                absent=absent(shards),
                owed=run.owed(),
                at_work=tuple(at_work),
            )


def whole(shards: Sequence[tuple[Path, RunFile]]) -> RunConfig:
    """The configuration of the run that these are shards of. Raises UsageError where there is none."""
    (first, one), *others = shards
    for folder, other in others:
        changed = [name for name, _, _ in differences(_compared(one), _compared(other))]
        if changed:
            raise UsageError(
                f"{first} and {folder} are no shards of one run: they differ in {', '.join(changed)}; "
                "name the shards of one run"
            )
    return one.config.with_how(shard=None)


def _compared(run: RunFile) -> dict[str, object]:
    """What the shards of a run have in common: what it makes, and what its plan and its gates rest on."""
    config = run.config.model_dump(mode="json", include={"gates", "sft", "how"})
    how = {name: config["how"][name] for name in ("pairs", "seeds", "max_seeds")}
    return {
        **run.what,
        "gates": config["gates"],
        "sft": config["sft"],
        "how": how,
        "corpus texts": run.corpus_fingerprint,
    }


def _name(folder: Path) -> str:
    return "-".join(folder.name.rsplit("-", 3)[1:])


def absent(shards: Sequence[Path]) -> tuple[str, ...]:
    """The first shards of their run that are not among these."""
    parts = [tuple(map(int, _name(folder).split("-of-"))) for folder in shards]
    most = max(of for _, of in parts)
    there = {number for number, of in parts if of == most}
    missing = (f"{number}/{most}" for number in range(1, most + 1) if number not in there)
    return tuple(islice(missing, _MOST_ABSENT))
