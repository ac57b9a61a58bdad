"""For sizes far beyond the usual, memory stays bounded and oversized input is counted."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest
import zstandard

from pipeline import gates
from pipeline.store.journal import Head, RunIdentity
from tests.chaos.command import CHEAP, KEY, ROOT, Remains, over
from tests.chaos.endpoint import serving
from tests.conftest import Figures
from tests.records import batch

MAX_GIB = 1.5
"""GiB."""
KEYS = ("PATTERN-OF-A-KEY", "PATTERN-OF-AN-ORDER")
DRAW = 987_654_321
GOOD = 600
"""Documents beside the hostile ones."""


class CommandOutput(NamedTuple):
    code: int
    out: str
    err: str
    gib: float
    """The most memory that it held."""


def digsite(folder: Path, *arguments: str) -> CommandOutput:
    files = [(folder / name).open("wb") for name in ("out.txt", "err.txt")]
    environment = {**os.environ, "CANARY_KEY": KEY}
    command = [sys.executable, "-m", "pipeline.cli", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=files[0], stderr=files[1], env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    out, err = ((folder / name).read_text() for name in ("out.txt", "err.txt"))
    return CommandOutput(process.returncode, out, err, usage.ru_maxrss / 2**20)


def write_records(run: Path, count: int) -> int:
    """Replace the run's journal by one with so many records of every kind. Return its size."""
    settings = orjson.loads((run / "run.json").read_bytes())
    identity = RunIdentity(settings["digest"], settings["corpus_fingerprint"])
    records, patterns = batch(200), []
    for record in records:
        key, order = KEYS
        seed = record.seed.model_copy(update={"key": key, "draw": DRAW})
        renamed = record.model_copy(update={"key": key, "seed": seed})
        head = Head(key=key, order=order, status=record.status, reason=record.reason, target_steps=3)
        patterns.append(b'"head":%b,"record":%b}' % (orjson.dumps(head), renamed.model_dump_json().encode()))
    with (run / "journal" / "main.jsonl").open("wb") as file:
        for number in range(count):
            key = identity.key(records[number % len(records)].seed.passage.id, number)
            body = patterns[number % len(patterns)].replace(KEYS[0].encode(), key.encode())
            body = body.replace(b'"draw":%d' % DRAW, b'"draw":%d' % number)
            body = body.replace(KEYS[1].encode(), b"%012d" % number)
            file.write(b'{"sha256":"%b",%b\n' % (hashlib.sha256(body).hexdigest().encode(), body))
        size = file.tell()
    settings["config"]["runtime"]["seeds"] = count
    (run / "run.json").write_bytes(orjson.dumps(settings))
    return size


@pytest.mark.parametrize("count", [pytest.param(100_000, marks=pytest.mark.chaos)])
def test_a_hundred_thousand_records_are_exported_in_bounded_memory(
    tmp_path: Path, figures: Figures, count: int
) -> None:
    """Gates are off, since the records repeat, so every accepted one reaches the data set and the report."""
    off = json.dumps(list(gates.load_gates()))
    generated = digsite(
        tmp_path, "generate", "tiny", *CHEAP, "--seeds", "1", "--set", f"gates.off={off}", "--out", str(tmp_path)
    )
    assert generated.code == 0, generated.err
    remains = Remains(tmp_path)
    size = write_records(remains.run, count)
    exported = digsite(tmp_path, "export", str(remains.run), "--view", "qa,sft", "--json")
    assert exported.code == 0, exported.err
    reported = digsite(tmp_path, "report", str(remains.run))
    assert reported.code == 0, reported.err
    rows = sum(shard["rows"] for shard in json.loads(exported.out)["shards"] if shard["view"] == "qa")
    assert json.loads(exported.out)["records"] == count
    assert rows > count / 4
    peak = max(exported.gib, reported.gib)
    figures({"records": count, "journal in GB": round(size / 1e9, 2)}, {"rows of qa": rows, "GiB": round(peak, 2)})
    assert peak <= MAX_GIB


@pytest.mark.parametrize("megabytes", [pytest.param(50, marks=pytest.mark.chaos)])
def test_an_oversized_document_is_counted_in_bounded_memory(tmp_path: Path, figures: Figures, megabytes: int) -> None:
    """It is skipped and counted, as a line and as a file."""
    words = "The mill of Arden was built in 1702 by Ada Brannick. " * (megabytes * 20_000)
    lines, folder = tmp_path / "lines.jsonl", tmp_path / "texts"
    folder.mkdir()
    (folder / "large.md").write_text(words)
    with lines.open("w") as file:
        for number in range(200):
            text = f"The mill of Arden was built in 1702. It was mill number {number} of the valley, and ground corn."
            file.write(json.dumps({"id": str(number), "title": f"Mill {number}", "text": text}) + "\n")
            (folder / f"{number}.md").write_text(text)
        file.write(json.dumps({"id": "large", "title": "All mills", "text": words}) + "\n")
    most = 0.0
    for path in (lines, folder):
        read = digsite(tmp_path, "corpus", "stats", str(path), "--json")
        assert read.code == 0, read.err
        counts = json.loads(read.out)
        assert (counts["kept"], counts["oversized"] + counts["bad"], counts["read"]) == (200, 1, 201)
        most = max(most, read.gib)
    figures({"documents": 2, "MB each": float(megabytes)}, {"left out and counted": 2, "GiB": round(most, 2)})
    assert most <= MAX_GIB


