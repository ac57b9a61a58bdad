"""A sound distractor of every kind passes, and one with a planted fault fails the check for that fault."""

import asyncio

import pytest

from pipeline import config, prompts
from pipeline.config.loop import DistractorConfig
from pipeline.context import RunContext
from pipeline.distractors.checks import CHECKS, differs, similarity
from pipeline.distractors.hard_passages import build_overlay
from pipeline.distractors.writing_task import query, right_answers, writing_task
from pipeline.llm.base import Request
from pipeline.types import Distractor, Message
from pipeline.types.distractor import Kind
from tests.distractors.pair import (
    DRAFT,
    FILM,
    HOLM,
    LONG,
    MILL,
    SHELF,
    TOWN,
    answer_as_reader,
    make_sound,
    run_checks,
)
from tests.graph_drafts import changed, computed, drafted, step
from tests.loop.cast import LINEAGE
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM


@pytest.mark.parametrize("kind", Kind)
def test_a_sound_distractor_passes_every_check(kind: Kind) -> None:
    outcome = run_checks(make_sound(kind))
    assert [check.name for check in outcome.checks] == [name for name in CHECKS if name != "blind"]
    assert outcome.used, outcome.checks[-1]


def plant_fault(kind: Kind, fault: str) -> Distractor:
    sound, source = make_sound(kind), HOLM if kind is Kind.FALSE_SHORTCUT else TOWN
    return {
        "unreachable": sound.model_copy(update={"title": sound.mark, "text": f"{sound.mark}: nothing else but 1598."}),
        "makes the wrong answer right": sound.model_copy(update={"text": f"{sound.text} This is beyond doubt."}),
        "contradicts nothing": sound.model_copy(update={"text": sound.text.replace("1598", "1641"), "claim": "1641"}),
        "says what is right in other words": sound.model_copy(
            update={"text": sound.text.replace("1598", "12 May 1641"), "claim": "12 May 1641"}
        ),
        "near duplicate": sound.model_copy(
            update={"text": source.text.replace("1641", "1598").replace("1902", "1598") + sound.mark}
        ),
        "bare": sound.model_copy(update={"mark": "1598"}),
        "mark of its source": sound.model_copy(update={"mark": "Vessby"}),
        "another source": sound.model_copy(update={"source_sha256": "0" * 64}),
    }[fault]


