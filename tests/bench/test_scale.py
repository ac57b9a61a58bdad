from pathlib import Path

from bench import scale

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_docs_show_the_table_that_the_script_prints() -> None:
    assert scale.format_forecast() in PAGE.read_text(encoding="utf-8")
