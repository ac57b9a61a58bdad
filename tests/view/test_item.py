"""The page of one item shows all of its record, and the items before and after it, and text stays text."""

import re
from pathlib import Path

import orjson
import pytest
from starlette.testclient import TestClient

from pipeline.types import Record
from tests.exports.report.test_page import Parsed
from tests.hostile_texts import HOSTILE, MARKUP
from tests.records import accepted, batch, failed, hostile, no_draft, rejected, world
from tests.teacher_rollouts import taught
from tests.view.conftest import Made, browsing
from tests.view.test_items import read_keys, slug

OWN = re.compile(
    r"/[\w.-]*(/(items|overview|review)(/[0-9a-f]{64})?(/json)?)?(\?[\w=&%+.:-]*)?(#[\w-]+)?|#[\w-]+|\?[\w=&%+.:-]*"
)
"""Addresses of these pages: what a link may lead to."""


def open_page(client: TestClient, record: Record, query: str = "") -> Parsed:
    answer = client.get(f"{slug(client)}/items/{record.key}{query}")
    assert answer.status_code == 200
    return Parsed(answer.text)


def check_inert(page: Parsed) -> None:
    for tag, attributes in page.elements:
        assert tag not in ("img", "iframe", "object", "embed", "base", "video", "audio", "style", "math")
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcset", "srcdoc")]
        assert tag != "script" or attributes["src"].startswith("/static/")
        assert tag != "a" or OWN.fullmatch(attributes["href"]), attributes["href"]
        assert "http-equiv" not in attributes


@pytest.mark.parametrize(
    "record",
    [
        accepted(5, rounds=3),
        taught(),
        rejected(reason="solver_error"),
        rejected(reason="co_located"),
        no_draft(),
        failed(),
    ],
    ids=["accepted", "distractors", "unsolved", "unsound", "no draft", "failed"],
)
def test_a_page_shows_question_evidence_rounds_feedback_and_every_search(make_client: Made, record: Record) -> None:
    with make_client([record]) as client:
        page = open_page(client, record)
    check_inert(page)
    text = " ".join("".join(page.text).split())
    evaluation = record.distractor_eval
    drafts = [past.draft for past in record.rounds if past.draft]
    rollouts = [*record.confirmation, *(rollout for past in record.rounds for rollout in past.rollouts)]
    rollouts += [teacher_rollout.rollout for teacher_rollout in record.teacher_rollouts] + (
        [*evaluation.without_distractors, *evaluation.with_distractors] if evaluation else []
    )
    assert record.status.value in text
    assert record.reason.replace("_", " ") in text
    for expected_text in (
        *((record.draft.question, record.draft.answer) if record.draft else ()),
        *(hop.sub_question for draft in drafts for hop in draft.hops),
        *(past.feedback.message for past in record.rounds if past.feedback),
        *(finding.detail for past in record.rounds for finding in past.findings),
        *(call.argument for rollout in rollouts for call in rollout.trajectory.calls),
        *((distractor.title for distractor in evaluation.distractors) if evaluation else ()),
    ):
        assert " ".join(expected_text.split()) in text
    kinds = [attributes.get("class", "") for tag, attributes in page.elements if tag == "details"]
    assert kinds.count("rollout") == len(rollouts)


def test_the_quote_is_marked_within_its_passage_and_the_answer_within_the_quote(make_client: Made) -> None:
    with make_client([accepted(5)]) as client:
        text = client.get(f"{slug(client)}/items/{accepted(5).key}").text
    town = world(5).town.title
    assert f"was an engineer of bridges and harbours. <mark>Born in <b>{town}</b></mark>," in text


def test_a_rollout_says_what_each_search_brought_and_why_it_counts_as_it_does(make_client: Made) -> None:
    with make_client([accepted(5)]) as client:
        page = open_page(client, accepted(5))
    text = "".join(page.text)
    assert "Correct: the same answer, and it saw the evidence" in text
    assert "Never saw all the evidence (hop 3)" in text
    badges = [a.get("class") for tag, a in page.elements if tag == "span" and "badge" in a.get("class", "").split()]
    assert badges


def test_before_and_after_are_those_of_the_filter_and_order(client: TestClient) -> None:
    query = "?status=rejected&sort=-tokens"
    keys = read_keys(client, query)
    answer = client.get(f"{slug(client)}/items/{keys[3]}{query}").text
    for rel, key in (("prev", keys[2]), ("next", keys[4])):
        assert re.search(rf'rel="{rel}" href="[^"]*/items/{key}\?status=rejected&amp;sort=-tokens"', answer)
    assert "4 of " in answer
    assert 'rel="prev"' not in client.get(f"{slug(client)}/items/{keys[0]}{query}").text


def test_the_json_is_the_whole_record(client: TestClient) -> None:
    record = batch(120)[8]
    answer = client.get(f"{slug(client)}/items/{record.key}/json")
    assert answer.headers["content-type"] == "application/json"
    assert Record.model_validate(orjson.loads(answer.content)) == record


@pytest.mark.parametrize("text", [" ".join(HOSTILE), " ".join(MARKUP), "w" * 10_000])
def test_hostile_text_stays_text_on_every_page(make_client: Made, text: str) -> None:
    poisoned = hostile(text=text)
    with make_client([poisoned, *batch(8)]) as client:
        for path in ("", f"/{poisoned.key}", "?q=" + "%3Cscript%3E"):
            answer = client.get(f"{slug(client)}/items{path}")
            check_inert(Parsed(answer.text))
            assert not {"\x00", "\x1b", "\u202e", "\u2028", "\x07"} & set(answer.text)


def test_only_a_data_set_is_left(run: Path, tmp_path: Path) -> None:
    alone = tmp_path / "dataset"
    (run / "dataset").rename(alone)
    try:
        with browsing(str(alone), out=tmp_path) as client:
            record = batch(8)[0]
            page = open_page(client, record)
            check_inert(page)
            assert record.draft
            assert record.draft.question in "".join(page.text)
    finally:
        alone.rename(run / "dataset")


@pytest.mark.parametrize("path", ["/nothing", "/{run}/items/" + "0" * 64, "/{run}/nothing", "/static/../cli/app.py"])
def test_what_is_not_there_is_said_and_not_logged_as_a_crash(client: TestClient, path: str) -> None:
    answer = client.get(path.format(run=slug(client)[1:]))
    assert answer.status_code == 404
    check_inert(Parsed(answer.text))


def test_a_wrong_answer_on_which_rollouts_agree_is_shown(make_client: Made) -> None:
    agreed = accepted(1).model_copy(update={"agreed_answer": "75 % <b>"})
    with make_client([agreed, accepted(2)]) as client:
        with_answer, without_answer = ("".join(open_page(client, record).text) for record in (agreed, accepted(2)))
    assert "wrong rollouts agree on75 % <b>" in with_answer
    assert "wrong rollouts agree on" not in without_answer
