"""Which phrases link documents, and which do not."""

import numpy as np
import pytest

from pipeline.links.tokens import words
from tests.links.conftest import Opened, phrases

ADA = "The water mill on the river was built by Ada Brannick for the farmers of the valley."
SAID = (
    "The long bridge that leads to the market was paid for by {} in the end.",
    "For some years {} was the only teacher whom the children of this valley had.",
    "A letter to {} was found beneath the floor when the house was sold again.",
    "The court did not believe {} and sent the case back to the county.",
    "Of all the songs of that summer only the one about {} is sung today.",
)
SCHOOL = "The village school was paid for by Ada Brannick, and it stands beside the old bridge."


def test_a_name_links_the_documents_that_hold_it(linked: Opened) -> None:
    links = linked(ADA, SCHOOL, "The chapel was built by Tom Hale and has a tower of stone that leans.")
    assert phrases(links) == {"Ada Brannick": {"d0", "d1"}}
    number = links.find("ada  brannick")
    assert number is not None
    assert links.phrase(number).documents == 2
    assert [links.sentence(one) for one in links.mentions(number)] == [ADA, SCHOOL]
    assert links.of(0) == (number,)
    assert links.find("Tom Hale") is links.find("") is None


def test_offsets_are_those_of_the_stored_document(linked: Opened) -> None:
    title = {"id": "a", "title": "Über die Mühle 🌾", "text": f"Die Mühle steht hier. {ADA}"}
    links = linked(title, SCHOOL)
    number = links.find("Ada Brannick")
    assert number is not None
    for mention in links.mentions(number):
        document = links.corpus.documents[links.corpus.row(mention.place)]
        assert document.stored[mention.start : mention.end] == "Ada Brannick"


def test_a_title_links_its_document_to_those_that_mention_it(linked: Opened) -> None:
    home = {
        "id": "arden",
        "title": "Arden Mill",
        "text": "It is a water mill by the river, which ground corn for a century.",
    }
    links = linked(home, "The two brothers worked at Arden Mill when they were still boys and had no school.")
    assert phrases(links) == {"Arden Mill": {"arden", "d1"}}
    number = links.find("Arden Mill")
    assert number is not None
    assert links.phrase(number).kind == "title"
    assert [one.home for one in links.mentions(number)] == [True, False]


def test_a_name_of_two_things_links_nothing(linked: Opened) -> None:
    one = {"id": "a", "title": "Mercury Bay (town)", "text": "It is a town by the sea with a harbour for small boats."}
    other = {"id": "b", "title": "Mercury Bay (song)", "text": "It is a song that was played on the radio for years."}
    told = "She first sang Mercury Bay for her friends in a small hall beside the harbour."
    assert phrases(linked(one, other, told)) == {}
    assert phrases(linked(one, told, name="one")) == {"Mercury Bay": {"a", "d1"}}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("He then moved to the Port of Arden Valley with all of his family and his dogs.", "The port of many ships."),
        ("They met Ada Brannick Stone on the way to the market in the spring of that year.", SCHOOL),
        ("They came here in May 1908 and stayed for some years.", "It was opened in May 1908 by a mayor."),
        ("It was shown in Upper Issel on June 28.", "He flew to Upper Issel on June 29 by himself."),
        ("The town won a cup in the Arden Cup. Born here were few.", "All had heard of the Arden Cup. Born fools, we."),
        ("He was in the 63rd Gorse Division in the war.", "She read of the 64th Gorse Division in a newspaper."),
        ("In a short while the SNP had left the valley.", "The bank of the county was called SNP by clients."),
        ("In the end it was sold to a farmer.", "In the end it was given to the town by its last owner."),
        ("He wrote that the harvest was poor and that many left.", "She said the harvest was good, so many came."),
    ],
    ids="common word,longer name,date,name and date,end of a sentence,ordinal,abbreviation,beginnings,none".split(","),
)  # fmt: skip
def test_what_is_no_common_name_links_nothing(linked: Opened, first: str, second: str) -> None:
    assert set(phrases(linked(first, second))) <= {"Upper Issel", "Arden Cup"}


