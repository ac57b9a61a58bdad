"""Each check finds its own planted fault and says nothing of a sound chain."""

import asyncio

import pytest

from pipeline.config.gates import GateConfig
from pipeline.gates import leak
from pipeline.loop.checks.another_answer import other_answer
from pipeline.loop.checks.base import Case
from pipeline.loop.checks.exposed_intermediate import exposed_intermediate
from pipeline.loop.checks.over_specified import over_specified
from pipeline.loop.examine import audit
from pipeline.types import AnswerType, Cause, Draft, Finding, Searched
from tests.records import accepted
from tests.shelf import Shelf, hop, passage

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
DRAFT = Draft(
    question=QUESTION, answer="1641", answer_type=AnswerType.DATE, answer_precision="year", hops=HOPS, family="chain"
)


def findings(draft: Draft, target: int = 3, shelf: Shelf = SHELF) -> tuple[Finding, ...]:
    return asyncio.run(audit(draft, target, shelf, 1))


def changed(n: int, **update: object) -> Draft:
    hops = list(HOPS)
    hops[n] = hops[n].model_copy(update=update)
    return DRAFT.model_copy(update={"hops": tuple(hops)})


def test_a_sound_chain_passes() -> None:
    assert findings(DRAFT) == ()


@pytest.mark.parametrize(
    ("draft", "check", "hops"),
    [
        (DRAFT.model_copy(update={"question": "Tell me of Lantern Bay and its people."}), "no_question", ()),
        (
            DRAFT.model_copy(update={"question": "Was it in 1641 that Lantern Bay came out?"}),
            "answer_in_question",
            (2,),
        ),
        (DRAFT.model_copy(update={"answer_aliases": ("Lantern Bay",)}), "answer_in_question", (2,)),
        (changed(0, quote="It was directed by Ada  Holm."), "false_quote", (0,)),
        (changed(1, passage_id="nowhere#0"), "false_quote", (1,)),
        (changed(1, passage_sha256="0" * 64), "false_quote", (1,)),
        (changed(1, quote=""), "false_quote", (1,)),
        (changed(2, quote="Vessby lies on the Tarn."), "unquoted_answer", (2,)),
        (DRAFT.model_copy(update={"answer": "1700"}), "unquoted_answer", (2,)),
        (DRAFT.model_copy(update={"hops": (HOPS[0], HOPS[2])}), "broken_chain", (1,)),
    ],
)
def test_an_unsound_draft_is_fatally_found_out(draft: Draft, check: str, hops: tuple[int, ...]) -> None:
    found = findings(draft, target=1)
    assert check in {finding.check for finding in found}
    assert all(finding.fatal for finding in found)
    assert hops in {finding.hops for finding in found}


@pytest.mark.parametrize(
    ("draft", "shelf", "check", "cause", "hops"),
    [
        (
            DRAFT.model_copy(update={"question": f"Ada Holm: {QUESTION}"}),
            SHELF,
            "exposed_intermediate",
            Cause.OVER_SPECIFIED,
            (0,),
        ),
        (
            DRAFT,
            Shelf(FILM, TOWN, HOLM.model_copy(update={"text": f"{HOLM.text} It dates from 1641."})),
            "co_located",
            Cause.CO_LOCATED,
            (2,),
        ),
        (
            changed(1, sub_question="Vessby Tarn founded by monks around?"),
            SHELF,
            "query_collapse",
            Cause.QUERY_COLLAPSE,
            (2,),
        ),
    ],
)
def test_a_shortcut_names_the_hops_that_it_saves(
    draft: Draft, shelf: Shelf, check: str, cause: Cause, hops: tuple[int, ...]
) -> None:
    sha = {p.id: p.sha256 for p in shelf.passages.values()}
    draft = draft.model_copy(
        update={"hops": tuple(h.model_copy(update={"passage_sha256": sha[h.passage_id]}) for h in draft.hops)}
    )
    found = findings(draft, target=3, shelf=shelf)
    assert (check, cause, hops) in {(finding.check, finding.cause, finding.hops) for finding in found}
    assert all(finding.fatal for finding in found)
    assert not any(finding.fatal for finding in findings(draft, target=2, shelf=shelf))


@pytest.mark.parametrize(
    ("draft", "detail"),
    [
        (DRAFT.model_copy(update={"question": "Was it in 1641 that Lantern Bay came out?"}), "its answer, '1641'"),
        (changed(0, quote="It was  directed by Ada Holm."), "'It was directed by Ada Holm.' is not in 'Lantern Bay'"),
        (changed(2, quote="Vessby lies on the Tarn."), "do not hold '1641'"),
        (DRAFT.model_copy(update={"hops": (HOPS[0], HOPS[2])}), "neither the title nor the quote names 'Ada Holm'"),
        (DRAFT.model_copy(update={"question": f"Ada Holm: {QUESTION}"}), "the question names 'Ada Holm'"),
    ],
)
def test_a_finding_quotes_the_words_that_it_saw(draft: Draft, detail: str) -> None:
    assert detail in findings(draft, target=2)[0].detail