@pytest.mark.parametrize(
    ("kind", "megabytes"),
    [("a line", 70), *(pytest.param(kind, 10_000, marks=pytest.mark.chaos) for kind in ("a line", "lines"))],
)
def test_a_compression_bomb_is_refused_in_bounded_memory(
    tmp_path: Path, figures: Figures, kind: str, megabytes: int
) -> None:
    """The small file unpacks to gigabytes, as one line or many documents."""
    path = tmp_path / "bomb.jsonl.zst"
    line = json.dumps({"id": "a", "text": "The mill of Arden was built in 1702. " * 250}).encode() + b"\n"
    chunk = bytes(1 << 20) if kind == "a line" else line * ((1 << 20) // len(line))
    with zstandard.open(path, "wb", cctx=zstandard.ZstdCompressor(level=3)) as stream:
        for _ in range(megabytes):
            stream.write(chunk)
    stats = digsite(tmp_path, "corpus", "stats", str(path), "--out", str(tmp_path / "out"))
    assert stats.code == 2
    messages = [line for line in stats.err.splitlines() if "documents read" not in line]
    assert messages == [f"digsite: {path}: unpacks to more than 200 times its size; refused as a bomb"]
    figures({"MB": megabytes, "kB packed": path.stat().st_size // 1000}, {"GiB": round(stats.gib, 2)})
    assert stats.gib <= MAX_GIB


@pytest.mark.parametrize("characters", [210_000, pytest.param(1_000_000, marks=pytest.mark.chaos)])
def test_hostile_lines_are_counted_in_bounded_memory(tmp_path: Path, figures: Figures, characters: int) -> None:
    """Each line is counted; lines that are no documents get a message."""
    text = "The mill of Arden was built in 1702. It was mill number {} of the valley, and ground corn."
    good_rows = [{"id": str(n), "title": f"Mill {n}", "text": text.format(n)} for n in range(GOOD)]
    bad_rows = {
        "nested id": {"id": {"id": ["a"]}, "text": "One."},
        "list as id": {"id": ["a", "b"], "text": "Two."},
        "id used twice": {"id": "7", "text": "Three."},
        "nested text": {"id": "x", "text": {"body": "Four."}},
        "deep": "[" * characters,
    }
    large = {"id": "large", "title": "No blanks", "text": "x" * characters}
    lines = [
        value if isinstance(value, str) else json.dumps(value) for value in (*good_rows, *bad_rows.values(), large)
    ]
    path = tmp_path / "hostile.jsonl"
    path.write_text("\n".join(lines))
    stats = digsite(tmp_path, "corpus", "stats", str(path), "--json", "--out", str(tmp_path / "out"))
    assert stats.code == 0, stats.err
    counts = json.loads(stats.out)
    assert {name: counts[name] for name in ("read", "kept", "bad", "oversized")} == {
        "read": GOOD + 6, "kept": GOOD, "bad": 5, "oversized": 1,
    }  # fmt: skip
    (tmp_path / "corpus.toml").write_text("[limits]\ndoc_chars = 2_000_000\n")
    raised_limit = digsite(tmp_path, "corpus", "stats", str(path), "--json", "--out", str(tmp_path / "out"))
    assert json.loads(raised_limit.out)["kept"] == GOOD + 1
    assert json.loads(raised_limit.out)["passages"] > GOOD + characters / 40 / 200
    figures({"lines": 6, "characters": characters}, {"left out": 6, "GiB": round(max(stats.gib, raised_limit.gib), 2)})
    assert max(stats.gib, raised_limit.gib) <= MAX_GIB


@pytest.mark.parametrize("seeds", [pytest.param(40, marks=pytest.mark.chaos)])
def test_completions_of_ten_megabytes_are_cut_off(tmp_path: Path, figures: Figures, seeds: int) -> None:
    """A third of all answers are that long; they count as cut off, and no record contains one."""
    with serving(tmp_path / "notes", "0.3", "1", "huge") as endpoint:
        output = digsite(
            tmp_path, "generate", "tiny", *CHEAP, *over(endpoint.url), "--seeds", str(seeds), "--out", str(tmp_path)
        )
        answer_count = len(endpoint.answered())
    assert output.code == 0, output.err
    remains = Remains(tmp_path)
    remains.whole(seeds)
    longest = max(map(len, remains.known.values())) / 1e3
    figures(
        {"seeds": seeds, "whole answers": answer_count},
        {"longest line in kB": round(longest, 1), "GiB": round(output.gib, 2)},
    )
    assert output.gib <= MAX_GIB
    assert longest < 5_000