def test_a_link_that_the_source_states_tells_two_things_of_one_name_apart(linked: Opened) -> None:
    one = {"id": "a", "title": "Mercury Bay (town)", "text": "It is a town by the sea with a harbour for small boats."}
    other = {"id": "b", "title": "Mercury Bay (song)", "text": "It is a song that was played on the radio for years."}
    told = "She first sang Mercury Bay for her friends in a small hall beside the harbour."
    for number, given in enumerate(("b", "Mercury Bay (song)\tMercury Bay", "nobody\tMercury Bay")):
        row = {"id": "told", "title": "", "text": told, "links": [given]}
        links = linked(one, other, row, name=f"stated{number}")
        if number < 2:
            assert phrases(links) == {"Mercury Bay": {"b", "told"}}
            assert [mention.home for mention in links.mentions(0)] == [True, False]
            assert links.phrase(0).kind == "stated"
        else:
            assert phrases(links) == {}
    wiki = {"id": "w", "title": "", "text": told.replace("Mercury Bay", "[[Mercury Bay (song)|Mercury Bay]]")}
    assert phrases(linked(one, other, wiki, name="wiki")) == {"Mercury Bay": {"b", "w"}}


@pytest.mark.parametrize(
    ("target", "leads"),
    [
        ("http://Towns.example/bay/song/#verse", True), ("../bay/song", True), ("/bay/song?edition=2", False),
        ("https://other.example/bay/song", False), ("http://[broken", False),
    ],
)  # fmt: skip
def test_a_link_is_found_by_the_address_of_a_document(linked: Opened, target: str, leads: bool) -> None:
    place = "https://www.towns.example"
    song = {
        "id": "s",
        "title": "Song 7",
        "text": "It was played on the radio for many years.",
        "url": f"{place}/bay/song",
    }
    told = "She first sang Mercury Bay for her friends in a small hall beside the harbour."
    row = {"id": "t", "title": "", "text": told, "url": f"{place}/people/ada", "links": [f"{target}\tMercury Bay"]}
    assert phrases(linked(song, row)) == ({"Mercury Bay": {"s", "t"}} if leads else {})


@pytest.mark.parametrize("many", [True, False])
def test_words_that_lead_to_many_documents_are_no_link(linked: Opened, many: bool) -> None:
    pages = [
        {"id": f"p{n}", "title": "", "text": text.format("the next page"),
         "links": [f"p{(n + 1) % len(SAID) if many else 0}\tnext page"]}
        for n, text in enumerate(SAID)
    ]  # fmt: skip
    found = phrases(linked(*pages, *(text.format("Ada Brannick") for text in SAID[:2]), pad=200))
    assert any("p1" in documents for documents in found.values()) is not many
    assert "Ada Brannick" in found


def test_a_surname_alone_does_not_link_two_families(linked: Opened) -> None:
    one = "The mill was built by Ada Brannick. Years later the people here said that Brannick had been fair to them."
    other = "The ship was steered by Tom Brannick. The crew knew that Brannick would not turn back in a storm."
    assert phrases(linked(one, other)) == {}


@pytest.mark.parametrize(
    "phrase", ["CVE-2021-44228", "BRCA1", "libssl1.1", "easyJet", "T1055.011", "GetFederationToken", "Jean-Luc Ménard"]
)
def test_an_identifier_links(linked: Opened, phrase: str) -> None:
    links = linked(*(text.format(phrase) for text in SAID[2:4]))
    assert phrases(links) == {phrase: {"d0", "d1"}}


@pytest.mark.parametrize("phrase", ["mid-1930s", "21st-century", "well-known", "non-French", "72nd", "2nd", "Don't"])
def test_a_compound_word_does_not(linked: Opened, phrase: str) -> None:
    links = linked(*(text.format(f"the {phrase} woman") for text in SAID[2:4]))
    assert phrases(links) == {}


def test_a_phrase_of_many_documents_links_nothing(linked: Opened) -> None:
    many = [text.format("Ada Brannick") for text in SAID]
    few = [text.format("Tom Hale") for text in reversed(SAID[-3:])]
    few = [f"{text} It was a year of many storms, {n} of them in May, and of hunger." for n, text in enumerate(few)]
    links = linked(*many, *few)
    assert set(phrases(links)) == {"Tom Hale"}  # three documents may hold one, however small the corpus is
    assert set(phrases(linked(*many, *few, pad=400))) == {"Tom Hale", "Ada Brannick"}
    assert set(phrases(linked(*many, *few, pad=400, most=4))) == {"Tom Hale"}


