"""Questions about the entries of a reference work: tables and prose on pages of one name."""

from typing import Any

import pytest

from pipeline.agents.tools import GENERATOR_TOOLS, REFINER_TOOLS
from pipeline.embedded.generator import propose
from pipeline.embedded.generator_table import Works, tabular
from pipeline.embedded.generator_told import Drawn, drafts
from pipeline.embedded.observed import Seen
from pipeline.embedded.refiner import revise
from pipeline.text import contains
from pipeline.types import Passage, sha256
from tests.embedded import test_generator
from tests.embedded.test_generator import converse, start
from tests.embedded.test_refiner import request

PAGES = {
    "Numidia (Introduction)": "Background: Numidia broke away from Gallia in 1903 and joined the Oslo League in 1920. "
    "The country has many ruins. In 1950, the country joined the Pact of Tarn with Velia. "
    "It was poor.",
    "Numidia (Government)": "Capital > name: Vessby\nNational holiday: Harvest Day, 3 May\nSuffrage: 18 years of age",
    "Numidia (Past)": "In those days many a king was drowned in the bay. Some were crowned later.",
    "Numidia (People)": "Birth rate: 25.4 births/1,000\nMedian age > male: 29.3 years\nLanguages: Numidian",
    "Gallia (Introduction)": "Background: Gallia adopted the Charter of Brandt in 1991 and left it in 2004. The "
    "country gained independence in 1820. Later the country was poor.",
    "Gallia (Government)": "Capital > name: Holmstad\nNational anthem: Song of Dawn\nSuffrage: 18 years of age",
    "Gallia (Economy)": "Imports - partners: Velia 33%, Oslo 12%\nLabor force: 3.502 million (2024 est.)\n"
    "Location: Eastern Coast, west of Velia",
    "Velia (Government)": "Capital > name: Orrby\nCountry name > former: Kingdom of Velia\nIndependence: 7 April 1703",
    "Velia (Geography)": "Coastline: 340 km\nElevation > highest point: Mount Brandt 2,190 m\nArea > total: 99,100 km",
    "Thule (Economy)": "Exports - partners: Gallia 40%, Velia 2%\nLabor force: 1.2 million",
    "Thule (Government)": "Capital > name: Kvanne\nSuffrage: 16 years of age",
    "Velia (Introduction)": "Background: Velia was never at war. The country is cold.",
}
PASSAGES = [
    Passage(id=f"e{n}#0", document_id=f"e{n}", title=title, text=text, start=0, end=len(text))
    for n, (title, text) in enumerate(PAGES.items())
]
SEEN = [Seen(p.shown_id, p.title, p.text) for p in PASSAGES]


@pytest.fixture(autouse=True)
def world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_generator, "PASSAGES", PASSAGES)
    for passage in PASSAGES:
        monkeypatch.setitem(test_generator.BY_ID, passage.shown_id, passage)


def chance(text: str) -> float:
    return int(sha256(text)[:8], 16) / 16**8


def drawn(steps: int, kind: str = "number", seed: int = 2) -> list[Drawn]:
    return list(drafts(Works(SEEN), SEEN[seed], steps, kind, chance))


def clauses(title: str) -> set[str]:
    return {teller.clause for teller in Works(SEEN).tellers[title]}


def test_two_passages_of_one_page_are_no_two_hops() -> None:
    parted = [Seen("p1", "Velia (Government)", "Capital > name: Orrby\nCountry name > former: Kingdom of Velia"),
              Seen("p2", "Velia (Government)", "Independence: 7 April 1703\nSuffrage: 18 years of age")]  # fmt: skip
    works = Works([*(page for page in SEEN if page.title != "Velia (Government)"), *parted])
    made = [draft for kind in ("date", "number") for draft in drafts(works, parted[0], 2, kind, chance)]
    assert made
    assert not any({hop["passage_id"] for hop in draft.hops} == {"p1", "p2"} for draft in made)


def test_pages_of_one_name_are_one_entry_and_say_what_it_is() -> None:
    works = Works([*SEEN, Seen("p1", "Rain", "Rain falls: on the coast.\nIt rains: much.")])
    assert works.sorts == dict.fromkeys(("Numidia", "Gallia", "Velia", "Thule"), "country")


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Velia (Geography)", "Coastline: 340 km\nArea: 99 sq km", True),
        ("Velia (Introduction)", "Background: Velia is cold.", True),
        ("Gilmore Girls: A Year in the Life", "Gilmore Girls: A Year in the Life is a series.", False),
        ("Call Me Thief (film)", "Call Me Thief (Afrikaans: Noem My Skollie) is a film.", False),
    ],
)
def test_one_colon_makes_no_table(title: str, text: str, expected: bool) -> None:
    assert tabular(Seen("p1", title, text)) is expected


