"""What a run was begun with, and the refusal to go on with anything else."""

from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from pipeline.config import RunConfig
from pipeline.config.differences import differences
from pipeline.config.gates import GateConfig
from pipeline.config.sft_settings import SftConfig
from pipeline.errors import StoreError, UsageError
from pipeline.gates import Gates
from pipeline.store.files import write_json
from pipeline.store.journal import RunIdentity
from pipeline.store.lock import hold_lock
from pipeline.types import Data

NAME = "run.json"
FORMAT = 6
"""The format of a run's folder. Any other is refused: a run is finished with the version that began it."""
LAST_VERSIONS = {1: "version 0.1.0", 3: "commit adb75919", 4: "commit 93f66517", 5: "commit b8682652"}
"""The last version that can export a run of an older format."""


class RunFile(Data):
    """`run.json`: written before the first seed, and again with the new `how` by every command that goes on, and with
    new gates by an export that names some."""

    config: RunConfig
    what: dict[str, Any]
    """The digested tree: configuration, prompts and code."""
    digest: str
    """Of that tree; empty for a run of which it is not kept."""
    corpus_fingerprint: str
    format: int

    @property
    def identity(self) -> RunIdentity | None:
        return RunIdentity(self.digest, self.corpus_fingerprint) if self.digest else None


def read(folder: Path) -> RunFile:
    """Raises UsageError where the folder is no run or one of another version, StoreError where its file cannot be
    read."""
    path = folder / NAME
    try:
        tree = orjson.loads(text := path.read_bytes())
        # Before the rest is read, which may have another shape. The first format had no number.
        if isinstance(tree, dict) and (run_format := tree.get("format", 1)) != FORMAT:
            maker = LAST_VERSIONS.get(run_format, "the version that made it")
            raise UsageError(
                f"{folder} has another format than this version of Digsite writes: "
                f"export it with {maker}, or start a new run in another --out"
            )
        return RunFile.model_validate_json(text)
    except FileNotFoundError as error:
        raise UsageError(f"{folder} is not a run: it has no {NAME}") from error
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise StoreError(f"{path} is damaged; move {folder} elsewhere, or name another --out") from error


def begin(folder: Path, config: RunConfig, fingerprint: str) -> None:
    """Write the run's file, or check that what stands there is the same run.

    Raises UsageError, naming each change, where configuration, prompts, model, code or corpus are not as they were.
    """
    unchanged(folder, config, fingerprint)
    what, digest = config.digested(), config.digest()
    file = RunFile(config=config, what=what, digest=digest, corpus_fingerprint=fingerprint, format=FORMAT)
    write_json(folder / NAME, file.model_dump(mode="json"))


def unchanged(folder: Path, config: RunConfig, fingerprint: str) -> None:
    """Raises as `begin` does, and writes nothing."""
    if not (folder / NAME).exists():
        return
    kept = read(folder)
    changed = [name for name, _, _ in differences(kept.what, config.digested())]
    if kept.corpus_fingerprint != fingerprint:
        changed.append("corpus (its texts)")
    if changed:
        raise UsageError(
            f"{folder} was made with another {', '.join(changed)}; restore that to continue it, "
            "or start a new run with `digsite generate` in another --out"
        )


def regate(folder: Path, gates: GateConfig | None, sft: SftConfig | None = None) -> RunConfig:
    """Keep other gates, or another selection of rollouts, in the run's file: what reads it from now on, the report too,
    sees the pairs that they let through.

    Raises UsageError where one cannot work with them, StoreError where another process works on the run.
    """
    if gates:
        Gates(gates)
    with hold_lock(folder):
        kept = read(folder)
        given = {"gates": gates, "sft": sft}
        config = kept.config.model_copy(update={name: value for name, value in given.items() if value is not None})
        from pipeline.exports.trajectories import selection

        selection.ready(config)
        write_json(folder / NAME, kept.model_copy(update={"config": config}).model_dump(mode="json"))
    return config


def resumable(folder: Path) -> RunConfig:
    """The configuration that the run in `folder` goes on with. Raises UsageError where it cannot: see `begin`."""
    kept = read(folder)
    unchanged(folder, kept.config, kept.corpus_fingerprint)
    return kept.config
