"""The table of items can be filtered, searched, sorted and paged, and its address holds all of that."""

import re
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

from pipeline.serve.browser import create
from pipeline.view.browsing import Runs
from pipeline.view.query import parse_query
from tests.records import batch
from tests.view.conftest import Made

KEYS = re.compile(r'class="q"><a href="/[^/]+/items/([0-9a-f]{64})')


def read_keys(client: TestClient, query: str = "") -> list[str]:
    answer = client.get(f"{slug(client)}/items{query}")
    assert answer.status_code == 200
    return KEYS.findall(answer.text)


def slug(client: TestClient) -> str:
    return "/" + client.get("/", follow_redirects=False).headers["location"].split("/")[1]


def test_the_first_page_holds_fifty_in_the_order_of_the_plan(client: TestClient) -> None:
    keys = [record.key for record in batch(120)]
    assert read_keys(client) == keys[:50]
    assert read_keys(client, "?page=3") == keys[100:]
    assert read_keys(client, "?page=99") == keys[100:]


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("?status=failed", lambda r: r["status"] == "failed"),
        ("?status=failed&status=rejected&reason=superficial", lambda r: r["reason"] == "superficial"),
        ("?status=accepted&steps_min=3&steps_max=3", lambda r: r["status"] == "accepted" and r["difficulty"] == 3),
        ("?reason=none", lambda r: r["status"] == "accepted"),
        ("?rate_max=0.5", lambda r: r["solve_rate"] is not None and r["solve_rate"] <= 0.5),
        ("?back=0:co_located", lambda r: r["causes"][0] == "co_located"),
        ("?q=TARN+kirkholm", lambda r: "Tarn" in (r["question"] or "") and "Kirkholm" in (r["hop_titles"] or ())),
        ("?q=%22Tarn+Crossing%22", lambda r: "Tarn Crossing" in (r["hop_titles"] or ())),
        ("?q=nothing+of+the+kind", lambda r: False),
        ("?q=.*", lambda r: False),
        ("?steps_min=x&sort=evil&page=-1&nonsense=1&status=&back=1:%00", lambda r: True),
    ],
)
def test_a_filter_lets_through_what_it_says(client: TestClient, run: Path, query: str, matches) -> None:
    rows = pl.read_parquet(run / "dataset" / "seeds.parquet").to_dicts()
    expected = [row["key"] for row in rows if matches(row)]
    assert read_keys(client, query) == expected[:50]
    assert f"<b>{len(expected)}</b> item" in client.get(f"{slug(client)}/items{query}").text


def test_rows_are_sorted_and_those_without_a_value_come_last(client: TestClient) -> None:
    rates = {record.key: record.solve_rate for record in batch(120)}
    for sort, page in (("-rate", 1), ("-rate", 3), ("rate", 3)):
        values = [rates[key] for key in read_keys(client, f"?sort={sort}&page={page}")]
        measured = [value for value in values if value is not None]
        assert measured == sorted(measured, reverse=sort[0] == "-")
        assert values[len(measured) :] == [None] * (len(values) - len(measured))


def test_a_run_that_nobody_has_exported_is_read_from_its_journal(make_client: Made) -> None:
    with make_client(batch(24)) as client:
        assert read_keys(client) == [record.key for record in batch(24)]


def test_a_page_asked_before_anything_was_read_says_so_and_asks_again(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.view.tabling._FIRST_WAIT", 0)
    monkeypatch.setattr("pipeline.view.tabling.TabledSource._build", lambda self: None)
    monkeypatch.setattr("pipeline.view.tabling.TabledSource._read_exported", lambda self: None)
    library = Runs([str(run)], run.parents[1])
    with TestClient(create(library), base_url="http://127.0.0.1") as client:
        for page in ("items", "overview"):
            answer = client.get(f"{slug(client)}/{page}")
            assert "reading the journal" in answer.text
            assert 'hx-trigger="load delay:2s"' in answer.text
    library.close()


def test_values_that_no_row_has_are_left_out_and_those_that_stay_are_few(client: TestClient) -> None:
    filtered_keys = read_keys(client, "?status=rejected")
    unknown = "&".join(f"status=x{n}&kind=y{n}" for n in range(2000))
    answer = client.get(f"{slug(client)}?status=rejected&{unknown}")
    assert "status=x" not in answer.text
    assert len(answer.text) < 2 * len(client.get(f"{slug(client)}?status=rejected").text)
    assert read_keys(client, f"?status=rejected&{unknown}") == filtered_keys
    assert read_keys(client, f"?{unknown}") == read_keys(client)


@pytest.mark.parametrize("least", ["1500000", "123456.7", "0.000001", "999999999999999", "0"])
def test_an_address_holds_a_number_of_any_size(client: TestClient, least: str) -> None:
    query = parse_query([("tokens_min", least)], {})
    assert query.url() == f"?tokens_min={least}"
    assert f'name="tokens_min" value="{least}"' in client.get(f"{slug(client)}/items{query.url()}").text


def test_of_one_choice_so_many_values_are_taken() -> None:
    choices = {"reason": {str(n) for n in range(100)}}
    chosen = parse_query((("reason", str(n)) for n in range(100)), choices).chosen["reason"]
    assert chosen == tuple(map(str, range(24)))
