"""`digsite compare` as a user meets it."""

from pathlib import Path

from pipeline.analysis.comparison import Comparison
from tests.analysis.test_seed_rows import begin_run, export_table
from tests.cli.conftest import Digsite
from tests.records import batch


def test_two_runs_are_compared_as_text_and_as_json(digsite: Digsite, tmp_path: Path) -> None:
    first, config = begin_run(tmp_path / "one", batch(24))
    second, _ = begin_run(tmp_path / "two", batch(40))
    export_table(first, config)
    output = digsite("compare", first, second)
    assert output.code == 0
    for words in ("7 of 24 seeds gave a pair", "difference", "superficial", "24 seeds were tried in both"):
        assert words in " ".join(output.out.split())
    comparison = Comparison.model_validate_json(digsite("compare", first, second, "--json").out)
    assert (comparison.first.planned, comparison.second.planned) == (24, 40)


def test_compare_takes_a_data_set_and_a_journal_without_their_runs(digsite: Digsite, tmp_path: Path) -> None:
    first, config = begin_run(tmp_path / "one", batch(24))
    second, _ = begin_run(tmp_path / "two", batch(40))
    export_table(first, config)
    for path in (first / "dataset", second / "journal"):
        path.rename(tmp_path / path.name)
    output = digsite("compare", tmp_path / "dataset", tmp_path / "journal", "--json")
    comparison = Comparison.model_validate_json(output.out)
    assert (comparison.first.planned, comparison.second.planned) == (24, 40)
    assert comparison.paired
    assert comparison.paired.seeds == 24
