"""Free checks: the question asks something, does not contain its answer, and the answer has no rival."""

import asyncio

import pytest

from pipeline.config.exports import GateConfig
from pipeline.gates import leak
from pipeline.loop.rival_answer import find_other_answer, find_rival
from pipeline.loop.wording_review import find_faults
from pipeline.types import AnswerType, Cause, Draft
from tests.graph_drafts import chained, changed
from tests.passages import Shelf, hop, passage
from tests.records import accepted

FILM = passage("f", "Lantern Bay", "It is a silent drama. It was directed by Ada Holm.")
HOLM = passage("h", "Ada Holm", "Ada Holm was a painter. Ada Holm came from Vessby.")
TOWN = passage("v", "Vessby", "Vessby lies on the Tarn. Vessby was founded by monks around 1641.")
SHELF = Shelf(FILM, HOLM, TOWN, passage("x", "Other", "Nothing of the kind."))


HOPS = (
    hop(FILM, "Ada Holm", "Who directed Lantern Bay?"),
    hop(HOLM, "Vessby", "Where did Ada Holm grow up?"),
    hop(TOWN, "1641", "When was Vessby settled?"),
)
QUESTION = "When was the home town of the person who directed Lantern Bay settled?"
DRAFT = chained(question=QUESTION, answer="1641", answer_type=AnswerType.DATE, answer_precision="year", hops=HOPS)


def change_hop(n: int, **update: object) -> Draft:
    hops = list(HOPS)
    hops[n] = hops[n].model_copy(update=update)
    return changed(DRAFT, hops=tuple(hops))


def test_a_sound_chain_passes() -> None:
    assert find_faults(DRAFT) == ()
    assert asyncio.run(find_rival(DRAFT, SHELF, 3)) == ()


@pytest.mark.parametrize(
    ("update", "detail"),
    [
        ({"question": "Tell me of Lantern Bay and its people."}, "it asks nothing"),
        ({"question": "When?"}, "it asks nothing"),
        ({"answer": "?"}, "answers nothing"),
        ({"question": "Was it in 1641 that Lantern Bay came out?"}, "the question holds its answer, '1641'"),
        ({"answer_aliases": ("Lantern Bay",)}, "the question holds its answer, 'Lantern Bay'"),
    ],
)
def test_a_wording_that_asks_nothing_or_tells_the_answer_is_at_fault(update: dict[str, object], detail: str) -> None:
    (finding,) = find_faults(changed(DRAFT, **update))
    assert (finding.check, finding.cause) == ("wording", Cause.GENERATOR_ERROR)
    assert detail in finding.detail


@pytest.mark.parametrize(
    ("text", "is_rival"),
    [
        ("Old books differ. Vessby was founded by monks around 1702.", True),
        ("Vessby was founded by monks around 1641, says its charter.", False),
        ("Vessby burnt down in 1702.", False),
        ("Tarnby was founded by monks in 1702.", False),
    ],
)
def test_a_page_with_another_answer_to_the_last_step_is_a_rival(text: str, is_rival: bool) -> None:
    shelf = Shelf(FILM, HOLM, TOWN, passage("a", "Annals", text))
    findings = asyncio.run(find_rival(DRAFT, shelf, 3))
    assert [(finding.check, finding.cause, finding.hops) for finding in findings] == [
        ("rival_answer", Cause.AMBIGUOUS, (2,))
    ] * is_rival
    assert all("a#0" in search.passage_ids for finding in findings for search in finding.searches)


def test_a_quote_that_states_nothing_but_its_subject_has_no_rival() -> None:
    """A list of names shares its words with "Harbour Song, by Ada Holm", and states nothing."""
    songs = passage("s", "Songs", "These are sung. Harbour Song, by Ada Holm, is one.")
    list_of_names = passage("n", "Chairs", "Ada Holm January 1998.")
    rival = passage("o", "Airs", "Tarn Song, by Ada Holm, is one.")
    last = hop(songs, "Harbour Song", "Which song is by Ada Holm?")
    bare = last.model_copy(update={"quote": "Harbour Song, by Ada Holm"})
    by_quote = [
        changed(DRAFT, hops=(HOPS[0], last_hop), answer="Harbour Song", answer_type=AnswerType.ENTITY)
        for last_hop in (bare, bare.model_copy(update={"quote": "Harbour Song, song by Ada Holm, is one"}))
    ]
    assert [find_other_answer(draft, {songs.id}, [list_of_names]) for draft in by_quote] == [None, None]
    assert find_other_answer(by_quote[1], {songs.id}, [list_of_names, rival]) is not None


@pytest.mark.parametrize(
    ("answer", "kind", "question", "leaks"),
    [
        ("12", AnswerType.NUMBER, "How many ships did the admiral born on 12 May 1890 sink?", False),
        ("12", AnswerType.NUMBER, "How many ships did the admiral of 12,345 men on 12.5 km sink?", False),
        ("12", AnswerType.NUMBER, "How many ships did the admiral of Fleet 12 sink?", True),
        ("1,234,567", AnswerType.NUMBER, "Is it 1234567 that live in the town?", True),
        ("May 6, 2008", AnswerType.DATE, "What came out when 6 May 2008 was over?", True),
        ("May 6, 2008", AnswerType.DATE, "What came out when May 2008 was over?", False),
        ("The Who", AnswerType.ENTITY, "Which band did the drummer who came from Wembley join?", False),
        ("The Who", AnswerType.ENTITY, "Which band did the drummer join, if not Who?", True),
        ("May", AnswerType.ENTITY, "When may the ice on the Tarn break?", False),
        ("May", AnswerType.ENTITY, "When in May does the ice on the Tarn break?", True),
        ("May", AnswerType.ENTITY, "when in may does the ice on the tarn break?", True),
        ("Piano", AnswerType.ENTITY, "Who played the piano in the town?", True),
        ("Chemistry", AnswerType.ENTITY, "In what did the chemistry professor excel?", True),
    ],
)
def test_a_question_leaks_its_answer_as_a_value_or_as_a_name(
    answer: str, kind: AnswerType, question: str, leaks: bool
) -> None:
    last = change_hop(2, quote=f"They say that {answer if answer != 'Piano' else 'a piano'} is meant.")
    draft = changed(last, answer=answer, answer_type=kind, question=question)
    assert any("holds its answer" in finding.detail for finding in find_faults(draft)) is leaks
    assert bool(leak.check(draft, accepted(), GateConfig())) is leaks