FAULTS = {
    "unreachable": "reachable",
    "makes the wrong answer right": "readable",
    "contradicts nothing": "contradicts",
    "says what is right in other words": "contradicts",
    "near duplicate": "new",
    "bare": "marked",
    "mark of its source": "marked",
    "another source": "marked",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", Kind)
def test_a_distractor_with_a_fault_is_rejected_with_its_reason(kind: Kind, fault: str) -> None:
    outcome = run_checks(plant_fault(kind, fault))
    assert not outcome.used
    assert outcome.reason == FAULTS[fault], outcome.checks
    assert outcome.checks[-1].detail


@pytest.mark.parametrize("kind", Kind)
def test_a_claim_that_the_corpus_may_support_is_rejected(kind: Kind) -> None:
    chronicle = passage("chronicle", "A chronicle", "Some say that Vessby was there in 1598; Ada Holm doubts it.")
    outcome = run_checks(make_sound(kind), shelf=Shelf(FILM, HOLM, TOWN, MILL, chronicle))
    assert outcome.reason == "untrue"
    assert outcome.checks[-1].detail == "'A chronicle' (chronicle#0) names '1598' and its subject"


@pytest.mark.parametrize(
    "opening",
    ["Ada Holm (born 1952) was a painter. Ada Holm came from Vessby.", "Ada Holm is a painter. She came from Vessby."],
)
def test_a_distractor_about_a_person_who_may_live_is_rejected(opening: str) -> None:
    living = passage("holm", "Ada Holm", opening)
    shortcut = make_sound(Kind.FALSE_SHORTCUT).model_copy(update={"source_sha256": living.sha256})
    assert run_checks(shortcut, shelf=Shelf(FILM, living, TOWN, MILL)).reason == "no_living_person"


def test_a_shortcut_to_a_person_who_may_live_is_rejected() -> None:
    living = passage("town", "Vessby", "Vessby (born 1952) is a painter. Vessby was settled by monks around 1641.")
    assert (
        run_checks(make_sound(Kind.FALSE_SHORTCUT), shelf=Shelf(FILM, HOLM, living, MILL)).reason == "no_living_person"
    )


@pytest.mark.parametrize(("opening", "passes"), [("Bo Lind (born 1960) is a director.", False), ("", False),
                                                 ("Bo Lind (1860 – 1921) was a director.", True)])  # fmt: skip
def test_a_claim_about_a_person_who_may_live_is_rejected(opening: str, passes: bool) -> None:
    shelf = Shelf(FILM, HOLM, TOWN, MILL, *([passage("lind", "Bo Lind", opening)] if opening else []))
    text = "Who directed Lantern Bay? In the 1931 version, it was directed by Bo Lind."
    about_a_person = make_sound(Kind.DOPPELGANGER).model_copy(
        update={
            "title": "Lantern Bay (1931 version)", "text": text, "hop": 0, "claim": "Bo Lind", "mark": "1931 version",
            "source_id": FILM.id, "source_sha256": FILM.sha256,
        }
    )  # fmt: skip
    outcome = run_checks(about_a_person, shelf=shelf)
    assert outcome.used is passes, outcome.checks
    assert passes or outcome.reason == "no_living_person"


def test_the_position_of_the_distractor_varies_for_the_reader() -> None:
    positions = list[int]()

    def read_and_record(request: Request) -> Message:
        if request.output and request.output.name == "read":
            passages = (prompts.unfence(request.messages[-1].content) or {})["passages"]
            positions.extend(n for n, entry in enumerate(passages) if "1598" in entry["text"])
        return answer_as_reader(request)

    for kind in Kind:
        assert run_checks(make_sound(kind), model=read_and_record).used
    assert len(set(positions)) > 1


def test_an_unreadable_reader_passes_nothing() -> None:
    outcome = run_checks(make_sound(Kind.DOPPELGANGER), model=lambda request: Message(role="assistant", content="hm"))
    assert outcome.reason == "readable"


@pytest.mark.parametrize(
    ("claim", "answer", "expected"),
    [
        ("1598", "1641", True),
        ("1641", "12 May 1641", False),
        ("12 May 1641", "1641", False),
        ("13 May 1641", "12 May 1641", True),
        ("4,205", "4,300", True),
        ("4,301", "4,300", False),
        ("Scott", "Tony Scott", False),
        ("Ridley Scott", "Tony Scott", True),
        ("b.cache", "a.cache", True),
        ("a.cache", "the a.cache", False),
        ("CVE-2017-0145", "CVE-2017-0144", True),
        ("AES-256-GCM", "AES-256-CBC", True),
        ("3.5.2", "3.5.1", True),
        ("between 6 and 35", "between 6 and 45", True),
        ("17,000", "17,000 in 2006", False),
    ],
)
def test_claims_that_can_both_be_right_do_not_differ(claim: str, answer: str, expected: bool) -> None:
    assert differs(claim, answer) is expected


def test_similarity_is_of_word_triples() -> None:
    assert similarity("one two three four", "One, two: three four!") == 1
    assert similarity("one two three four", "one two three five") == pytest.approx(1 / 3)
    assert similarity("", "one") == 0


def test_a_mark_may_be_missing_only_if_outright_distractors_are_requested() -> None:
    flat = make_sound(Kind.DOPPELGANGER).model_copy(
        update={"mark": "", "text": "Vessby was settled in 1598, when it had a mill."}
    )
    assert run_checks(flat, "retrieval.k=3").reason == "marked"
    assert run_checks(flat, "retrieval.k=3", "distractors.outright=true").used


@pytest.mark.parametrize("rank", ["among", "above"])
def test_a_distractor_ranks_above_the_evidence_only_if_set(rank: str) -> None:
    low = make_sound(Kind.DOPPELGANGER).model_copy(
        update={"text": f"Vessby was, says the 1902 edition, there in 1598. {LONG}"}
    )
    assert run_checks(low, "retrieval.k=3", f"distractors.rank={rank}").used
    over = build_overlay(SHELF, DRAFT, [low], DistractorConfig(rank=rank))
    hits = asyncio.run(over.search(query(DRAFT, low.hop), 5))
    assert (hits[0].passage.id == low.id) == (rank == "above")


def test_the_writer_is_told_which_words_of_the_query_are_missing() -> None:
    outcome = run_checks(plant_fault(Kind.DOPPELGANGER, "unreachable"))
    assert "when, was, vessby, settled" in outcome.checks[-1].detail


def test_an_alias_of_the_answer_is_a_right_answer() -> None:
    with_alias = DRAFT.hops[1].model_copy(update={"answer_aliases": ("Vesby",)})
    draft = changed(DRAFT, hops=(DRAFT.hops[0], with_alias, DRAFT.hops[2]))
    assert right_answers(draft, 1) == ("Vessby", "Vesby")
    assert right_answers(draft, 2) == ("1641", "AD 1641")


def test_a_query_is_the_sub_question_of_a_step_that_begins_a_chain() -> None:
    steps = [step(FILM, "Ada Holm", "Who directed Lantern Bay?"), step(MILL, "corn", "What does Tarn Mill grind?")]
    draft = drafted("Which?", [*steps, computed("list", "film", "mill")], [FILM, MILL])
    assert [query(draft, n) for n in range(2)] == ["Who directed Lantern Bay?", "What does Tarn Mill grind?"]


def test_a_shortcut_is_written_only_within_a_chain() -> None:
    context = RunContext(config=config.build(), llm=ScriptedLLM(answer_as_reader), retriever=SHELF, lineage=LINEAGE)
    steps = [step(FILM, "Ada Holm"), step(HOLM, "Vessby", "", "film"), step(MILL, "corn")]
    several = drafted("Which?", [*steps, computed("list", "holm", "mill")], [FILM, HOLM, MILL])
    leaps = [bool(asyncio.run(writing_task(d, Kind.FALSE_SHORTCUT, 2, context))) for d in (DRAFT, several)]
    assert leaps == [True, False]
