"""The page of two runs: which other run, the figures, and the seeds that both tried."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pipeline.types import Record
from tests.analysis.test_seed_rows import begun
from tests.exports.report.test_page import Parsed
from tests.hostile import HOSTILE
from tests.records import RUN, accepted, batch, hostile, rejected
from tests.view.conftest import browsing
from tests.view.test_item import check_inert

GROUP = re.compile(r'group=(\w+)#same"[^>]*>[^<]*<b>([\d,]+)</b>')
SEEDS = re.compile(r'class="q" data-name="A"><a href="/[^/]+/items/([0-9a-f]{64})')

OTHER = RUN._replace(digest="a" * 64)


def again(record: Record) -> Record:
    key = OTHER.key(record.seed.passage.id, record.seed.draw)
    return record.model_copy(update={"key": key, "seed": record.seed.model_copy(update={"key": key})})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[list[Record]]]:
    made = [
        [*batch(80), accepted(200), rejected(201), hostile(text=" ".join(HOSTILE))],
        [again(record) for record in (*batch(40), rejected(200), accepted(201))],
    ]
    both = zip(made, (RUN, OTHER), strict=True)
    return [begun(tmp_path_factory.mktemp("run"), records, run=run)[0] for records, run in both], made


@pytest.fixture(scope="module")
def client(runs: tuple[list[Path], list[list[Record]]]) -> Iterator[TestClient]:
    folders, _ = runs
    with browsing(*map(str, folders), out=folders[0].parents[1]) as found:
        yield found


def slugs(client: TestClient) -> list[str]:
    return sorted(set(re.findall(r'href="/([^/"]+)/items"', client.get("/").text)))


def page(client: TestClient, more: str = "") -> str:
    one, other = slugs(client)
    answer = client.get(f"/{one}/compare?with={other}{more}")
    assert answer.status_code == 200
    check_inert(Parsed(answer.text))
    return answer.text


def test_without_another_run_the_page_offers_those_that_there_are(client: TestClient) -> None:
    one, other = slugs(client)
    text = client.get(f"/{one}/compare").text
    check_inert(Parsed(text))
    assert f'href="/{one}/compare?with={other}"' in text
    assert f'with={one}"' not in text


def test_each_group_has_as_many_seeds_as_it_says(client: TestClient) -> None:
    numbers = {name: int(count.replace(",", "")) for name, count in GROUP.findall(page(client))}
    assert numbers["seeds"] == 42
    assert sum(numbers[name] for name in ("both", "first", "second", "neither")) == 42
    assert numbers["both"] > 3
    assert numbers["first"] > 0 < numbers["second"]
    for name, number in numbers.items():
        keys = SEEDS.findall(page(client, f"&group={name}")) + SEEDS.findall(page(client, f"&group={name}&page=2"))
        assert len(set(keys)) == number


def test_a_seed_leads_to_its_item_in_either_run(client: TestClient) -> None:
    text = page(client, "&group=first")
    for slug, key in re.findall(r'href="/([^/]+)/items/([0-9a-f]{64})"', text):
        assert client.get(f"/{slug}/items/{key}").status_code == 200


@pytest.mark.parametrize("more", ["&group=evil&page=-3", "&page=999", "&group=%3Cscript%3E"])
def test_an_address_that_says_nonsense_opens(client: TestClient, more: str) -> None:
    assert "<script>" not in page(client, more)


def test_an_unknown_run_is_not_there(client: TestClient) -> None:
    answer = client.get(f"/{slugs(client)[0]}/compare?with=nothing")
    assert answer.status_code == 404
