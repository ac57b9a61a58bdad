"""A run through the served model gives the same bytes as one in process.

`pytest -m slow tests/cli/test_serve_model.py` does it for another run seed too.
"""

from pathlib import Path

import orjson
import pytest

from pipeline.store.journal import Journal, encode
from tests.cli.conftest import run_well
from tests.server_process import serving

SETTINGS = "tiny --retriever bm25 --seeds 6 --no-flow --steps 1-3".split()


def generate(out: Path, *options: str) -> dict[str, bytes]:
    """Generate. Return the journal's lines by key, and every file of the data set.

    The card and its hash are left out, since the card states the cost.
    """
    run_well("generate", *SETTINGS, "--out", out, *options)
    folder = (out / "tiny" / "latest").resolve()
    journal = Journal(folder / "journal")
    lines = {key: encode(entry.head, journal.read(key)) for key, entry in journal.entries.items()}
    files = [path for path in sorted((folder / "dataset").rglob("*")) if path.is_file() and path.suffix != ".md"]
    contents = lines | {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    manifest = orjson.loads(contents["dataset/manifest.json"])
    manifest["files"] = [file for file in manifest["files"] if file["path"] != "README.md"]
    return contents | {"dataset/manifest.json": orjson.dumps(manifest)}


@pytest.mark.parametrize("seed", ["2", pytest.param("1", marks=pytest.mark.slow)])
def test_the_whole_job_through_the_wire_gives_the_same_bytes(tmp_path: Path, seed: str) -> None:
    local = generate(tmp_path / "here", "--seed", seed)
    with serving("serve-model", "--seed", seed) as (_, url):
        served = generate(tmp_path / "there", "--seed", seed, "--model", "openai:embedded", "--base-url", url)
    assert {"dataset/environment.json", "dataset/manifest.json"} <= local.keys()
    assert sum(name.endswith(".parquet") for name in local) >= 3
    assert served.keys() == local.keys()
    assert [name for name in local if served[name] != local[name]] == []
