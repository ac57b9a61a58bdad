"""The settings that a run was begun with, and the refusal to continue with others."""

import logging
import shlex
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from pipeline.config import RunConfig
from pipeline.config.exports import GateConfig, SftConfig
from pipeline.config.toml import differences
from pipeline.errors import StoreError, UsageError
from pipeline.gates import Gates
from pipeline.store.files import write_json
from pipeline.store.lock import hold_lock
from pipeline.types import Data

logger = logging.getLogger(__name__)
NAME = "run.json"
FORMAT = 8
"""The format of a run's folder. Other formats are refused: a run must be finished with the version that began it."""
LAST_VERSIONS = {
    1: "version 0.1.0",
    3: "commit adb75919",
    4: "commit 93f66517",
    5: "commit b8682652",
    6: "commit d3a22dfb",
    7: "commit c67f6e4e",
}
"""The last version that can export a run of an older format."""


_TEXTS = "corpus (its texts)"


class ExportSettings(Data):
    """The settings that an export can change."""

    gates: GateConfig
    sft: SftConfig


class RunFile(Data):
    """`run.json`: written before the first seed.

    Every command that continues the run writes it again with its `runtime`, and an export that sets gates with these
    gates.
    """

    config: RunConfig
    what: dict[str, Any]
    """The digested tree: configuration, prompts and code."""
    digest: str
    """The digest of that tree; empty for a run without one."""
    corpus_fingerprint: str
    format: int
    generated_with: ExportSettings | None = None
    """What `generate` was called with, if an export has stored other settings in `config` since."""


def read(folder: Path) -> RunFile:
    """Read the file of a run.

    Raises UsageError if the folder is not a run or has another version's format, StoreError if the file cannot be read.
    """
    path = folder / NAME
    try:
        tree = orjson.loads(text := path.read_bytes())
        # Check this first: other formats have other fields. The first format had no number.
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


def read_fingerprint(folder: Path) -> str:
    """Return the fingerprint of a run's corpus, whatever the run's format is."""
    try:
        return str(orjson.loads((folder / NAME).read_bytes())["corpus_fingerprint"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise StoreError(f"{folder / NAME} does not say which corpus it needs; move {folder} elsewhere") from error


def begin(folder: Path, config: RunConfig, fingerprint: str) -> None:
    """Write the run's file, or check that the existing one is of the same run.

    Raises UsageError, naming each change, if configuration, prompts, model, code or corpus have changed.
    """
    check_unchanged(folder, config, fingerprint)
    what, digest = config.digest_input(), config.digest()
    file = RunFile(config=config, what=what, digest=digest, corpus_fingerprint=fingerprint, format=FORMAT)
    if (folder / NAME).exists() and (stored := read(folder)).generated_with:
        is_kept = (stored.config.gates, stored.config.sft) == (config.gates, config.sft)
        file = file.model_copy(update={"generated_with": stored.generated_with if is_kept else None})
    _write(folder, file)


def _write(folder: Path, file: RunFile) -> None:
    exclude = None if file.generated_with else {"generated_with"}
    write_json(folder / NAME, file.model_dump(mode="json", exclude=exclude))


def keep_export_settings(folder: Path, config: RunConfig) -> RunConfig:
    """Return the configuration with the gates and the selection of rollouts that an export stored with the run.

    A command of `generate` with other settings than the one before it wins.
    """
    if not (folder / NAME).exists() or (before := (stored := read(folder)).generated_with) is None:
        return config
    if (before.gates, before.sft) != (config.gates, config.sft):
        return config
    settings = {"gates": stored.config.gates, "sft": stored.config.sft}
    kept = differences(
        before.model_dump(mode="json"), {name: s.model_dump(mode="json") for name, s in settings.items()}
    )
    logger.warning(
        "%s: settings that digsite export stored are kept: %s",
        folder,
        ", ".join(f"{name}={orjson.dumps(value).decode()}" for name, _, value in kept),
    )
    return config.model_copy(update=settings)


def check_unchanged(folder: Path, config: RunConfig, fingerprint: str) -> None:
    """Raise the same errors as `begin`, and write nothing."""
    if not (folder / NAME).exists():
        return
    stored = read(folder)
    changed = [name for name, _, _ in differences(stored.what, config.digest_input())]
    if stored.corpus_fingerprint != fingerprint:
        changed.append(_TEXTS)
    if changed == [_TEXTS]:
        raise UsageError(
            f"{folder} was made with another {_TEXTS}; to make its next version and keep the pairs that are still "
            f"valid: digsite refresh {shlex.quote(str(folder))}"
        )
    if changed:
        raise UsageError(
            f"{folder} was made with another {', '.join(changed)}; restore that to continue it, "
            "or start a new run with `digsite generate` in another --out"
        )


def regate(folder: Path, gates: GateConfig | None, sft: SftConfig | None = None) -> RunConfig:
    """Store new gates, or a new selection of rollouts, in the run's file. All later readers, the report too, use them.

    Raises UsageError if the gates cannot work, StoreError if another process works on the run.
    """
    if gates:
        Gates(gates)
    with hold_lock(folder):
        stored = read(folder)
        new_settings = {"gates": gates, "sft": sft}
        config = stored.config.model_copy(
            update={name: value for name, value in new_settings.items() if value is not None}
        )
        from pipeline.exports.trajectories import selection

        selection.require_policy(config)
        before = stored.generated_with or ExportSettings(gates=stored.config.gates, sft=stored.config.sft)
        _write(folder, stored.model_copy(update={"config": config, "generated_with": before}))
    return config


def resumable(folder: Path) -> RunConfig:
    """Return the configuration with which the run in `folder` continues. Raises UsageError if it cannot continue."""
    stored = read(folder)
    check_unchanged(folder, stored.config, stored.corpus_fingerprint)
    return stored.config
