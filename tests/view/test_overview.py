"""The overview: every number that has a link is the number of items that the link leads to."""

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pipeline.types import Record
from pipeline.view.browsing import Runs
from pipeline.view.overview import overview
from pipeline.view.plots import Matrix
from tests.analysis.test_seed_rows import begin_run
from tests.exports.report.test_page import Parsed
from tests.hostile import HOSTILE
from tests.records import hostile, no_draft
from tests.teacher_rollouts import taught
from tests.view.conftest import Made, browsing
from tests.view.test_item import check_inert
from tests.view.test_items import slug

TOTAL = re.compile(r"<b>([\d,]+)</b> items?<")


@pytest.fixture(scope="module")
def seen(run: Path) -> dict[str, Any]:
    library = Runs([str(run)], run.parents[1])
    try:
        source = library.open(library.list_runs()[0].slug)
        return overview(source.seeds().frame, source)
    finally:
        library.close()


def items(client: TestClient, url: str) -> int:
    match = TOTAL.search(client.get(f"{slug(client)}/items{url}").text)
    assert match
    return int(match[1].replace(",", ""))


@pytest.mark.parametrize("name", ["steps", "rates", "causes"])
def test_a_cell_leads_to_as_many_items_as_it_says(client: TestClient, seen: dict[str, Any], name: str) -> None:
    matrix: Matrix = seen[name]
    cells = [cell for _, row in matrix.rows for cell in row]
    assert sum(cell.items for cell in cells) > 3
    for cell in cells:
        assert items(client, cell.url) == cell.items


def test_a_bar_leads_to_as_many_items_as_it_says(client: TestClient, seen: dict[str, Any]) -> None:
    found = seen["figures"]
    counts = {
        "funnel": {one.name: one.count for one in found.funnel},
        "reasons": {one.name: one.count for one in found.reasons},
        "targets": {str(one.steps): one.planned for one in found.targets},
        "types": {one.name: one.count for one in seen["diversity"].answer_types},
        "reasoning": {one.name: one.count for one in seen["diversity"].reasoning},
    }
    for plot, numbers in counts.items():
        assert numbers
        for name, count in numbers.items():
            assert items(client, seen["links"][plot][name]) == count
    for index, stage in seen["rounds"].items():
        for label, count in stage.became.items():
            name = "candidates" if label == "candidate" else label
            assert items(client, seen["back"][index][name]) == count


def test_the_columns_hold_every_seed_once_and_lead_to_theirs(client: TestClient, seen: dict[str, Any]) -> None:
    assert sum(one.accepted.whole for one in seen["places"]) == 120
    assert sum(one.accepted.part for one in seen["places"]) == seen["figures"].accepted
    for one in seen["places"][::5]:
        assert items(client, one.url) == one.accepted.whole == one.last - one.first + 1


def test_the_ends_share_all_tokens_the_dearest_first(client: TestClient, seen: dict[str, Any]) -> None:
    usage = seen["figures"].usage
    assert seen["tokens"] == usage.prompt_tokens + usage.completion_tokens
    assert sum(one["calls"] for one in seen["reasons"]) == usage.calls
    tokens = [one["tokens"] for one in seen["reasons"]]
    assert tokens == sorted(tokens, reverse=True)
    for one in seen["reasons"]:
        assert items(client, one["url"]) == one["seeds"]


def test_the_curve_ends_at_all_pairs_and_all_tokens(seen: dict[str, Any]) -> None:
    curve = seen["by_tokens"]
    assert curve
    assert (curve.accepted, curve.most) == (seen["figures"].accepted, seen["tokens"])
    assert [curve.points[0], curve.points[-1]] == [(0.0, 0.0), (1.0, 1.0)]
    assert list(curve.points) == sorted(curve.points)


def test_the_page_shows_the_figures_of_the_report(client: TestClient, seen: dict[str, Any]) -> None:
    page = Parsed(client.get(f"{slug(client)}/overview").text)
    check_inert(page)
    text = " ".join("".join(page.text).split())
    for wanted in (
        f"{seen['figures'].accepted} of 120 seeds gave a pair",
        str(seen["figures"].confirmed),
        "superficial",
    ):
        assert wanted in text


@pytest.mark.parametrize(
    "records", [[taught(), hostile(text=" ".join(HOSTILE))], [no_draft()]], ids=["hostile", "poor"]
)
def test_the_page_opens_whatever_is_there(made: Made, records: list[Record]) -> None:
    with made(records) as client:
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
