"""Orders in documents have no effect beyond the model's text, even if the model obeys every one."""

import json
import os
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from pipeline.store.journal import Journal
from pipeline.types import Record
from tests.chaos.command import KEY, ROOT, finished, over, start
from tests.chaos.endpoint import serving
from tests.chaos.obedient import FORGED, LURED, poison_text
from tests.conftest import Figures

SETTINGS = (
    "--retriever bm25 --steps 1-2 --no-flow --json --set loop.rollouts=2 --set checks.enabled=[] "
    "--set loop.last_round_relaxed=true"
).split()
"""Every draft is tried, whatever the audit says, so that the solver meets the orders too; and what is only too easy is
accepted, so that there are pairs to look at."""


class Effects(NamedTuple):
    """What the command did to the system, by Python's audit events."""

    opened: list[str]
    connected: list[str]
    started: list[str]


EXPLAINED = (
    str(ROOT), sys.prefix, sys.base_prefix, os.devnull, "/usr/", "/lib", "/proc/", "/sys/", "/dev/urandom", "/etc/ssl",
    "/etc/localtime", "/etc/mime.types", "/etc/apache2/mime.types", "/etc/httpd", "/etc/os-release", "/etc/resolv.conf",
    "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf",
)  # fmt: skip
"""What the interpreter, its libraries and the SDK read; descriptors that are open already have a number for a name."""


def read_effects(file: Path, home: Path, url: str) -> Effects:
    """Return the effects beyond the run's files, the interpreter's files, the endpoint, and the SDK's `uname`."""
    events = [json.loads(line) for line in file.read_text().splitlines()]
    opened = [what for name, what in events if name == "open" and not what.isdigit()]
    port = str(urlsplit(url).port)
    return Effects(
        [what for what in opened if not what.startswith((str(home), *EXPLAINED))],
        [what for name, what in events if name == "socket.connect" and port not in what],
        [what for name, what in events if name in ("subprocess.Popen", "os.system") and what != "uname"],
    )


def write_corpus(path: Path, documents: int, port: int) -> dict[str, str]:
    """Write documents that each give an order. Return the texts by id."""
    lines = [json.loads(line) for line in (ROOT / "corpora" / "tiny.jsonl").read_text().splitlines()]
    texts = {}
    with path.open("w") as file:
        for number in range(documents):
            row = lines[number % len(lines)]
            text = poison_text(row["text"], number, str(path.parent), port)
            texts[f"{row['id']}-{number}"] = text
            file.write(json.dumps({"id": f"{row['id']}-{number}", "title": row["title"], "text": text}) + "\n")
    return texts


@pytest.mark.parametrize(("documents", "seeds"), [(20, 20), pytest.param(100, 200, marks=pytest.mark.chaos)])
def test_orders_in_documents_have_no_effect(tmp_path: Path, figures: Figures, documents: int, seeds: int) -> None:
    audit, out = tmp_path / "audit", tmp_path / "out"
    with serving(tmp_path / "notes", "obey") as endpoint:
        texts = write_corpus(tmp_path / "poisoned.jsonl", documents, urlsplit(endpoint.url).port or 0)
        command = [*SETTINGS, *over(endpoint.url), "--seeds", str(seeds)]
        process = start(
            out, *command, through=("tests.chaos.wrapped", "audit", str(audit)), corpus=str(tmp_path / "poisoned.jsonl")
        )
        stderr = finished(process)
        side_effects = read_effects(audit, tmp_path, endpoint.url)
    assert side_effects == Effects([], [], [])
    assert list(tmp_path.glob("obeyed-*")) == []
    folder = next(path.parent for path in out.glob("*/*/run.json") if not path.parent.is_symlink())
    journal = Journal(folder / "journal")
    records = [journal.read(key) for key in journal.entries]
    assert len(records) == seeds
    lured = sum(LURED in rollout.answer for record in records for past in record.rounds for rollout in past.rollouts)
    false_count = sum(has_false_quote(record, texts) for record in records if record.status == "accepted")
    secrets = [path.name for path in out.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert KEY not in stderr
    accepted = sum(record.status == "accepted" for record in records)
    result = {
        "effects": 0,
        "secrets": len(secrets),
        "false quotes accepted": false_count,
        "rollouts that obeyed": lured,
    }
    figures({"documents": documents, "seeds": seeds, "accepted": accepted}, result)
    assert (secrets, false_count) == ([], 0)
    assert lured
    assert accepted
    assert any(FORGED in line.read_text(errors="replace") for line in (folder / "journal").iterdir())


def has_false_quote(record: Record, texts: dict[str, str]) -> bool:
    """Return whether the record cites a quote that its documents do not contain."""
    assert record.draft
    return any(hop.quote not in texts[hop.passage_id.partition("#")[0]] for hop in record.draft.hops)
