"""A card names the evaluation sets that were checked, and those that were not."""

from pathlib import Path

import pytest

from pipeline.config.exports import GateConfig
from pipeline.gates.benchmarks.checked import coverage, table
from pipeline.gates.contaminated import SHIPPED, read


def test_shipped_lists_are_checked_and_missing_ones_are_named() -> None:
    found_coverage = coverage(GateConfig())
    assert "HotpotQA (dev), 7,405 of 7,405 questions" in found_coverage.checked
    assert found_coverage.unchecked == [
        "11,490 questions of PopQA (test)",
        "TriviaQA (unfiltered dev)",
        "BrowseComp-Plus (test)",
    ]


@pytest.mark.parametrize(
    ("name", "benchmark"),
    [
        ("browsecomp_plus_decrypted.jsonl", "BrowseComp-Plus (test)"),
        ("TriviaQA-unfiltered.parquet", "TriviaQA (unfiltered dev)"),
        ("popQA.tsv", "PopQA (test)"),
        ("PopQA/data/test-00000-of-00001.parquet", "PopQA (test)"),
    ],
)
def test_a_users_file_is_no_longer_missing(tmp_path: Path, name: str, benchmark: str) -> None:
    for path in (tmp_path / name.split("/")[0], tmp_path):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        found_coverage = coverage(GateConfig(against=(path,)))
        assert f"{benchmark}, from the file that was given" in found_coverage.checked
        assert not any(benchmark in entry for entry in found_coverage.unchecked)


def test_a_file_of_another_name_changes_nothing() -> None:
    assert coverage(GateConfig(against=(Path("my-questions.jsonl"),))) == coverage(GateConfig())


def test_with_the_gate_off_nothing_was_checked() -> None:
    found_coverage = coverage(GateConfig(off=("contaminated",)))
    assert found_coverage.checked == []
    assert len(found_coverage.unchecked) == len(table())


def test_the_table_gives_the_size_of_each_list() -> None:
    for benchmark in table():
        if benchmark.file:
            # Questions with the same words are one fingerprint.
            assert (
                0.99 * benchmark.listed
                <= len(read(SHIPPED / f"{benchmark.file}.hashes"))
                <= benchmark.listed
                <= benchmark.questions
            )
        else:
            assert (benchmark.listed, bool(benchmark.source)) == (0, True)
