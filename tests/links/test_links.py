"""Which phrases link documents, and which do not."""

import pytest

from pipeline.text import Span, sentences
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


def test_the_sentences_of_a_document_are_found_once_for_all_its_links(
    linked: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[str]()

    def counted(text: str) -> list[Span]:
        seen.append(text)
        return sentences(text)

    monkeypatch.setattr("pipeline.links.source_links.sentences", counted)
    pages = [{"id": f"p{n}", "title": "", "text": f"{text.format('a man')} It was {n}."} for n, text in enumerate(SAID)]
    words_of = [f"person{n}" for n in range(len(SAID))]
    told = " ".join(text.format(name) for name, text in zip(words_of, SAID, strict=True))
    row = {"id": "told", "title": "", "text": told, "links": [f"p{n}\t{name}" for n, name in enumerate(words_of)]}
    assert {name for name, held in phrases(linked(*pages, row, pad=200)).items() if "told" in held} == {*words_of}
    assert seen == [told]


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


def test_texts_that_begin_alike_are_no_versions_for_want_of_a_title(linked: Opened) -> None:
    alike = "The present invention relates to a method for"
    told = f"{alike} drying wool, as {{}} did.", f"{alike} cutting glass, which was shown to {{}} in a small hall."
    texts = [one.format("Ada Brannick").replace(", ", " here, ") for one in told]
    assert phrases(linked(*texts, SCHOOL)) == {"Ada Brannick": {"d0", "d1", "d2"}}


@pytest.mark.parametrize("many", [True, False])
def test_a_title_that_its_text_begins_with_is_one_if_no_other_does(linked: Opened, many: bool) -> None:
    name = "The Last Ferry That Left From Arden Bay"
    home = {"id": "home", "title": name, "text": f"{name} is a song that was played on the radio for years."}
    other = f"{name} had all the wool of that year in its hold."
    told = f"She first sang {name} for her friends in a small hall beside the harbour when they had come home."
    links = linked(home, told, *([other] if many else []))
    assert {links.phrase(number).kind for number in range(len(links))} == {"name" if many else "title"}


@pytest.mark.parametrize(
    ("one", "other", "versions"),
    [
        (f"{'Proposal for a Decision ' * 6}on Greece", f"{'Proposal for a Decision ' * 6}on Spain", False),
        ("!!!", "???", False),
        (f"{'Proposal for a Decision ' * 6}on Greece", f"{'Proposal for a decision ' * 6}on Greece!", True),
    ],
)  # fmt: skip
def test_a_title_is_that_of_all_its_words(linked: Opened, one: str, other: str, versions: bool) -> None:
    titled = [{"id": title, "title": title, "text": text} for title, text in ((one, ADA), (other, SCHOOL))]
    links = linked(*titled)
    assert (links.group(0) == links.group(1)) is versions
    assert bool(phrases(links)) is not versions


@pytest.mark.parametrize(("ahead", "part"), [("Physiker", False), ("Johann", True), ("Einmal", True)])
def test_a_noun_before_a_name_is_no_part_of_it(linked: Opened, ahead: str, part: bool) -> None:
    home = {"id": "home", "title": "Ada Brannick", "text": "Sie lebte lange in einem Dorf am Ufer der Elbe."}
    alone = [f"Es war einmal ein Physiker namens {n}, wie man sich hier oft erzählt." for n in range(5)]
    first = [f"Es war einmal im Dorf, dass Johann Gorse{n} hier zu Gast war." for n in "abcde"]
    told = f"Der Gasthof wurde später von {ahead} Ada Brannick besucht und danach nie wieder betreten."
    small = [f"Einmal waren es {n} Gäste aus der Stadt, und sie blieben lange." for n in range(5)]
    found = phrases(linked(home, told, *alone, *first, *small, pad=100))
    assert ("home" in found.get("Ada Brannick", ())) is not part


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


KOREAN = (
    "그 다리는 오래전에 박서윤이 설계하여 세워진 것으로 많은 사람이 건너다닌다. 박서윤은 이 마을에 살았다.",
    "학교는 상인 박서윤의 돈으로 지었다고 사람들이 말한다. 나중에 박서윤에게 아무도 편지를 쓰지 않았다.",
)
GEORGIAN = (
    "ძველი ხიდი ააშენა ბრანიკმა როცა ის ჯერ კიდევ ახალგაზრდა იყო. ბრანიკმა შემდეგ დატოვა ქალაქი სამუდამოდ.",
    "ეს წიგნი დაწერა ბრანიკმა ბოლო წლებში და მალე გახდა ცნობილი. ბრანიკმა ამის მერე აღარ დაწერა სხვა.",
)


@pytest.mark.parametrize(
    ("texts", "phrase"),
    [(CHINESE, "阿姆斯"), (ARABIC, "برانيكوف"), (KOREAN, "박서윤"), (GEORGIAN, "ბრანიკმა")],
    ids=["Chinese", "Arabic", "Korean", "Georgian"],
)
def test_scripts_without_capitals_have_rare_words(linked: Opened, texts: tuple[str, str], phrase: str) -> None:
    found = phrases(linked(*texts))
    assert any(phrase in text and documents == {"d0", "d1"} for text, documents in found.items())
