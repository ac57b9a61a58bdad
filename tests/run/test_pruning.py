"""Old states of a corpus can be removed, but none that a newest version, a link, a user or a process still needs."""

import json
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus.manifest import Manifest
from pipeline.errors import StoreError, UsageError
from pipeline.run.pruning import OldState, find_old_states, remove_state
from pipeline.store.lock_files import mark_as_used
from tests.cli.conftest import Digsite, digsite

__all__ = ["digsite"]
FIRST, SECOND, THIRD, OTHER, UNUSED = (letter * 12 for letter in "abcde")


def write_run(out: Path, name: str, fingerprint: str) -> Path:
    folder = out / "mine" / name
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"corpus_fingerprint": fingerprint + "0" * 52, "format": 1}))
    return folder


def write_state(out: Path, name: str) -> None:
    for folder in (out / "corpora" / name, out / "indexes" / f"{name}-english", out / "indexes" / f"{name}-dense-01ab"):
        folder.mkdir(parents=True)
        (folder / "file").write_text("1234")


@pytest.fixture
def mine(tmp_path: Path) -> Manifest:
    """Write the outputs of three versions of one run, of another run, and of no run."""
    (tmp_path / "mine.jsonl").write_text('{"text": "The mill of Arden was built in 1702."}')
    out = tmp_path / "out"
    for name, fingerprint in (("1234", FIRST), ("1234-v2", SECOND), ("1234-v3", THIRD), ("5678", OTHER)):
        write_run(out, name, fingerprint)
    (out / "mine/latest").symlink_to("5678")
    for fingerprint in (FIRST, SECOND, THIRD, OTHER, UNUSED):
        write_state(out, f"mine-{fingerprint}")
    return corpus.resolve(str(tmp_path / "mine.jsonl"))


def find_fingerprints(states: list[OldState]) -> set[str]:
    return {state.fingerprint for state in states}


def test_states_of_old_versions_are_found_and_removed_with_their_indexes(mine: Manifest, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_state(out, f"mine-2-{FIRST}")
    today = corpus.load(mine, out).fingerprint[:12]
    before = {path.name for path in out.glob("*/mine-*")}
    states = find_old_states(mine, out)
    assert [(state.fingerprint, state.size, state.runs) for state in states] == [
        (FIRST, 12, ["mine/1234"]),
        (SECOND, 12, ["mine/1234-v2"]),
        (UNUSED, 12, []),
    ]
    assert all(map(remove_state, states))
    assert {path.name for path in out.glob("*/mine-*")} == {
        name for name in before if name.startswith("mine-2") or name.split("-")[1] in {THIRD, OTHER, today}
    }
    assert (out / "mine/1234/run.json").exists()


def test_linked_and_kept_versions_keep_their_states(mine: Manifest, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "mine/pinned").symlink_to("1234")
    assert find_fingerprints(find_old_states(mine, out)) == {SECOND, UNUSED}
    assert find_fingerprints(find_old_states(mine, out, [out / "mine/1234-v2"])) == {UNUSED}


def test_a_state_that_a_process_uses_is_kept(mine: Manifest, tmp_path: Path) -> None:
    first, *_ = find_old_states(mine, tmp_path / "out")

    class Owner:
        pass

    owner = Owner()
    mark_as_used(first.folders[-1], owner)
    assert not remove_state(first)
    assert all(folder.exists() for folder in first.folders)
    del owner
    assert remove_state(first)
    with pytest.raises(StoreError, match="was removed; repeat the command"):
        mark_as_used(first.folders[-1], first)


def test_an_open_corpus_is_in_use(mine: Manifest, tmp_path: Path) -> None:
    out = tmp_path / "out"
    opened = corpus.load(mine, out)
    mine.path.write_text('{"text": "The weir of Arden was built in 1703."}')
    (state,) = (state for state in find_old_states(mine, out) if opened.fingerprint.startswith(state.fingerprint))
    assert not remove_state(state)


def test_links_among_the_states_are_neither_followed_nor_removed(mine: Manifest, tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    (out / "corpora" / f"mine-{'f' * 12}").symlink_to(elsewhere)
    (out / "corpora" / f"mine-{FIRST}" / "inside").symlink_to(elsewhere)
    states = find_old_states(mine, out)
    assert find_fingerprints(states) == {FIRST, SECOND, UNUSED}
    assert all(map(remove_state, states))
    (out / "corpora").rename(elsewhere / "corpora")
    (out / "corpora").symlink_to(elsewhere / "corpora")
    (elsewhere / "corpora" / f"mine-{UNUSED}").mkdir()
    with pytest.raises(UsageError, match="is a symbolic link, and nothing is written through one"):
        remove_state(find_old_states(mine, out)[0])
    assert (elsewhere / "precious").exists()


def test_nothing_is_listed_if_a_run_does_not_say_what_it_needs(mine: Manifest, tmp_path: Path) -> None:
    (tmp_path / "out/mine/5678/run.json").write_text("{")
    with pytest.raises(StoreError, match=r"5678/run.json does not say which corpus it needs; move .* elsewhere"):
        find_old_states(mine, tmp_path / "out")


def test_the_command_removes_only_what_yes_confirms(mine: Manifest, tmp_path: Path, digsite: Digsite) -> None:
    out = tmp_path / "out"
    command = ("corpus", "prune", mine.path, "--out", out, "--keep", out / "mine/1234")
    listed = digsite(*command)
    assert (listed.code, SECOND in listed.out, FIRST in listed.out) == (0, True, False)
    assert "--yes removes these" in listed.err
    assert (out / "corpora" / f"mine-{SECOND}").exists()
    removed = digsite(*command, "--yes", "--json").json
    assert [(state["fingerprint"], state["removed"]) for state in removed] == [(SECOND, True), (UNUSED, True)]
    assert not (out / "corpora" / f"mine-{SECOND}").exists()
    assert "nothing to remove" in digsite(*command).err