def test_a_question_that_finds_its_answer_with_the_clues_is_over_specified() -> None:
    draft = DRAFT.model_copy(
        update={"question": "When was Tarn's town founded by monks, home of Lantern Bay's director?"}
    )
    found = asyncio.run(audit(draft, 3, SHELF, 3))
    assert "over_specified" in {finding.check for finding in found}


def test_a_finding_keeps_the_searches_that_it_rests_on() -> None:
    query = "Vessby Tarn founded by monks around?"
    (collapse,) = (f for f in findings(changed(1, sub_question=query)) if f.check == "query_collapse")
    assert collapse.searches == (Searched(query=query, passage_ids=("v#0",)),)
    question = "When was Tarn's town founded by monks, home of Lantern Bay's director?"
    single = asyncio.run(over_specified(Case(DRAFT.model_copy(update={"question": question}), (), SHELF, 3, 3)))
    assert single is not None
    assert [(s.query, set(s.passage_ids)) for s in single.searches] == [(question, {"f#0", "h#0", "v#0"})]
    annals = passage("a", "Annals", "Old books differ. Vessby was founded by monks around 1702.")
    (rival,) = asyncio.run(audit(DRAFT, 3, Shelf(FILM, HOLM, TOWN, annals), 3))
    assert rival.searches
    assert all("a#0" in search.passage_ids for search in rival.searches)


def test_two_passages_of_one_document_are_no_two_hops() -> None:
    later = passage("h", "Ada Holm", "It lies far off. The town of Vessby was settled by monks in 1641.", n=1)
    hops = (*HOPS[:2], hop(later, "1641", "When was Vessby settled?"))
    (found,) = findings(DRAFT.model_copy(update={"hops": hops}), 2, Shelf(FILM, HOLM, later))
    assert (found.check, found.cause, found.fatal, found.hops) == ("one_document", Cause.GENERATOR_ERROR, True, (2,))


def test_a_chain_shorter_than_its_target_is_sent_back() -> None:
    (finding,) = findings(DRAFT, target=4)
    assert (finding.check, finding.cause, finding.fatal) == ("too_few_hops", Cause.SUPERFICIAL, True)


@pytest.mark.parametrize(
    ("text", "rival"),
    [
        ("Old books differ. Vessby was founded by monks around 1702.", True),
        ("Vessby was founded by monks around 1641, says its charter.", False),
        ("Vessby burnt down in 1702.", False),
        ("Tarnby was founded by monks in 1702.", False),
    ],
)
def test_another_page_that_answers_the_last_step_otherwise_is_looked_for(text: str, rival: bool) -> None:
    shelf = Shelf(FILM, HOLM, TOWN, passage("a", "Annals", text))
    found = asyncio.run(audit(DRAFT, 3, shelf, 3))
    assert ("another_answer" in {finding.check for finding in found}) is rival
    assert all(finding.fatal for finding in found if finding.check == "another_answer")


@pytest.mark.parametrize(
    ("answer", "names", "exposed"),
    [
        ("Vessby, Tarn County", "Vessby", [(0, 1)]),
        ("Vessby, Tarn County", "Tarn", []),
        ("1,614,714", "1", []),
    ],
)
def test_a_place_is_exposed_by_its_short_name_and_a_number_not_by_its_first_digits(
    answer: str, names: str, exposed: list[tuple[int, ...]]
) -> None:
    draft = changed(1, answer=answer).model_copy(update={"question": f"{QUESTION} ({names})"})
    found = asyncio.run(exposed_intermediate(Case(draft, (), SHELF, 1, 3)))
    assert ([found.hops] if found else []) == exposed


@pytest.mark.parametrize(
    ("aliases", "asked", "exposed"),
    [
        (("Holm",), "When did Holm come?", True),
        (("Holm",), "She met Ada Holm; when?", True),
        (("Holm",), "When did Bo Holm come?", False),
        (("Holm",), "When did Holm City grow?", False),
        (("Holm",), "When did Holm's Quay open?", True),
        (("Holm",), "Ask in Holm City. When did Holm come?", True),
        (("Holm",), "Which holm lies there?", False),
        (("Who",), "Who came first?", False),
        (("the painter",), "When did the painter come?", False),
        (("奥姆",), "奥姆何时来？", True),
    ],
)
def test_an_alias_exposes_where_it_is_a_name_and_this_one(aliases: tuple[str, ...], asked: str, exposed: bool) -> None:
    draft = changed(0, answer_aliases=aliases).model_copy(update={"question": asked})
    assert (asyncio.run(exposed_intermediate(Case(draft, (), SHELF, 1, 3))) is not None) is exposed
    plain = changed(0, answer="aspirin", answer_aliases=("acid",)).model_copy(update={"question": "Is acid sold?"})
    assert asyncio.run(exposed_intermediate(Case(plain, (), SHELF, 1, 3))) is not None, "no proper name"