def test_an_entry_is_told_by_what_no_other_has() -> None:
    told = clauses("Numidia")
    assert "that broke away from Gallia in 1903 and joined the Oslo League in 1920" in told
    assert "that in 1950 joined the Pact of Tarn with Velia" in told
    assert "whose capital is Vessby" in told
    assert "whose languages is Numidian" not in told, "a plural is quoted"
    assert not any("many ruins" in clause for clause in told), "as many have"
    assert "whose national holiday is Harvest Day" not in told, "the row says more"
    assert "that stands first under “Imports - partners” for Gallia" in clauses("Velia")
    assert "that is located in Eastern Coast, west of Velia" in clauses("Gallia"), "its begin says less"
    assert not any("1820" in clause for clause in clauses("Gallia")), "a year alone tells nobody"


def entry(name: str, **pages: str) -> list[Seen]:
    return [Seen(f"{name}{page}", f"{name} ({page})", text) for page, text in pages.items()]


def told(*pages: Seen, title: str = "Aria") -> set[str]:
    return {teller.clause for teller in Works([*SEEN, *pages]).tellers[title]}


@pytest.mark.parametrize(
    ("row", "clause"),
    [
        ("Elevation > highest point: Mount Bleak 2,908 m", "whose highest point is Mount Bleak"),
        ("Rule > head: Prime Minister Ida BERG (since 2019)", "that has Prime Minister Ida BERG under “Rule > head”"),
        ("Executive branch > head of state: Ida BERG (since 2019)", "whose head of state is Ida BERG"),
        ("Independence: 3 May 1911 (from Gallia)", "whose independence is dated 3 May 1911"),
        ("Location: Eastern Asia, north of Velia", "that is located in Eastern Asia, north of Velia"),
    ],
)
def test_a_row_tells_its_entry(row: str, clause: str) -> None:
    assert clause in told(*entry("Aria", Land=f"{row}\nSuffrage: 18", People="Suffrage: 21"))


@pytest.mark.parametrize(
    "row",
    [
        "Highest point: Mount Bleak; Ben Grey in the Far Hills",
        "Courts: High Court; county and special courts",
        "Location: Middle East, archipelago in the Red Sea",
        "Location: Asia, between Velia and Numidia (far off)",
        "Agreements > party to: Rain Treaty",
    ],
)
def test_what_is_no_name_or_phrase_tells_nothing(row: str) -> None:
    assert not {
        text for text in told(*entry("Aria", Land=f"{row}\nArea: 18", People="Area: 21")) if "“Agree" not in text
    }


def test_a_short_label_stands_for_one_row_only() -> None:
    land = "Embassy here > chief of mission: Ida BERG\nEnvoy to it > chief of state: Bo LI\nCapital > name: Ludd"
    both = [*entry("Aria", Land=land, People="Suffrage: 21"), Seen("u", "Ultima", "")]
    assert "whose chief of mission is Ida BERG" in told(*both)
    assert "that has Bo LI under “Envoy to it > chief of state”" in told(*both), "not in itself"
    other = entry("Ultima", Land="Embassy there > chief of mission: Al NYE\nSuffrage: 18", People="Suffrage: 21")
    assert "that has Ida BERG under “Embassy here > chief of mission”" in told(*both, *other)


def test_a_name_that_many_mention_neither_tells_nor_is_asked() -> None:
    aria = entry("Aria", Land="Lowest point: Grey Sea\nSuffrage: 18", People="Suffrage: 21")
    others = [
        page for name in ("Bor", "Cor") for page in entry(name, Land="Note: far off on the Grey Sea.", People="A: b")
    ]
    assert "whose lowest point is Grey Sea" in told(*aria)
    works = Works([*SEEN, *aria, *others, *entry("Dor", Land="Lowest point: Grey Sea\nB: c", People="Suffrage: 21")])
    assert not {row.answer for row in works.rows["Aria"]} & {"Grey Sea"}
    assert not any("Grey Sea" in teller.clause for teller in works.tellers["Aria"])


def test_an_entry_is_called_as_most_are_unless_it_never_is() -> None:
    land, sea, rain = (
        "Note: the island is cold.\nArea: 3",
        "Note: the island has hills.",
        "Note: it rains over the island.",
    )
    isle = entry("Isle", Land=land, Sea=sea, Rain=rain)
    both = entry("Both", Land=land, Sea=sea, Rain=f"{rain} The country is small.")
    once = entry("Once", Land="Note: the mountain is high. So is the mountain.\nArea: 3", People="x")
    many = [
        page for name in ("Bor", "Cor", "Dor") for page in entry(name, Land="Note: the country is cold.", People="x")
    ]
    sorts = Works([*SEEN, *many, *isle, *both, *once, *entry("Mute", Land="Area: 3\nB: c", People="x")]).sorts
    found = [sorts[name] for name in ("Isle", "Both", "Once", "Mute")]
    assert found == ["place", "country", "country", "country"]
    assert Works(entry("Aria", Land="Area: 3 km\nB: c", People="x")).sorts == {"Aria": "place"}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("Location: Asia, north of the Red Sea, between Ultima and Gallia", True),
        ("Location: Asia, north of the Red Sea, between Gallia and Ultima", False),
        ("Location: Asia, north of the Red Sea, south of League-backed Gallia", False),
    ],
)
def test_a_phrase_leads_to_the_entry_that_it_names(row: str, expected: bool) -> None:
    aria = entry("Aria", Land=f"{row}\nSuffrage: 18", People="Birth rate: 25.4\nSuffrage: 21")
    asked = [draft.question for draft in drafts(Works([*SEEN, *aria]), aria[1], 3, "number", chance)]
    assert any("north of the Red Sea" in text for text in asked) is expected, asked


