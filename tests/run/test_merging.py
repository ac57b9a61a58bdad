"""The shards of a run: parts of its plan, and the run that they make together."""

import asyncio
from pathlib import Path

import pytest

from pipeline.config import RunConfig, build
from pipeline.errors import UsageError
from pipeline.run import Run, merging, read
from pipeline.run.locate import run_folder, shard_folders
from pipeline.run.plan import Order, bounds
from pipeline.store.cache import Cache
from pipeline.store.journal import Journal, encode
from pipeline.store.lock import locked
from pipeline.store.shard_merge import join_journals, take_answers, take_lines
from tests.left import lines
from tests.run.fakes import RunCallbacks, config, corpus, digger


def run(asked: RunConfig) -> Path:
    with Run(asked, corpus()) as opened:
        asyncio.run(opened.execute(digger(), RunCallbacks()))
        return opened.folder


def test_shards_share_the_plan_without_rest_and_have_its_digest(tmp_path: Path) -> None:
    whole = config(tmp_path, seeds=11)
    parts = [config(tmp_path, seeds=11, shard=f"{n}/4") for n in (1, 2, 3, 4)]
    assert {part.digest() for part in parts} == {whole.digest()}
    assert [part.folder().name for part in parts[:2]] == [f"{whole.folder().name}-{n}-of-4" for n in (1, 2)]
    counts = [bounds(part.how)[1] for part in parts]
    assert counts == [3, 3, 3, 2]
    orders = [Order(part, corpus(short=90)) for part in parts]
    own = [[order[n] for n in range(count)] for order, count in zip(orders, counts, strict=True)]
    order = Order(whole, corpus(short=90))
    shared = sorted((one for part in own for one in part), key=lambda one: one.order)
    assert shared == [order[n] for n in range(11)]
    assert own[1][0] == order[1]


def test_numbers_of_a_shard_are_its_share_of_those_of_the_run() -> None:
    how = build(values={"how": {"pairs": 30, "budget_tokens": 100, "budget_money": 2.0, "shard": "3/4"}}).how
    assert bounds(how) == (8, 80)
    assert (how.share().budget_tokens, how.share().budget_money) == (25, 0.5)
    with pytest.raises(UsageError, match=r"takes I/N, such as 1/4 to 4/4, .*not '5/4'"):
        build(values={"how": {"shard": "5/4"}})


@pytest.mark.parametrize("how", [{"seeds": 40}, {"pairs": 15}])
def test_journals_that_are_joined_are_the_journal_of_the_run(tmp_path: Path, how: dict[str, int]) -> None:
    expected = lines(run(config(tmp_path / "whole", **how)))
    shards = [run(config(tmp_path, shard=f"{n}/4", **how)) for n in (1, 2, 3, 4)]
    folder = config(tmp_path, **how).folder()
    asked = config(tmp_path, **how)
    given = [shard / "journal" for shard in shards], read(shards[0]).identity, Order(asked, corpus()).holds
    counts = join_journals(folder / "journal", *given)
    once = (folder / "journal/main.jsonl").read_bytes()
    assert join_journals(folder / "journal", *given) == counts
    assert (folder / "journal/main.jsonl").read_bytes() == once
    with Run(config(tmp_path, **how), corpus()) as joined:
        owed = joined.owed()
        assert owed == len(expected.keys() - joined.journal.entries.keys()) or "pairs" in how
        result = asyncio.run(joined.execute(digger(), RunCallbacks()))
    found = lines(folder)
    assert len(found) == sum(good for good, _ in counts) + owed
    assert result.complete
    if "seeds" in how:
        assert found == expected
    else:
        with (
            Run(config(tmp_path / "whole", **how), corpus()) as single,
            Run(config(tmp_path, **how), corpus()) as again,
        ):
            assert list(again.kept()) == list(single.kept())


def test_what_is_owed_is_what_no_shard_has_finished(tmp_path: Path) -> None:
    shards = [run(config(tmp_path, seeds=40, shard=f"{n}/4")) for n in (1, 3)]
    journals, order = [shard / "journal" for shard in shards], Order(config(tmp_path, seeds=40), corpus())
    join_journals(config(tmp_path).folder() / "journal", journals, read(shards[0]).identity, order.holds)
    with Run(config(tmp_path, seeds=40), corpus()) as joined:
        assert joined.owed() == 20
    with Run(config(tmp_path, pairs=4), corpus()) as joined:
        assert 0 < joined.owed() < 20


