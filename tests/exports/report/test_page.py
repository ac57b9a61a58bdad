"""The page is inert whatever corpus and models wrote, shows what it must, and is valid HTML."""

from html.parser import HTMLParser

import pytest

from pipeline.analysis.figures import Outside
from pipeline.config import RunConfig
from pipeline.exports.card.card import Contents, card
from pipeline.exports.report.page import SHOWN
from pipeline.exports.report.rendering import mark_changes, mark_phrases
from pipeline.llm.ledger import Spending, Spent
from pipeline.types import Status
from tests.hostile_texts import HOSTILE, MARKUP
from tests.records import accepted, batch, hostile, no_draft, rejected, world
from tests.seed_tables import figures, page

TAGS = set(
    "html head meta title style body header div svg path h1 em p code b dl dt dd nav ul li a main section h2 h3 h4 rect"
    " span table caption thead tbody tfoot tr th td article ol blockquote cite mark ins del details summary i pre"
    " footer abbr".split()
)
VOID = {"meta", "link", "input"}


class Parsed(HTMLParser):
    """Records every element, and fails if one is not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse_page(*records):
    return Parsed(page(records, RunConfig()))


def check_inert(parsed):
    assert {tag for tag, _ in parsed.elements} <= TAGS
    ids = {attributes.get("id") for _, attributes in parsed.elements}
    for _, attributes in parsed.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "action")]
        link = attributes.get("href")
        assert link is None or (link.startswith("#") and link[1:] in ids)


@pytest.mark.parametrize("text", [*HOSTILE, " ".join(HOSTILE)])
def test_hostile_text_stays_text(text):
    check_inert(parse_page(hostile(text=text), accepted()))


@pytest.mark.slow
def test_no_known_markup_attack_adds_an_element_or_a_handler():
    records = [hostile(n=7000 + index, text=text) for index, text in enumerate(MARKUP)]
    for start in range(0, len(records), SHOWN):
        parsed = parse_page(*records[start : start + SHOWN])
        check_inert(parsed)
        assert [tag for tag, _ in parsed.elements].count("article") == len(records[start : start + SHOWN])


def test_hostile_lineage_stays_text():
    record = accepted()
    lineage = record.lineage.model_copy(update=dict.fromkeys(("corpus", "model", "attribution", "run"), HOSTILE[0]))
    check_inert(parse_page(record.model_copy(update={"lineage": lineage})))


def test_hostile_text_is_shown_as_it_is():
    assert "<script>alert(1)</script>" in "".join(parse_page(hostile(text=HOSTILE[0])).text)


def test_the_policy_forbids_scripts_and_foreign_sources():
    policies = [a["content"] for tag, a in parse_page().elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_control_characters_and_bidi_marks_are_removed():
    text = page([hostile()], RunConfig())
    assert not {"\x00", "\x1b", "\u202e", "\u2028", "\x07"} & set(text)


def test_the_page_shows_ten_of_each_kind_with_every_reason():
    parsed = parse_page(*batch(160))
    kinds = [a["class"] for tag, a in parsed.elements if tag == "article"]
    assert kinds.count("accepted") == SHOWN
    assert len(kinds) - kinds.count("accepted") == SHOWN
    text = "".join(parsed.text)
    for reason in ("below target", "co located", "no draft", "solver error", "superficial", "deadline"):
        assert f": {reason}" in text


def test_an_item_shows_question_answer_chain_rounds_and_searches():
    record = accepted(5, rounds=2)
    text = "".join(parse_page(record).text)
    phrases = (
        record.draft.question, record.draft.answer, *(hop.sub_question for hop in record.draft.hops),
        record.rounds[0].feedback.message, f"{world(5).town.title} founded", "3 correct",
    )  # fmt: skip
    assert all(phrase in text for phrase in phrases)


def test_unaccepted_runs_have_a_page():
    check_inert(parse_page())
    check_inert(parse_page(rejected()))


@pytest.mark.parametrize("embedded", [True, False])
def test_figures_of_the_embedded_model_say_so(embedded):
    text = page([accepted(model="embedded" if embedded else "qwen")], RunConfig())
    assert ("these figures describe the pipeline, not the quality of data" in text) is embedded


def test_seed_drops_are_shown():
    assert "disambiguation" in page([accepted()], RunConfig(), Outside(dropped={"disambiguation": 4}))


def test_refused_requests_are_counted_in_report_and_card():
    spent = Spending(by_stage={"round 0": {"answer": Spent(errors=3, refused=2)}, "teach": {"answer": Spent()}})
    seed = rejected().model_copy(update={"status": Status.FAILED, "reason": "refused"})
    text = "Requests that a server refused: 2."
    assert text in page([accepted(), seed], RunConfig(), Outside(spent=spent))
    assert text not in page([accepted(), seed], RunConfig())
    card_text = card(
        figures([accepted(), seed], Outside(spent=spent)), Contents(rows={"qa": {"train": 1}}), RunConfig()
    )
    assert text in card_text
    assert "| `refused` | 1 | A server refused a request of the seed twice" in card_text


def test_only_entire_occurrences_are_marked():
    assert mark_phrases("Born 1201, not 12010. <b>", ["1201"]) == "Born <mark>1201</mark>, not 12010. &lt;b&gt;"
    assert mark_phrases("<i>", []) == "&lt;i&gt;"
    assert mark_phrases("a", [" "]) == "a"
    # In a script without spaces a name may occur anywhere.
    assert mark_phrases("大会在北京举行。", ["北京"]) == "大会在<mark>北京</mark>举行。"
    marked = "<mark>서울</mark>에서 열렸다, <mark>1201</mark>년"
    assert mark_phrases("서울에서 열렸다, 1201년", ["서울", "1201"]) == marked


def test_changes_show_deleted_and_inserted_words():
    assert mark_changes("Who built the <old> bridge?", "Who drew the bridge?") == (
        "Who <del>built</del> <ins>drew</ins> the <del>&lt;old&gt;</del> bridge?"
    )


def test_the_draft_before_a_refiner_gave_up_is_shown():
    gave_up = rejected(reason="superficial")
    last = gave_up.rounds[-1].model_copy(update={"index": 1, "draft": None, "rollouts": (), "verdicts": ()})
    gave_up = gave_up.model_copy(update={"rounds": (gave_up.rounds[0], last)})
    assert "No question came of it" not in page([gave_up], RunConfig())
    assert "No question came of it" in page([no_draft()], RunConfig())