def test_a_heading_is_not_said_twice_and_a_share_is_no_population() -> None:
    rows = "Exports > Exports 2023: 35 dollars\nUrbanization > urban population: 33% of all"
    works = Works([*SEEN, *entry("Aria", Land="Capital > name: Ludd\nA: b", People=rows)])
    asked = {draft.question for draft in drafts(works, Seen("s", "Aria (People)", ""), 2, "number", chance)}
    assert any("“Exports 2023”" in question for question in asked)
    assert any("“Urbanization > urban population”" in question for question in asked)


def test_tellers_differ() -> None:
    """Where every entry has a capital, what is told of fewer comes first."""
    rare = "Capital > name: Ludd\nNational anthem: Winter Song\nElevation > highest point: Ben Grey"
    works = Works([*SEEN, *entry("Aria", Land=rare, People="Birth rate: 25.4\nDeath rate: 31.2\nSuffrage: 21")])
    first = next(drafts(works, Seen("s", "Aria (People)", ""), 2, "number", chance))
    assert works.shares["capital"] > works.shares["highest point"]
    assert "capital" not in first.question


def test_what_two_entries_have_tells_neither() -> None:
    twin = [Seen("p8", "Ultima (Government)", "Capital > name: Vessby\nSuffrage: 21"), Seen("p9", "Ultima (Land)", "x")]
    works = Works([*SEEN, *twin])
    assert "whose capital is Vessby" not in {teller.clause for teller in works.tellers["Numidia"]}


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_every_entry_on_the_way_takes_a_step(steps: int) -> None:
    found = drawn(steps)
    assert found
    for draft in found:
        assert len(draft.hops) == steps
        assert len({hop["passage_id"] for hop in draft.hops}) == steps
        assert draft.hops[-1]["answer"] == draft.answer
        assert not contains(draft.question, draft.answer)
        assert not any(contains(draft.question, hop["answer"]) for hop in draft.hops), draft.question
        for before, hop in zip(draft.hops, draft.hops[1:], strict=False):
            assert contains(hop["sub_question"], before["answer"])


def test_a_name_within_gives_way_to_a_description() -> None:
    asked = {draft.question.partition(" for ")[2] or draft.question for draft in drawn(3)}
    assert any(
        "that broke away from the country whose capital is Holmstad in 1903 and joined" in question
        for question in asked
    ), asked


def test_a_sentence_cut_short_must_still_tell_its_entry() -> None:
    text = "Background: Aria gained independence from Gallia in 1821 and from the League in 1839."
    aria = [Seen("p8", "Aria (Introduction)", text), Seen("p9", "Aria (Land)", "Area > total: 99,100 km\nSuffrage: 21")]
    works = Works([*SEEN, *aria])
    asked = [
        draft.question
        for draft in drafts(works, aria[1], 3, "number", chance)
        if "Aria" in draft.hops[-1]["sub_question"]
    ]
    assert asked
    assert all("in 1821" in question for question in asked), asked


def test_labels_that_read_as_english_are_said_and_others_quoted() -> None:
    questions = {draft.question for draft in drawn(2, "entity", seed=1)} | {draft.question for draft in drawn(2)}
    assert any(question.startswith("What is the birth rate of the country that") for question in questions)
    assert any("“Median age > male”" in question for question in questions)
    assert not any("Suffrage" in question for question in questions), "18 is guessed"


@pytest.mark.parametrize(
    ("seed", "steps"),
    [
        ("Numidia (People)", 2),
        ("Numidia (Past)", 2),
        ("Gallia (Economy)", 2),
        ("Gallia (Economy)", 3),
        ("Velia (Geography)", 2),
        ("Velia (Geography)", 3),
    ],
)
def test_the_generator_reads_and_proposes(seed: str, steps: int) -> None:
    draft, queries = converse(propose, start_at(seed, steps), GENERATOR_TOOLS, 40)
    check(draft)
    assert len(draft.hops) == steps
    assert draft.family == "chain"
    assert len(queries) == len(set(queries))


def test_the_refiner_asks_something_else() -> None:
    made, _ = converse(propose, start_at("Numidia (People)", 2), GENERATOR_TOOLS, 40)
    revised, _ = converse(revise, request(made, "unsolved", "solver_error"), REFINER_TOOLS, 0)
    check(revised)
    assert revised.question != made.question
    assert len(revised.hops) == 2


def start_at(title: str, steps: int) -> Any:
    return start(title, kind="number", steps=steps, budget=40)


def check(draft: Any) -> None:
    """What the audit will ask; an entry's name is the title without its page."""
    for hop in draft.hops:
        passage = test_generator.BY_ID[hop.passage_id]
        assert contains(hop.quote, hop.answer) or passage.title.startswith(f"{hop.answer} (")
        assert hop.quote in passage.text
    assert draft.hops[-1].answer == draft.answer
    assert not contains(draft.question, draft.answer)