def test_shards_of_other_runs_are_refused_with_what_differs(tmp_path: Path) -> None:
    one = run(config(tmp_path, seeds=8, shard="1/2"))
    more = run(config(tmp_path / "b", seeds=10, shard="2/2"))
    with pytest.raises(UsageError, match=r"are no shards of one run: they differ in how\.seeds; name"):
        merging.whole([(folder, read(folder)) for folder in (one, more)])
    other = read(one).model_copy(update={"corpus_fingerprint": "0" * 64})
    with pytest.raises(UsageError, match="they differ in corpus texts"):
        merging.whole([(one, read(one)), (more, other)])
    assert merging.whole([(one, read(one))]) == config(tmp_path, seeds=8)


def test_shards_are_found_by_folder_and_by_common_name(tmp_path: Path) -> None:
    shards = [run(config(tmp_path, seeds=8, shard=f"{n}/2")) for n in (1, 2)]
    name = config(tmp_path).folder().name
    for given in ("tiny", name, f"tiny/{name}", str(tmp_path / "tiny" / name), name[:6]):
        assert shard_folders(given, tmp_path) == shards, given
    assert shard_folders(shards[1], tmp_path) == shard_folders(f"tiny/{name}-2-of-2", tmp_path) == shards[1:]
    with pytest.raises(UsageError, match="no shards of a run 'wiki'"):
        shard_folders("wiki", tmp_path)
    whole = run(config(tmp_path, seeds=8))
    assert run_folder(name[:6], tmp_path) == whole
    assert shard_folders(name, tmp_path) == shards


def test_a_torn_line_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\ntwo\nthr")
    take_lines(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"one\ntwo\n"


def test_paid_answers_are_taken_unless_a_process_is_at_work(tmp_path: Path) -> None:
    shard = tmp_path / "shard"
    cache = Cache(shard / "cache.sqlite")
    cache.put(b"a" * 32, b'"paid"')
    cache.close()
    with locked(shard):
        assert not take_answers(shard, "cache.sqlite", tmp_path / "cache.sqlite")
    assert take_answers(shard, "cache.sqlite", tmp_path / "cache.sqlite")
    assert Cache(tmp_path / "cache.sqlite").get(b"a" * 32) == b'"paid"'


def test_lines_of_other_runs_are_left_out_and_their_seeds_owed(tmp_path: Path) -> None:
    """Of another run, of the same run at another place of the plan, and of a record that contradicts itself."""
    shards = [run(config(tmp_path, seeds=12, shard=f"{n}/2")) for n in (1, 2)]
    other = run(config(tmp_path / "other", seeds=5).model_copy(update={"seed": 7}))
    journal = shards[0] / "journal/main.jsonl"
    own = journal.read_bytes().splitlines(keepends=True)
    entries = list(Journal(shards[0] / "journal").entries.values())
    record = Journal(shards[0] / "journal").read(entries[0].head.key)
    moved = entries[0].head.model_copy(update={"order": "000000-000000000399"})
    head = entries[1].head.model_copy(update={"missing": ("teacher",)})
    late = encode(head, Journal(shards[0] / "journal").read(entries[1].head.key))
    tampered = [encode(moved, record) + b"\n", late + b"\n", *own[2:]]
    journal.write_bytes(b"".join(tampered) + (other / "journal/main.jsonl").read_bytes())
    asked = config(tmp_path, seeds=12)
    journals, order = [shard / "journal" for shard in shards], Order(asked, corpus())
    found = join_journals(asked.folder() / "journal", journals, read(shards[0]).identity, order.holds)
    assert found == [(4, 7), (6, 0)]
    assert len(lines(asked.folder())) == 10
    with Run(asked, corpus()) as joined:
        assert joined.owed() == 2


def test_of_the_shards_that_were_not_given_the_first_are_named(tmp_path: Path) -> None:
    assert merging.absent([tmp_path / "f00-2-of-3"]) == ("1/3", "3/3")
    assert merging.absent([tmp_path / "f00-1-of-3", tmp_path / "f00-2-of-999999999"])[:3] == (
        "1/999999999",
        "3/999999999",
        "4/999999999",
    )
    assert len(merging.absent([tmp_path / "f00-2-of-999999999"])) == 50
