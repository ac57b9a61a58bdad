"""Names that documents share link them, and common phrases do not."""

import pytest

from pipeline.text import Span, sentences
from tests.links.conftest import Opened, read_phrases

ADA = "The water mill on the river was built by Ada Brannick for the farmers of the valley."
SAID = (
    "The long bridge that leads to the market was paid for by {} in the end.",
    "For some years {} was the only teacher whom the children of this valley had.",
    "A letter to {} was found beneath the floor when the house was sold again.",
    "The court did not believe {} and sent the case back to the county.",
    "Of all the songs of that summer only the one about {} is sung today.",
)
SCHOOL = "The village school was paid for by Ada Brannick, and it stands beside the old bridge."


def test_a_name_links_the_documents_that_hold_it(open_documents_links: Opened) -> None:
    links = open_documents_links(ADA, SCHOOL, "The chapel was built by Tom Hale and has a tower of stone that leans.")
    assert read_phrases(links) == {"Ada Brannick": {"d0", "d1"}}
    number = links.find("ada  brannick")
    assert number is not None
    assert links.phrase(number).documents == 2
    assert [links.sentence(mention) for mention in links.mentions(number)] == [ADA, SCHOOL]
    assert links.of(0) == (number,)
    assert links.find("Tom Hale") is links.find("") is None


def test_offsets_are_those_of_the_stored_document(open_documents_links: Opened) -> None:
    title = {"id": "a", "title": "Über die Mühle 🌾", "text": f"Die Mühle steht hier. {ADA}"}
    links = open_documents_links(title, SCHOOL)
    number = links.find("Ada Brannick")
    assert number is not None
    for mention in links.mentions(number):
        document = links.corpus.documents[links.corpus.row(mention.place)]
        assert document.stored[mention.start : mention.end] == "Ada Brannick"


def test_a_title_links_its_document_to_those_that_mention_it(open_documents_links: Opened) -> None:
    document = {
        "id": "arden",
        "title": "Arden Mill",
        "text": "It is a water mill by the river, which ground corn for a century.",
    }
    links = open_documents_links(
        document, "The two brothers worked at Arden Mill when they were still boys and had no school."
    )
    assert read_phrases(links) == {"Arden Mill": {"arden", "d1"}}
    number = links.find("Arden Mill")
    assert number is not None
    assert links.phrase(number).kind == "title"
    assert [mention.home for mention in links.mentions(number)] == [True, False]


def test_a_name_of_two_things_links_nothing(open_documents_links: Opened) -> None:
    town = {"id": "a", "title": "Mercury Bay (town)", "text": "It is a town by the sea with a harbour for small boats."}
    song = {"id": "b", "title": "Mercury Bay (song)", "text": "It is a song that was played on the radio for years."}
    mentioning_text = "She first sang Mercury Bay for her friends in a small hall beside the harbour."
    assert read_phrases(open_documents_links(town, song, mentioning_text)) == {}
    assert read_phrases(open_documents_links(town, mentioning_text, name="one")) == {"Mercury Bay": {"a", "d1"}}


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
def test_what_is_no_common_name_links_nothing(open_documents_links: Opened, first: str, second: str) -> None:
    assert set(read_phrases(open_documents_links(first, second))) <= {"Upper Issel", "Arden Cup"}


def test_a_link_that_the_source_states_tells_two_things_of_one_name_apart(open_documents_links: Opened) -> None:
    town = {"id": "a", "title": "Mercury Bay (town)", "text": "It is a town by the sea with a harbour for small boats."}
    song = {"id": "b", "title": "Mercury Bay (song)", "text": "It is a song that was played on the radio for years."}
    mentioning_text = "She first sang Mercury Bay for her friends in a small hall beside the harbour."
    for number, link in enumerate(("b", "Mercury Bay (song)\tMercury Bay", "nobody\tMercury Bay")):
        row = {"id": "told", "title": "", "text": mentioning_text, "links": [link]}
        links = open_documents_links(town, song, row, name=f"stated{number}")
        if number < 2:
            assert read_phrases(links) == {"Mercury Bay": {"b", "told"}}
            assert [mention.home for mention in links.mentions(0)] == [True, False]
            assert links.phrase(0).kind == "stated"
        else:
            assert read_phrases(links) == {}
    wiki = {
        "id": "w",
        "title": "",
        "text": mentioning_text.replace("Mercury Bay", "[[Mercury Bay (song)|Mercury Bay]]"),
    }
    assert read_phrases(open_documents_links(town, song, wiki, name="wiki")) == {"Mercury Bay": {"b", "w"}}


