"""A card says which evaluation sets were looked for, and which were not."""

from pathlib import Path

import pytest

from pipeline.config.exports import GateConfig
from pipeline.gates.benchmarks.checked import coverage, table
from pipeline.gates.contaminated import SHIPPED, read


def test_what_is_shipped_is_checked_and_what_is_not_is_named() -> None:
    said = coverage(GateConfig())
    assert "HotpotQA (dev), 7,405 of 7,405 questions" in said.checked
    assert said.unchecked == ["11,490 questions of PopQA (test)", "TriviaQA (unfiltered dev)", "BrowseComp-Plus (test)"]


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("browsecomp_plus_decrypted.jsonl", "BrowseComp-Plus (test)"),
        ("TriviaQA-unfiltered.parquet", "TriviaQA (unfiltered dev)"),
        ("popQA.tsv", "PopQA (test)"),
        ("PopQA/data/test-00000-of-00001.parquet", "PopQA (test)"),
    ],
)
def test_a_file_that_was_given_is_no_longer_missing(tmp_path: Path, name: str, now: str) -> None:
    for given in (tmp_path / name.split("/")[0], tmp_path):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        said = coverage(GateConfig(against=(given,)))
        assert f"{now}, from the file that was given" in said.checked
        assert not any(now in one for one in said.unchecked)


def test_a_file_of_another_name_changes_nothing() -> None:
    assert coverage(GateConfig(against=(Path("my-questions.jsonl"),))) == coverage(GateConfig())


def test_with_the_gate_off_nothing_was_checked() -> None:
    said = coverage(GateConfig(off=("contaminated",)))
    assert said.checked == []
    assert len(said.unchecked) == len(table())


def test_the_table_says_how_much_each_list_holds() -> None:
    for one in table():
        if one.file:
            # Questions with the same words are one fingerprint.
            assert 0.99 * one.listed <= len(read(SHIPPED / f"{one.file}.hashes")) <= one.listed <= one.questions
        else:
            assert (one.listed, bool(one.source)) == (0, True)
