"""`generate --shard` and `merge` as a user meets them: processes side by side, and the bytes of one."""

import subprocess
import sys
from pathlib import Path

import orjson
import pyarrow.parquet as pq

from pipeline.analysis import seed_table
from tests import left
from tests.chaos.command import ROOT
from tests.cli.conftest import SMALL, Digsite


def shard(out: Path, part: str, *how: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pipeline.cli", "generate", "tiny", "--no-flow", *SMALL, "--out", str(out), *how]
    return subprocess.Popen([*command, "--shard", part], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def files(folder: Path) -> dict[str, bytes]:
    """All of a data set but what tells of seeds beyond the plan: those of the table's rows are compared."""
    found = left.files(folder)
    manifest = orjson.loads(found["manifest.json"])
    manifest["files"] = [file for file in manifest["files"] if file["path"] != seed_table.NAME]
    return found | {
        "manifest.json": orjson.dumps(manifest),
        seed_table.NAME: orjson.dumps(pq.read_table(folder / seed_table.NAME).to_pylist(), default=str),
    }


def test_shards_merged_are_the_bytes_of_one_process(tmp_path: Path, digsite: Digsite) -> None:
    how = ("--pairs", "8")
    single, shared = tmp_path / "single", tmp_path / "shared"
    assert digsite("generate", "tiny", *SMALL, "--out", single, *how).code == 0
    processes = [shard(shared, f"{n}/2", *how) for n in (1, 2)]
    ended = [process.communicate()[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * 2, ended
    merged = digsite("merge", "tiny", "--out", shared, "--json").json
    assert merged["absent"] == []
    if not merged["complete"]:
        assert digsite("resume", merged["run"]).code == 0
    (name,) = [path.name for path in (single / "tiny").iterdir() if not path.is_symlink()]
    assert files(shared / "tiny" / name / "dataset") == files(single / "tiny" / name / "dataset")
    assert (shared / "tiny/latest").resolve().name == name


def test_an_unfinished_shard_is_said_and_resume_makes_it_up(tmp_path: Path, digsite: Digsite) -> None:
    single, out = tmp_path / "single", tmp_path / "out"
    seeds = ("--seeds", "6", "--out")
    assert digsite("generate", "tiny", *SMALL, *seeds, single).code == 0
    assert digsite("generate", "tiny", *SMALL, *seeds, out, "--shard", "2/2").code == 0
    (folder,) = (out / "tiny").glob("*-2-of-2")
    said = digsite("merge", folder)
    assert said.code == 3
    run = folder.with_name(folder.name.removesuffix("-2-of-2"))
    assert "without the shards 1/2" in said.err
    assert f"3 seeds are owed; to run them: digsite resume tiny/{run.name} --out {out}\n" in said.err
    assert digsite("resume", run).code == 0
    assert files(run / "dataset") == files(single / "tiny" / run.name / "dataset")
    assert digsite("merge", folder).code == 0


def test_mistakes_are_one_line(tmp_path: Path, digsite: Digsite) -> None:
    assert digsite("generate", "tiny", *SMALL, "--seeds", "2", "--out", tmp_path, "--shard", "1/2").code == 0
    other = digsite("generate", "tiny", *SMALL, "--seeds", "2", "--out", tmp_path, "--shard", "2/2", "--seed", "5")
    assert other.code == 0
    for arguments, told in ((("tiny",), "are no shards of one run: they differ in seed"), (("wiki",), "no shards of")):
        said = digsite("merge", *arguments, "--out", tmp_path)
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert told in said.err
