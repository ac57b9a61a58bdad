"""Journal lines of another run, or with contradictory contents, are damage."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from pipeline.errors import StoreError
from pipeline.store.amendments import Forks
from pipeline.store.journal import Journal, RunIdentity, build_head, encode
from pipeline.types import Record, Status
from tests.records import RUN, accepted, rejected

TAMPERED: dict[str, Callable[[bytes], bytes]] = {
    "the status of the head": lambda body: body.replace(b'"status":"accepted"', b'"status":"rejected"', 1),
    "the reason of the head": lambda body: body.replace(b'"reason":""', b'"reason":"superficial"', 1),
    "the target of the head": lambda body: body.replace(b'"target_steps":3', b'"target_steps":2', 1),
    "the key of the head": lambda body: body.replace(accepted(1).key.encode(), b"0" * 64, 1),
    "the key of the record": lambda body: body.replace(b'"record":{"key":"', b'"record":{"key":"' + b"0" * 64, 1),
    "the draw of the seed": lambda body: body.replace(b'"draw":1', b'"draw":2', 1),
    "the passage of the seed": lambda body: body.replace(b'"passage":{"id":"b1#0"', b'"passage":{"id":"b2#0"', 1),
    "the status of the record": lambda body: body[::-1].replace(b'"detpecca":"sutats"', b'"detcejer":"sutats"', 1)[
        ::-1
    ],
    "no record": lambda body: body.partition(b'"record":')[0] + b'"record":{}}',
    "no object": lambda body: body.partition(b'"record":')[0] + b'"record":[1]}',
}
LATE: dict[str, Callable[[bytes], bytes]] = {
    "what it lacks": lambda body: body.replace(b'"missing":[]', b'"missing":["teacher"]', 1),
    "a call that nothing answers": lambda body: body.replace(b'"calls":[{"id":"call-0"', b'"calls":[{"id":"other"', 1),
    "a verdict too few": lambda body: body.replace(
        b'"confirmation_verdicts":[{', b'"confirmation_verdicts":[],"x":[{', 1
    ),
}


def seal_line(body: bytes) -> bytes:
    return b'{"sha256":"%b",%b\n' % (sha256(body).hexdigest().encode(), body)


def make_body(record: Record) -> bytes:
    return encode(build_head(record, "000001"), record).partition(b",")[2]


def write_journal(folder: Path, *lines: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "main.jsonl").write_bytes(b"".join(lines))
    return folder


@pytest.mark.parametrize("what", TAMPERED)
def test_a_head_that_differs_from_its_record_is_damage(what: str, tmp_path: Path) -> None:
    intact, second_line = make_body(accepted(1)), make_body(rejected(2))
    tampered = TAMPERED[what](intact)
    assert tampered != intact
    journal = Journal(write_journal(tmp_path, seal_line(tampered), seal_line(second_line)), run=RUN)
    assert (journal.damaged, list(journal.entries)) == (1, [rejected(2).key])
    untouched = Journal(write_journal(tmp_path, seal_line(intact), seal_line(second_line)), run=RUN)
    assert (untouched.damaged, len(untouched.entries)) == (0, 2)


@pytest.mark.parametrize(
    "run", [RunIdentity("0" * 64, RUN.corpus_fingerprint), RunIdentity(RUN.digest, "0" * 64)], ids=["run", "corpus"]
)
def test_an_untouched_line_of_another_run_or_corpus_is_damage(run: RunIdentity, tmp_path: Path) -> None:
    journal = Journal(write_journal(tmp_path, seal_line(make_body(accepted(1)))), run=run)
    assert (journal.damaged, journal.entries) == (1, {})
    assert journal.lost == 1


@pytest.mark.parametrize("what", LATE)
def test_a_contradictory_record_is_named_when_it_is_read(what: str, tmp_path: Path) -> None:
    intact = make_body(accepted(1))
    tampered = LATE[what](intact)
    assert tampered != intact
    first = seal_line(make_body(rejected(2)))
    folder = write_journal(tmp_path, first, seal_line(tampered))
    journal = Journal(folder, run=RUN)
    with pytest.raises(StoreError, match=f"main.jsonl, byte {len(first)}"):
        journal.read(accepted(1).key)
    assert journal.read(rejected(2).key).status is Status.REJECTED


def test_an_unreadable_folder_is_not_treated_as_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_journal(tmp_path, seal_line(make_body(accepted(1))))

    def raise_error(folder: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "iterdir", raise_error)
    for open_store in (lambda: Journal(tmp_path), lambda: Forks(tmp_path)):
        with pytest.raises(StoreError, match="cannot read .*: permission denied"):
            open_store()