@pytest.mark.parametrize(
    ("target", "leads"),
    [
        ("http://Towns.example/bay/song/#verse", True), ("../bay/song", True), ("/bay/song?edition=2", False),
        ("https://other.example/bay/song", False), ("http://[broken", False),
    ],
)  # fmt: skip
def test_a_link_is_found_by_the_address_of_a_document(open_documents_links: Opened, target: str, leads: bool) -> None:
    site = "https://www.towns.example"
    song = {
        "id": "s",
        "title": "Song 7",
        "text": "It was played on the radio for many years.",
        "url": f"{site}/bay/song",
    }
    mentioning_text = "She first sang Mercury Bay for her friends in a small hall beside the harbour."
    row = {
        "id": "t",
        "title": "",
        "text": mentioning_text,
        "url": f"{site}/people/ada",
        "links": [f"{target}\tMercury Bay"],
    }
    assert read_phrases(open_documents_links(song, row)) == ({"Mercury Bay": {"s", "t"}} if leads else {})


def test_the_sentences_of_a_document_are_found_once_for_all_its_links(
    open_documents_links: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = list[str]()

    def record_and_split(text: str) -> list[Span]:
        texts.append(text)
        return sentences(text)

    monkeypatch.setattr("pipeline.links.source_links.sentences", record_and_split)
    pages = [{"id": f"p{n}", "title": "", "text": f"{text.format('a man')} It was {n}."} for n, text in enumerate(SAID)]
    words_of = [f"person{n}" for n in range(len(SAID))]
    text_of_links = " ".join(text.format(name) for name, text in zip(words_of, SAID, strict=True))
    row = {
        "id": "told",
        "title": "",
        "text": text_of_links,
        "links": [f"p{n}\t{name}" for n, name in enumerate(words_of)],
    }
    assert {
        name
        for name, documents in read_phrases(open_documents_links(*pages, row, pad=200)).items()
        if "told" in documents
    } == {*words_of}
    assert texts == [text_of_links]


@pytest.mark.parametrize("many", [True, False])
def test_words_that_lead_to_many_documents_are_no_link(open_documents_links: Opened, many: bool) -> None:
    pages = [
        {"id": f"p{n}", "title": "", "text": text.format("the next page"),
         "links": [f"p{(n + 1) % len(SAID) if many else 0}\tnext page"]}
        for n, text in enumerate(SAID)
    ]  # fmt: skip
    links = read_phrases(open_documents_links(*pages, *(text.format("Ada Brannick") for text in SAID[:2]), pad=200))
    assert any("p1" in documents for documents in links.values()) is not many
    assert "Ada Brannick" in links


def test_a_surname_alone_does_not_link_two_families(open_documents_links: Opened) -> None:
    mill_text = (
        "The mill was built by Ada Brannick. Years later the people here said that Brannick had been fair to them."
    )
    ship_text = "The ship was steered by Tom Brannick. The crew knew that Brannick would not turn back in a storm."
    assert read_phrases(open_documents_links(mill_text, ship_text)) == {}


@pytest.mark.parametrize(
    "phrase", ["CVE-2021-44228", "BRCA1", "libssl1.1", "easyJet", "T1055.011", "GetFederationToken", "Jean-Luc Ménard"]
)
def test_an_identifier_links(open_documents_links: Opened, phrase: str) -> None:
    links = open_documents_links(*(text.format(phrase) for text in SAID[2:4]))
    assert read_phrases(links) == {phrase: {"d0", "d1"}}


@pytest.mark.parametrize("phrase", ["mid-1930s", "21st-century", "well-known", "non-French", "72nd", "2nd", "Don't"])
def test_a_compound_word_does_not(open_documents_links: Opened, phrase: str) -> None:
    links = open_documents_links(*(text.format(f"the {phrase} woman") for text in SAID[2:4]))
    assert read_phrases(links) == {}


def test_a_phrase_of_many_documents_links_nothing(open_documents_links: Opened) -> None:
    many = [text.format("Ada Brannick") for text in SAID]
    few = [text.format("Tom Hale") for text in reversed(SAID[-3:])]
    few = [f"{text} It was a year of many storms, {n} of them in May, and of hunger." for n, text in enumerate(few)]
    links = open_documents_links(*many, *few)
    assert set(read_phrases(links)) == {"Tom Hale"}  # three documents may hold one, however small the corpus is
    assert set(read_phrases(open_documents_links(*many, *few, pad=400))) == {"Tom Hale", "Ada Brannick"}
    assert set(read_phrases(open_documents_links(*many, *few, pad=400, most=4))) == {"Tom Hale"}


def test_a_name_of_common_words_may_be_that_of_several_things(open_documents_links: Opened) -> None:
    common = [f"{text.format('an old man')} Nobody here had a valley or a season {n}." for n, text in enumerate(SAID)]
    spread = [{"id": f"c{n}", "title": "", "text": f"{text} It was {n}."} for n, text in enumerate(common)]
    mentions = [text.format("Valley Season") for text in SAID[:2]] + [text.format("Valley Gorse") for text in SAID[3:]]
    assert set(read_phrases(open_documents_links(*mentions, *spread, pad=100))) == {"Valley Gorse"}
    assert set(read_phrases(open_documents_links(*mentions))) == {"Valley Gorse", "Valley Season"}


def test_versions_of_a_document_are_one(open_documents_links: Opened) -> None:
    long = (
        f"{ADA} It ground corn until the war, when the wheel broke, and it has been a museum since the roof was mended."
    )
    edition = f"{long} This is the second edition."
    assert read_phrases(open_documents_links(long, edition)) == {}
    assert read_phrases(open_documents_links(long, edition, SCHOOL)) == {"Ada Brannick": {"d0", "d1", "d2"}}
    links = open_documents_links(long, edition, SCHOOL)
    assert links.phrase(links.find("Ada Brannick") or 0).documents == 2
    assert links.group(0) == links.group(1) != links.group(2)


def test_documents_of_one_title_are_one(open_documents_links: Opened) -> None:
    parts = [{"id": f"m{n}", "title": "The mill", "text": text} for n, text in enumerate((ADA, SCHOOL))]
    assert read_phrases(open_documents_links(*parts)) == {}


def test_texts_that_begin_alike_are_no_versions_for_want_of_a_title(open_documents_links: Opened) -> None:
    alike = "The present invention relates to a method for"
    beginnings = (
        f"{alike} drying wool, as {{}} did.",
        f"{alike} cutting glass, which was shown to {{}} in a small hall.",
    )
    texts = [beginning.format("Ada Brannick").replace(", ", " here, ") for beginning in beginnings]
    assert read_phrases(open_documents_links(*texts, SCHOOL)) == {"Ada Brannick": {"d0", "d1", "d2"}}


@pytest.mark.parametrize("many", [True, False])
def test_a_title_that_its_text_begins_with_is_one_if_no_other_does(open_documents_links: Opened, many: bool) -> None:
    name = "The Last Ferry That Left From Arden Bay"
    home = {"id": "home", "title": name, "text": f"{name} is a song that was played on the radio for years."}
    second_text = f"{name} had all the wool of that year in its hold."
    mentioning_text = (
        f"She first sang {name} for her friends in a small hall beside the harbour when they had come home."
    )
    links = open_documents_links(home, mentioning_text, *([second_text] if many else []))
    assert {links.phrase(number).kind for number in range(len(links))} == {"name" if many else "title"}


@pytest.mark.parametrize(
    ("first_title", "second_title", "versions"),
    [
        (f"{'Proposal for a Decision ' * 6}on Greece", f"{'Proposal for a Decision ' * 6}on Spain", False),
        ("!!!", "???", False),
        (f"{'Proposal for a Decision ' * 6}on Greece", f"{'Proposal for a decision ' * 6}on Greece!", True),
    ],
)  # fmt: skip
def test_a_title_is_that_of_all_its_words(
    open_documents_links: Opened, first_title: str, second_title: str, versions: bool
) -> None:
    titled = [
        {"id": title, "title": title, "text": text} for title, text in ((first_title, ADA), (second_title, SCHOOL))
    ]
    links = open_documents_links(*titled)
    assert (links.group(0) == links.group(1)) is versions
    assert bool(read_phrases(links)) is not versions


@pytest.mark.parametrize(("ahead", "part"), [("Physiker", False), ("Johann", True), ("Einmal", True)])
def test_a_noun_before_a_name_is_no_part_of_it(open_documents_links: Opened, ahead: str, part: bool) -> None:
    home = {"id": "home", "title": "Ada Brannick", "text": "Sie lebte lange in einem Dorf am Ufer der Elbe."}
    alone = [f"Es war einmal ein Physiker namens {n}, wie man sich hier oft erzählt." for n in range(5)]
    first = [f"Es war einmal im Dorf, dass Johann Gorse{n} hier zu Gast war." for n in "abcde"]
    mentioning_text = f"Der Gasthof wurde später von {ahead} Ada Brannick besucht und danach nie wieder betreten."
    small = [f"Einmal waren es {n} Gäste aus der Stadt, und sie blieben lange." for n in range(5)]
    links = read_phrases(open_documents_links(home, mentioning_text, *alone, *first, *small, pad=100))
    assert ("home" in links.get("Ada Brannick", ())) is not part


def test_boilerplate_links_nothing(open_documents_links: Opened) -> None:
    footer = "This page was written for the county by Ada Brannick and may be copied by all."
    bodies = [
        "The mill is old and its wheel is broken.",
        "Here is a bridge that leads to the market.",
        "A school for boys was here.",
    ]
    assert read_phrases(open_documents_links(*(f"{body} {footer}" for body in bodies))) == {}
    assert read_phrases(open_documents_links(*(f"{body} {footer}" for body in bodies[:2]))) == {
        "Ada Brannick": {"d0", "d1"}
    }


def test_a_list_of_names_says_nothing(open_documents_links: Opened) -> None:
    listed = "Tom Hale, Ada Brannick, Joan Pike, Ruth Mott"
    assert read_phrases(open_documents_links(f"{listed}, John Lowe", f"Guests: {listed}")) == {}
    longer_list = ", ".join(
        f"{name} {surname}" for name in ("Joan", "Ruth", "Anne", "Paul") for surname in ("Lowe", "Gorse")
    )
    assert (
        read_phrases(
            open_documents_links(
                f"These eight were seen that night: {longer_list}.", f"Who came and went then: {longer_list}."
            )
        )
        == {}
    )


def test_a_phrase_within_a_longer_one_is_left_out(open_documents_links: Opened) -> None:
    name = "Royal Academy of Arden"
    assert read_phrases(open_documents_links(*(text.format(f"the {name}") for text in SAID[:2]))) == {
        name: {"d0", "d1"}
    }


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
def test_scripts_without_capitals_have_rare_words(
    open_documents_links: Opened, texts: tuple[str, str], phrase: str
) -> None:
    links = read_phrases(open_documents_links(*texts))
    assert any(phrase in text and documents == {"d0", "d1"} for text, documents in links.items())
