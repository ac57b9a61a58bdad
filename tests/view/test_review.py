"""A mark made in the browser is on disk before its answer, and only our own pages can make one."""

import re
import shutil
from pathlib import Path

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from pipeline.store import review_marks
from tests.analysis.test_seed_rows import begin_run, export_table
from tests.exports.report.test_page import Parsed
from tests.hostile_texts import HOSTILE
from tests.records import accepted, batch, hostile
from tests.view.conftest import browsing
from tests.view.test_item import check_inert
from tests.view.test_items import slug

HOME = {"origin": "http://127.0.0.1"}
PAIRS = [accepted(n, rounds=1 + n % 2) for n in range(1, 6)]


@pytest.fixture(scope="module")
def unmarked_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_folder, config = begin_run(
        tmp_path_factory.mktemp("run"), [*PAIRS, *batch(16)[9:11], hostile(text=" ".join(HOSTILE))]
    )
    export_table(run_folder, config)
    return run_folder


@pytest.fixture
def folder(unmarked_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(unmarked_run, tmp_path / unmarked_run.relative_to(unmarked_run.parents[1]))


@pytest.fixture
def client(folder: Path):
    with browsing(str(folder), out=folder.parents[1]) as browser:
        yield browser


def first_address(client: TestClient, by: str = "Ada") -> str:
    """Return the address of the first pair to review."""
    return client.get(f"{slug(client)}/review?by={by}", follow_redirects=False).headers["location"]


def post(client: TestClient, url: str, headers: dict[str, str] = HOME, **form: str) -> Response:
    token = re.search(r'name="token" value="([^"]+)"', client.get(url).text)
    return client.post(url, data={"token": token[1] if token else ""} | form, headers=headers, follow_redirects=False)


def test_a_mark_is_kept_before_it_is_answered_and_leads_on(client: TestClient, folder: Path) -> None:
    url, marked_keys = first_address(client), set[str]()
    while url.partition("?")[0].count("/") == 3:
        key = url.split("/")[3].partition("?")[0]
        assert key not in marked_keys
        marked_keys.add(key)
        check_inert(Parsed(client.get(url).text))
        answer = post(client, url, right="yes", unique="no" if len(marked_keys) == 1 else "yes", go="next")
        assert answer.status_code == 303
        assert review_marks.read(folder)[key, "Ada"].right
        url = answer.headers["location"]
    pairs = client.get(f"{slug(client)}/items?status=accepted").text
    assert f"<b>{len(marked_keys)}</b> items" in pairs
    end = client.get(url)
    assert f"you have marked all {len(marked_keys)} pairs" in " ".join("".join(Parsed(end.text).text).split())
    assert f"{len(marked_keys) - 1} of {len(marked_keys)} (" in end.text


def test_a_change_of_mind_and_another_person(client: TestClient, folder: Path) -> None:
    url = first_address(client)
    post(client, url, right="yes", natural="yes", note="fine\x1b[31m")
    post(client, url, right="no", note="not at all")
    assert first_address(client, "Ben") == url.replace("by=Ada", "by=Ben")
    post(client, first_address(client, "Ben"), right="yes", unique="yes")
    key = url.split("/")[3].partition("?")[0]
    marks = review_marks.read(folder)
    ada = marks[key, "Ada"]
    assert (ada.right, ada.unique, ada.natural, ada.note) == (False, None, None, "not at all")
    page = client.get(f"{slug(client)}/items/{key}").text
    check_inert(Parsed(page))
    assert "not at all" in page
    assert first_address(client) != url


def test_disputed_pairs_show_both_answers_with_their_quotes(client: TestClient) -> None:
    url = first_address(client, "Ada&order=disputed")
    page = client.get(url).text
    check_inert(Parsed(page))
    pair = next(pair for pair in PAIRS if pair.key in url)
    rival = next(graded.rollout.answer for graded in pair.graded if graded.wrong)
    text = " ".join("".join(Parsed(page).text).split())
    assert pair.draft
    assert re.search(rf"This pair ?{pair.draft.answer} .* Others {rival} solver 2 of 8 ", text)
    assert f"<b>{rival}</b>" in page
    assert "Others" not in client.get(url.replace("&order=disputed", "")).text


def test_marks_of_disputed_pairs_are_kept_but_are_no_random_sample(client: TestClient, folder: Path) -> None:
    url = first_address(client, "Ada&order=disputed")
    key = url.split("/")[3].partition("?")[0]
    answer = post(client, url, right="no", go="next")
    assert "order=disputed" in answer.headers["location"]
    assert key not in answer.headers["location"]
    assert review_marks.read(folder)[key, "Ada"].sampled is False
    assert "No pair has been marked yet" in client.get(answer.headers["location"]).text
    sampled = f"{slug(client)}/review/{key}?by=Ada"
    post(client, sampled, right="no", unique="no")
    assert "0 of 1 (" in client.get(sampled).text
    post(client, url, right="yes", unique="yes")
    assert review_marks.read(folder)[key, "Ada"].sampled is True
    assert len((folder / review_marks.NAME).read_bytes().splitlines()) == 3


def test_pairs_without_another_answer_are_not_disputed(tmp_path: Path) -> None:
    record = PAIRS[0]
    rollouts, verdicts = zip(*(pair for pair in record.graded if pair.verdict.right), strict=True)
    last = record.rounds[-1].model_copy(update={"rollouts": (), "verdicts": ()})
    agreed = {"rounds": (last,), "confirmation": rollouts, "confirmation_verdicts": verdicts}
    run_folder, run_config = begin_run(tmp_path, [record.model_copy(update=agreed)])
    export_table(run_folder, run_config)
    with browsing(str(run_folder), out=tmp_path) as client:
        page = client.get(f"{slug(client)}/review?by=Ada&order=disputed").text
    assert "No pair has another answer" in page


def test_another_site_cannot_mark(client: TestClient, folder: Path) -> None:
    for origin in ("", "http://evil.example", "http://127.0.0.1:1", "null"):
        headers = {"origin": origin} if origin else {}
        assert post(client, first_address(client), headers, right="yes").status_code == 403
    assert client.get(first_address(client), headers={"host": "evil.example"}).status_code == 403
    assert review_marks.read(folder) == {}


def test_a_form_without_the_server_s_token_is_refused(client: TestClient, folder: Path) -> None:
    url = first_address(client)
    for token in ("", "x", "\u00e9"):
        assert client.post(url, data={"token": token, "right": "yes"}, headers=HOME).status_code == 400
    assert client.post(url, content=b"\xff" * 50, headers=HOME).status_code == 400
    assert client.post(f"{slug(client)}/card", headers=HOME).status_code == 400
    assert review_marks.read(folder) == {}


def test_what_was_not_accepted_is_not_asked(client: TestClient) -> None:
    key = batch(16)[9].key
    assert client.get(f"{slug(client)}/review/{key}?by=Ada").status_code == 404
    url = first_address(client)
    assert post(client, url.replace(url.split("/")[3].partition("?")[0], key), right="yes").status_code in (400, 404)


def test_the_precision_goes_to_card_and_report(client: TestClient, folder: Path) -> None:
    url = first_address(client)
    post(client, url, right="yes", unique="yes")
    token = re.search(r'name="token" value="([^"]+)"', client.get(url).text)
    assert token
    answer = client.post(f"{slug(client)}/card", data={"token": token[1]}, headers=HOME)
    assert "were written" in answer.text
    assert "one person found 1 of 1 (100%" in (folder / "dataset/README.md").read_text()
    assert "1 of 1 (100%" in (folder / "report.html").read_text()
    assert "1 of 1 (100%" in client.get(f"{slug(client)}/overview").text


def test_a_mark_shows_on_a_page_that_was_made_before_it(client: TestClient) -> None:
    overview = f"{slug(client)}/overview"
    assert "1 of 1 (100%" not in client.get(overview).text
    post(client, first_address(client), right="yes", unique="yes")
    assert "1 of 1 (100%" in client.get(overview).text


def test_a_journal_alone_cannot_be_reviewed(folder: Path, tmp_path: Path) -> None:
    alone = tmp_path / "lines"
    (folder / "journal").rename(alone)
    with browsing(str(alone), out=tmp_path) as client:
        page = client.get(f"{slug(client)}/review?by=Ada").text
        check_inert(Parsed(page))
        assert "open the run itself" in page
    assert not (alone / review_marks.NAME).exists()
