"""The shards of a run, joined into the run's own folder: their journals side by side, judged once over all."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from pipeline.config import RunConfig
from pipeline.config.differences import differences
from pipeline.config.runtime import Runtime
from pipeline.errors import UsageError
from pipeline.run import RunFile, RunResult, Watch, attempts, facts, prepare, read
from pipeline.run.job import Job
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


def merge(shards: Sequence[Path], out: Path | None, watch: Watch) -> Merged:
    """Join what the shards in these folders have finished; in `out`, or where the first of them lies.

    It may be repeated, as when a shard has gone on. Raises UsageError, naming what differs, where they are not parts
    of one run.
    """
    config = whole([(folder, read(folder)) for folder in shards])
    place = out or shards[0].parents[1]
    place = Runtime().out if place.resolve() == Runtime().out.resolve() else place
    config = config.with_how(out=place)
    job = Job(config, watch, place / shards[0].parent.name / config.folder().name)
    job.read()
    at_work = list[Path]()
    with job.held():
        unchanged(shards[0], config, job.corpus.fingerprint)
        journals, planned = [folder / "journal" for folder in shards], Order(config, job.corpus).holds
        counts = join_journals(job.folder / "journal", journals, read(shards[0]).identity, planned)
        for folder in shards:
            take_lines(folder / attempts.NAME, attempts.of_shard(job.folder, _name(folder)))
            if not take_answers(folder, prepare.CACHE, place / prepare.CACHE):
                at_work.append(folder)
        facts.keep(job.folder, job.corpus)
    found = dict(zip(map(str, shards), counts, strict=True))
    with job.open() as run:
        run.keep()
        job.export()
        job.report()
        return Merged(
            run=run.result(),
            lines={name: one.good for name, one in found.items()},
            damaged={name: one.damaged for name, one in found.items() if one.damaged},
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