@pytest.mark.parametrize(
    ("asked", "exposed"),
    [
        ("Which city in Alabama does the Alabama River flow past?", False),
        ("Which city does the Alabama River flow past?", True),
        ("Which city does the Alabama flow past?", True),
    ],
)
def test_an_alias_that_a_sub_question_has_for_another_thing_exposes_nothing(asked: str, exposed: bool) -> None:
    river = changed(0, answer="Alabama River", answer_aliases=("Alabama",))
    hops = (river.hops[0], river.hops[1].model_copy(update={"sub_question": asked}), *river.hops[2:])
    names = "The Coosa feeds a river past a city in Alabama. Which?"
    draft = river.model_copy(update={"hops": hops, "question": names})
    assert (asyncio.run(exposed_intermediate(Case(draft, (), SHELF, 1, 3))) is not None) is exposed


def test_a_quote_that_says_nothing_but_its_subject_has_no_rival() -> None:
    """A list of names has the same words as "Harbour Song, by Ada Holm", and answers nothing."""
    songs = passage("s", "Songs", "These are sung. Harbour Song, by Ada Holm, is one.")
    listed, other = (
        passage("n", "Chairs", "Ada Holm January 1998."),
        passage("o", "Airs", "Tarn Song, by Ada Holm, is one."),
    )
    last = hop(songs, "Harbour Song", "Which song is by Ada Holm?")
    bare = last.model_copy(update={"quote": "Harbour Song, by Ada Holm"})
    by_quote = [
        DRAFT.model_copy(update={"hops": (HOPS[0], one), "answer": "Harbour Song", "answer_type": AnswerType.ENTITY})
        for one in (bare, bare.model_copy(update={"quote": "Harbour Song, song by Ada Holm, is one"}))
    ]
    assert [other_answer(draft, {songs.id}, [listed]) for draft in by_quote] == [None, None]
    assert other_answer(by_quote[1], {songs.id}, [listed, other]) is not None


def test_two_chains_may_meet_in_the_last_passage() -> None:
    """An organ builder from Vessby and the director of a film come together in the passage that gives the answer."""
    organ = passage("o", "Tarn Organ", "It has two manuals. The Tarn Organ was built by Ned Fry.")
    meeting = passage("m", "Their wedding", "It rained. Ada Holm and Ned Fry married in 1641.")
    hops = (
        HOPS[0],
        hop(organ, "Ned Fry", "Who built the Tarn Organ?"),
        hop(meeting, "1641", "When did both marry?"),
    )
    draft = DRAFT.model_copy(update={"hops": hops, "family": "meeting"})
    shelf = Shelf(FILM, organ, meeting)
    assert "broken_chain" not in {finding.check for finding in findings(draft, shelf=shelf)}
    assert "broken_chain" in {f.check for f in findings(draft.model_copy(update={"family": "chain"}), shelf=shelf)}
    apart = passage("m", "Their wedding", "It rained. The director and Ned Fry married in 1641.")
    alone = draft.model_copy(update={"hops": (*hops[:2], hop(apart, "1641", "When did both marry?"))})
    assert "broken_chain" in {f.check for f in findings(alone, shelf=Shelf(FILM, organ, apart))}


def test_clues_about_one_thing_give_the_same_answer() -> None:
    both = (HOPS[1], hop(TOWN, "Vessby", "Which town did monks found?"))
    draft = DRAFT.model_copy(
        update={"hops": both, "answer": "Vessby", "answer_type": AnswerType.ENTITY, "family": "conjunction"}
    )
    assert "co_located" not in {finding.check for finding in findings(draft, target=2)}


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
def test_a_question_gives_its_answer_as_a_value_and_a_name_where_it_is_one(
    answer: str, kind: AnswerType, question: str, leaks: bool
) -> None:
    last = changed(2, quote=f"They say that {answer if answer != 'Piano' else 'a piano'} is meant.")
    draft = last.model_copy(update={"answer": answer, "answer_type": kind, "question": question})
    assert ("answer_in_question" in {finding.check for finding in findings(draft)}) is leaks
    assert bool(leak.check(draft, accepted(), GateConfig())) is leaks
