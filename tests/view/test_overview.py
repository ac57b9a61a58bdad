"""Every linked number of the overview is the number of items that its link leads to."""

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pipeline.types import Record
from pipeline.view import overview as overviews
from pipeline.view.browsing import Runs
from pipeline.view.plots import Matrix
from tests.analysis.test_seed_rows import begin_run
from tests.exports.report.test_page import Parsed
from tests.hostile_texts import HOSTILE
from tests.records import hostile, no_draft
from tests.teacher_rollouts import taught
from tests.view.conftest import Made, browsing
from tests.view.test_item import check_inert
from tests.view.test_items import slug

TOTAL = re.compile(r"<b>([\d,]+)</b> items?<")


@pytest.fixture(scope="module")
def overview(run: Path) -> dict[str, Any]:
    library = Runs([str(run)], run.parents[1])
    try:
        source = library.open(library.list_runs()[0].slug)
        return overviews.overview(source.seeds().frame, source)
    finally:
        library.close()


def count_items(client: TestClient, url: str) -> int:
    match = TOTAL.search(client.get(f"{slug(client)}/items{url}").text)
    assert match
    return int(match[1].replace(",", ""))


@pytest.mark.parametrize("name", ["steps", "rates", "causes"])
def test_a_cell_leads_to_as_many_items_as_it_says(client: TestClient, overview: dict[str, Any], name: str) -> None:
    matrix: Matrix = overview[name]
    cells = [cell for _, row in matrix.rows for cell in row]
    assert sum(cell.items for cell in cells) > 3
    for cell in cells:
        assert count_items(client, cell.url) == cell.items


@pytest.mark.slow
def test_a_bar_leads_to_as_many_items_as_it_says(client: TestClient, overview: dict[str, Any]) -> None:
    figures = overview["figures"]
    counts = {
        "funnel": {entry.name: entry.count for entry in figures.funnel},
        "reasons": {entry.name: entry.count for entry in figures.reasons},
        "targets": {str(entry.steps): entry.planned for entry in figures.targets},
        "types": {entry.name: entry.count for entry in overview["diversity"].answer_types},
        "reasoning": {entry.name: entry.count for entry in overview["diversity"].reasoning},
    }
    for plot, numbers in counts.items():
        assert numbers
        for name, count in numbers.items():
            assert count_items(client, overview["links"][plot][name]) == count
    for index, stage in overview["rounds"].items():
        for label, count in stage.became.items():
            name = "candidates" if label == "candidate" else label
            assert count_items(client, overview["back"][index][name]) == count


def test_the_columns_hold_every_seed_once_and_lead_to_theirs(client: TestClient, overview: dict[str, Any]) -> None:
    assert sum(column.accepted.whole for column in overview["places"]) == 120
    assert sum(column.accepted.part for column in overview["places"]) == overview["figures"].accepted
    for column in overview["places"][::5]:
        assert count_items(client, column.url) == column.accepted.whole == column.last - column.first + 1


def test_the_ends_share_all_tokens_the_dearest_first(client: TestClient, overview: dict[str, Any]) -> None:
    usage = overview["figures"].usage
    assert overview["tokens"] == usage.prompt_tokens + usage.completion_tokens
    assert sum(ending["calls"] for ending in overview["reasons"]) == usage.calls
    tokens = [ending["tokens"] for ending in overview["reasons"]]
    assert tokens == sorted(tokens, reverse=True)
    for ending in overview["reasons"]:
        assert count_items(client, ending["url"]) == ending["seeds"]


def test_the_curve_ends_at_all_pairs_and_all_tokens(overview: dict[str, Any]) -> None:
    curve = overview["by_tokens"]
    assert curve
    assert (curve.accepted, curve.most) == (overview["figures"].accepted, overview["tokens"])
    assert [curve.points[0], curve.points[-1]] == [(0.0, 0.0), (1.0, 1.0)]
    assert list(curve.points) == sorted(curve.points)


def test_the_page_shows_the_figures_of_the_report(client: TestClient, overview: dict[str, Any]) -> None:
    page = Parsed(client.get(f"{slug(client)}/overview").text)
    check_inert(page)
    text = " ".join("".join(page.text).split())
    for expected_text in (
        f"{overview['figures'].accepted} of 120 seeds gave a pair",
        str(overview["figures"].confirmed),
        "superficial",
    ):
        assert expected_text in text


@pytest.mark.parametrize(
    "records", [[taught(), hostile(text=" ".join(HOSTILE))], [no_draft()]], ids=["hostile", "poor"]
)
def test_the_page_opens_whatever_is_there(make_client: Made, records: list[Record]) -> None:
    with make_client(records) as client:
        check_inert(Parsed(client.get(f"{slug(client)}/overview").text))


def test_a_run_that_has_only_begun_has_one(tmp_path: Path) -> None:
    folder, _ = begin_run(tmp_path, [no_draft()])
    for path in (folder / "journal").iterdir():
        path.write_bytes(b"")
    with browsing(str(folder), out=tmp_path) as client:
        assert "0 of 0 seeds gave a pair" in client.get(f"{slug(client)}/overview").text


def test_a_data_set_without_its_run_has_one_too(run: Path) -> None:
    with browsing(str(run / "dataset"), out=run) as client:
        assert "of 120 seeds gave a pair" in client.get(f"{slug(client)}/overview").text
