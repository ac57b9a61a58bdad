"""Documents are cut into passages at good places, and no text is lost."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus import Corpus
from pipeline.corpus.cutting import LINES, MARKED, OTHERS, PLAIN, passages, rules
from pipeline.text import sentences
from pipeline.types import Document


def cut_text(text: str, title: str = "A title") -> list[str]:
    return [passage.text for passage in passages(Document(id="d", title=title, text=text))]


def make_sentence(words: int) -> str:
    return " ".join(["Word", *["word"] * (words - 2), "end."])


def test_a_short_document_is_one_passage_without_its_title() -> None:
    (passage,) = passages(Document(id="d", title="A title", text=make_sentence(30)))
    assert (passage.id, passage.document_id, passage.title) == ("d#0", "d", "A title")
    assert (passage.start, passage.text) == (8, make_sentence(30))


def test_a_document_is_cut_into_equal_parts_of_about_a_hundred_words() -> None:
    assert [len(part.split()) for part in cut_text(" ".join([make_sentence(20)] * 7))] == [140]
    assert [len(part.split()) for part in cut_text(" ".join([make_sentence(20)] * 8))] == [80, 80]
    assert [len(part.split()) for part in cut_text(" ".join([make_sentence(10)] * 33))] == [110, 110, 110]


def test_no_sentence_is_split_unless_it_has_more_than_200_words(tiny: Corpus) -> None:
    assert [len(part.split()) for part in cut_text(make_sentence(200))] == [200]
    assert [len(part.split()) for part in cut_text(make_sentence(450))] == [100, 100, 100, 150]
    long = " ".join(d.text for d in tiny.documents)
    whole_sentences = tuple(long[span.start : span.end] for span in sentences(long))
    assert len(cut_text(long)) == round(len(long.split()) / 100)
    assert all(part.startswith(whole_sentences) and part.endswith(whole_sentences) for part in cut_text(long))


def test_text_without_sentences_or_blanks_is_still_cut() -> None:
    assert cut_text("word " * 1000) == [("word " * 100).strip()] * 10
    assert [len(part) for part in cut_text("字" * 1000)] == [200] * 5
    assert [len(part) for part in cut_text("ก" * 1500)] == [500] * 3
    assert [len(part) for part in cut_text("x" * 10_000)] == [4000, 6000]
    assert cut_text("* a\n* b\n\n* c") == ["* a\n* b\n\n* c"]


def test_chinese_is_cut_into_about_as_much_text_on_the_ends_of_its_sentences() -> None:
    parts = cut_text("这座古镇由僧人建于明朝，以石桥闻名。" * 50)
    assert all(120 < len(part) < 220 for part in parts)
    assert all(part.startswith("这座") and part.endswith("闻名。") for part in parts)


def test_only_text_cut_by_later_rules_gets_another_fingerprint() -> None:
    assert rules("The band 娘。 of May 3. It sang in 1990, as the city of São Paulo did.\n") == PLAIN
    for text in ("德国统一。", "Am 3. Oktober 1990 kam er.", "Он родился. Потом умер.", "서울이다. 그렇다."):
        assert rules(text) == OTHERS
        assert rules(f"{text}\n{text}") == LINES
    for text in (
        "Er kam. Österreich kam.",
        "„Gut.“ Er ging.",
        "Er ging. „Gut.",
        "¡Sí! ¿Dónde?",
        "Il vint. «Bien.» Il alla.",
    ):
        assert rules(text) == rules(f"{text}\n{text}") == MARKED
    assert rules("Er kam nach Österreich.\nÖl war da, „gut“ genug.") == LINES


def make_section(heading: str, *paragraphs: int, ends: str = "\n\n") -> str:
    return ends.join([heading, *(" ".join([make_sentence(10)] * (words // 10)) for words in paragraphs)])


@pytest.mark.parametrize("heading", ["Causes of the disease", "## Frequency", "What are the symptoms?", "It causes:"])
@pytest.mark.parametrize("ends", ["\n", "\n\n", "\n \n\n"])
@pytest.mark.parametrize("words", [40, 60, 70, 90, 100, 130, 170])
def test_a_heading_stays_with_its_section(heading: str, ends: str, words: int) -> None:
    parts = cut_text(ends.join(make_section(heading, words, ends=ends) for _ in range(7)))
    assert len(parts) > 2
    assert not [part for part in parts if part.endswith(heading)]
    assert all(20 <= len(part.split()) <= 200 for part in parts)


def test_passages_begin_at_a_nearby_section() -> None:
    parts = cut_text("\n\n".join(make_section("Part\n\nCauses", words) for words in (100, 110, 90, 110, 80, 100)))
    assert [part.split("\n")[0] for part in parts] == ["Part"] * 6


def test_passages_prefer_to_begin_with_a_sentence_that_names_its_subject() -> None:
    with_subject, without_subject = make_sentence(10), make_sentence(10).replace("Word", "Most", 1)
    parts = cut_text(
        "\n\n".join([" ".join([with_subject, without_subject] * 15), " ".join([with_subject, without_subject] * 15)])
    )
    assert [part.split()[0] for part in parts] == ["Word"] * len(parts)


def test_lists_and_wrapped_lines_are_cut_into_as_many_words_as_prose() -> None:
    for line in (
        "- a river of the north",
        "Capital > name: Vessby",
        "Tarn",
        "1. the first of the towns",
        "of the town that lies on the river and",
    ):
        sizes = [len(part.split()) for part in cut_text("\n".join([line] * 300))]
        assert all(50 <= size <= 150 for size in sizes)


@given(st.text(alphabet=st.sampled_from("aB.!? \n\t'\"(é日\u00a0"), max_size=400), st.text(max_size=10))
def test_passages_are_slices_in_order_that_hold_every_word(text: str, title: str) -> None:
    document = Document(id="d", title=title, text=text)
    cut_passages = passages(document)
    assert all(document.stored[p.start : p.end] == p.text == p.text.strip() for p in cut_passages)
    assert all(a.end <= b.start for a, b in pairwise(cut_passages))
    assert "".join("".join(p.text.split()) for p in cut_passages) == "".join(text.split())
    assert [p.id for p in cut_passages] == [f"d#{n}" for n in range(len(cut_passages))]


HOSTILE = [".", ". ", '."', "A. ", "(", "1,", "Mr. A.B. ", "a.", "\n", "may ", "x", "字。", "! \"'"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_is_cut_in_linear_time(unit: str) -> None:
    start = time.process_time()
    cut_text(unit * (200_000 // len(unit)))
    cut_text("." + unit * (200_000 // len(unit)) + "a")
    assert time.process_time() - start < 4
