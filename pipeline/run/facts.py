"""`corpus.json` in a run's folder: facts on the corpus at the time it was read, for readers who have only the run."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pipeline.corpus import Corpus
from pipeline.errors import StoreError
from pipeline.store.files import write_json
from pipeline.types import Data

NAME = "corpus.json"


class CorpusFacts(Data):
    redistribute: Literal["full", "spans", "ids", "unknown"] = "unknown"
    """How much of the text may be redistributed."""
    language_detected: bool = False
    """Whether the language was detected, not configured, and is not English."""
    unread: dict[str, int] = Field(default_factory=dict)
    """The number of files that no reader accepts, by their ending."""


def keep(folder: Path, corpus: Corpus) -> None:
    facts = CorpusFacts(
        redistribute=corpus.manifest.redistribute,
        language_detected=corpus.language_detected,
        unread=corpus.counts.skipped,
    )
    write_json(folder / NAME, facts.model_dump(mode="json"))


def read(folder: Path) -> CorpusFacts:
    """Read the facts; a run that never opened its index has the defaults. Raises StoreError if the file is damaged."""
    path = folder / NAME
    try:
        return CorpusFacts.model_validate_json(path.read_bytes()) if path.exists() else CorpusFacts()
    except (OSError, ValidationError) as error:
        raise StoreError(f"{path} is damaged; 'digsite resume' writes it anew") from error