def test_a_name_of_common_words_may_be_that_of_several_things(linked: Opened) -> None:
    common = [f"{text.format('an old man')} Nobody here had a valley or a season {n}." for n, text in enumerate(SAID)]
    spread = [{"id": f"c{n}", "title": "", "text": f"{text} It was {n}."} for n, text in enumerate(common)]
    told = [text.format("Valley Season") for text in SAID[:2]] + [text.format("Valley Gorse") for text in SAID[3:]]
    assert set(phrases(linked(*told, *spread, pad=100))) == {"Valley Gorse"}
    assert set(phrases(linked(*told))) == {"Valley Gorse", "Valley Season"}


def test_versions_of_a_document_are_one(linked: Opened) -> None:
    long = (
        f"{ADA} It ground corn until the war, when the wheel broke, and it has been a museum since the roof was mended."
    )
    edition = f"{long} This is the second edition."
    assert phrases(linked(long, edition)) == {}
    assert phrases(linked(long, edition, SCHOOL)) == {"Ada Brannick": {"d0", "d1", "d2"}}
    links = linked(long, edition, SCHOOL)
    assert links.phrase(links.find("Ada Brannick") or 0).documents == 2
    assert links.group(0) == links.group(1) != links.group(2)


def test_documents_of_one_title_are_one(linked: Opened) -> None:
    parts = [{"id": f"m{n}", "title": "The mill", "text": text} for n, text in enumerate((ADA, SCHOOL))]
    assert phrases(linked(*parts)) == {}


def test_boilerplate_links_nothing(linked: Opened) -> None:
    footer = "This page was written for the county by Ada Brannick and may be copied by all."
    bodies = [
        "The mill is old and its wheel is broken.",
        "Here is a bridge that leads to the market.",
        "A school for boys was here.",
    ]
    assert phrases(linked(*(f"{body} {footer}" for body in bodies))) == {}
    assert phrases(linked(*(f"{body} {footer}" for body in bodies[:2]))) == {"Ada Brannick": {"d0", "d1"}}


def test_a_list_of_names_says_nothing(linked: Opened) -> None:
    listed = "Tom Hale, Ada Brannick, Joan Pike, Ruth Mott"
    assert phrases(linked(f"{listed}, John Lowe", f"Guests: {listed}")) == {}
    more = ", ".join(f"{name} {other}" for name in ("Joan", "Ruth", "Anne", "Paul") for other in ("Lowe", "Gorse"))
    assert phrases(linked(f"These eight were seen that night: {more}.", f"Who came and went then: {more}.")) == {}


def test_a_phrase_within_a_longer_one_is_left_out(linked: Opened) -> None:
    name = "Royal Academy of Arden"
    assert phrases(linked(*(text.format(f"the {name}") for text in SAID[:2]))) == {name: {"d0", "d1"}}


CHINESE = (
    "水车由阿姆斯特丹人建造。阿姆斯特丹人在河边住了很多年，大家都很喜欢他们。",
    "学校是用阿姆斯特丹人的钱修的。后来阿姆斯特丹人离开了这个山谷里的村子。",
)
ARABIC = (
    "بنى المهندس برانيكوف الطاحونة القديمة قرب النهر. ثم عاد برانيكوف إلى بيته في القرية الصغيرة.",
    "دفع التاجر برانيكوف ثمن المدرسة الجديدة هنا. وقال برانيكوف إن الجسر سوف يبقى طويلا.",
)


@pytest.mark.parametrize(("texts", "phrase"), [(CHINESE, "阿姆斯"), (ARABIC, "برانيكوف")], ids=["Chinese", "Arabic"])
def test_scripts_without_capitals_have_rare_words(linked: Opened, texts: tuple[str, str], phrase: str) -> None:
    found = phrases(linked(*texts))
    assert any(phrase in text and documents == {"d0", "d1"} for text, documents in found.items())


def test_words_are_told_apart_as_they_are_written() -> None:
    read = words(["Ada L. Lovelace met Mr. Ives. She wrote CVE-2021-44228.\nÉmile läuft; 他来了。", "", "x"])
    texts = ["Ada", "L", "Lovelace", "met", "Mr", "Ives", "She", "wrote", "CVE", "2021", "44228", "Émile", "läuft"]
    assert len(read) == len(texts) + 4
    assert np.flatnonzero(read.first).tolist() == [0, 6, 11, 16]
    assert np.flatnonzero(read.tied).tolist() == [9, 10]
    assert read.single.tolist() == [False] * 13 + [True] * 3 + [False]
    assert read.near[:6].tolist() == [False, True, True, True, True, True]
    assert read.text.tolist() == [0] * 16 + [2]
    assert words(["ADA"]).hash == words(["(ada)"]).hash != words(["adb"]).hash
