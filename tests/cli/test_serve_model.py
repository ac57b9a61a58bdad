"""The whole job through the served model, as a user runs it: the same bytes as in process.

`pytest -m slow tests/cli/test_serve_model.py` does it for another run seed too.
"""

from pathlib import Path

import orjson
import pytest

from pipeline.store.journal import Journal, encode
from tests.cli.conftest import ended_well
from tests.served import serving

SETTINGS = "tiny --retriever bm25 --seeds 6 --no-flow --steps 1-3".split()


def made(out: Path, *more: str) -> dict[str, bytes]:
    """The journal's lines by key, and every file of the data set but the card, which says what was paid, and the card's
    hash in the manifest."""
    ended_well("generate", *SETTINGS, "--out", out, *more)
    folder = (out / "tiny" / "latest").resolve()
    journal = Journal(folder / "journal")
    lines = {key: encode(entry.head, journal.read(key)) for key, entry in journal.entries.items()}
    files = [path for path in sorted((folder / "dataset").rglob("*")) if path.is_file() and path.suffix != ".md"]
    made = lines | {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    manifest = orjson.loads(made["dataset/manifest.json"])
    manifest["files"] = [file for file in manifest["files"] if file["path"] != "README.md"]
    return made | {"dataset/manifest.json": orjson.dumps(manifest)}


@pytest.mark.parametrize("seed", ["2", pytest.param("1", marks=pytest.mark.slow)])
def test_the_whole_job_through_the_wire_gives_the_same_bytes(tmp_path: Path, seed: str) -> None:
    here = made(tmp_path / "here", "--seed", seed)
    with serving("serve-model", "--seed", seed) as (_, url):
        there = made(tmp_path / "there", "--seed", seed, "--model", "openai:embedded", "--base-url", url)
    assert {"dataset/environment.json", "dataset/manifest.json"} <= here.keys()
    assert sum(name.endswith(".parquet") for name in here) >= 3
    assert there.keys() == here.keys()
    assert [name for name in here if there[name] != here[name]] == []
