"""Twins without an answer: everything that is verified before "not found" counts as right."""

import asyncio
from typing import Any

import pytest

from pipeline import config, prompts
from pipeline.agents.judge import grade
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed as run_episode
from pipeline.loop.unanswerable import is_drawn, make_twin
from pipeline.types import NOT_FOUND, AnswerType, Message, Status, Twin, Usage, sha256, twin_draft
from tests.distractors.pair import DRAFT
from tests.graph_drafts import chained
from tests.loop.cast import FILM, HOLM, LINEAGE, QUESTION, TOWN, call, make_seed
from tests.loop.twins import CHANGED, SETS, Playing, get_twin, make_context, run_with_twin
from tests.passages import Shelf, hop, passage
from tests.scripted_llm import ScriptedLLM

KEY = "ab" * 32
SCORE = passage("score", "Lantern Bay (score)", "The music of Lantern Bay was wrote by Nils Ferrow, a fiddler.")


def test_a_premise_that_nothing_states_makes_a_twin() -> None:
    record = run_with_twin(Playing())
    assert (record.status, record.missing) == (Status.ACCEPTED, ())
    assert record.twin is not None
    used = record.twin.used
    assert used is not None
    assert (used.question, used.hop, used.state, used.cited) == (CHANGED["question"], 0, "unstated", ())
    assert [rollout.answer for rollout in used.rollouts] == [NOT_FOUND] * 2
    assert all(verdict.correct for verdict in used.verdicts)
    assert [probe.check for probe in used.probes] == ["absent", "oracle"]
    queries = [search.query for search in used.searches]
    assert queries[:2] == [CHANGED["question"], CHANGED["sub_question"]]
    assert queries[-2:] == CHANGED["queries"]
    assert record.usage["writer"].calls == 1
    assert record.draft is not None
    draft = twin_draft(record.draft, used)
    assert (draft.answer, draft.answer_type, len(draft.hops)) == (NOT_FOUND, AnswerType.UNANSWERABLE, 1)


def test_a_twin_changes_nothing_of_its_pair() -> None:
    twinned = run_with_twin(Playing())
    plain = asyncio.run(run_episode(make_seed(), make_context(Playing(), "questions.unanswerable=0")))
    assert plain.twin is None
    assert twinned.model_copy(update={"twin": None}) == plain
    extra_calls = {role: usage.calls - plain.usage[role].calls for role, usage in twinned.usage.items()}
    assert {role: calls for role, calls in extra_calls.items() if calls} == {"solver": 6, "reader": 2, "writer": 1}


def test_a_premise_that_the_corpus_states_elsewhere_is_refused_and_the_writer_is_told() -> None:
    cast = Playing()
    twin = get_twin(cast, "questions.tries=2", shelf=Shelf(FILM, HOLM, TOWN, SCORE))
    assert twin.used is None
    assert [attempt.outcome for attempt in twin.tries] == ["stated", "stated"]
    assert twin.tries[0].cited == (SCORE.id,)
    assert twin.tries[0].rollouts == ()
    assert [len(inputs["refused"]) for inputs in cast.inputs] == [0, 1]
    assert cast.inputs[1]["refused"][0]["question"] == CHANGED["question"]
    assert cast.inputs[1]["refused"][0]["why"].startswith("stated: ")


@pytest.mark.parametrize(
    ("state", "outcome", "kept_state"),
    [
        ({"state": "unclear"}, "unclear", ""),
        ({"state": "contradicted", "passages": [FILM.shown_id]}, "used", "contradicted"),
        ({"state": "contradicted", "passages": ["p000000000000"]}, "used", "unstated"),
    ],
)
def test_evidence_against_a_premise_is_cited_and_an_unclear_one_is_refused(
    state: dict[str, Any], outcome: str, kept_state: str
) -> None:
    cast = Playing()
    cast.state = state
    attempt = get_twin(cast, "questions.tries=1").tries[0]
    assert (attempt.outcome, attempt.state) == (outcome, kept_state)


@pytest.mark.parametrize("fits", [True, False])
def test_an_answer_that_a_reader_finds_and_the_passages_support_refuses_a_twin(fits: bool) -> None:
    cast = Playing()
    cast.read, cast.weighs = "1641", lambda answer: fits
    attempt = get_twin(cast, "questions.tries=1").tries[0]
    assert attempt.outcome == ("answered" if fits else "used")
    assert bool(attempt.rollouts) is not fits


@pytest.mark.parametrize("fits", [True, False])
def test_an_answer_of_a_rollout_that_its_passages_support_refuses_a_twin(fits: bool) -> None:
    cast = Playing()
    cast.answers = lambda sample: ["1641", NOT_FOUND][sample]
    cast.weighs = lambda answer: fits
    attempt = get_twin(cast, "questions.tries=1").tries[0]
    assert attempt.outcome == ("answered" if fits else "used")
    assert [verdict.correct for verdict in attempt.verdicts] == [False, True]
    assert (attempt.probes[-1].check, attempt.probes[-1].answers) == ("alternatives", ("1641",))


def test_a_twin_that_no_rollout_refuses_is_refused() -> None:
    assert get_twin(Playing(answers="1641"), "questions.tries=1").tries[0].outcome == "unsolved"


def test_a_refusal_without_a_search_is_right_and_not_correct() -> None:
    class Lazy(Playing):
        def __call__(self, request: Request) -> Message:
            is_twin = request.tools and request.messages[1].content == CHANGED["question"]
            return call("answer", answer=NOT_FOUND) if is_twin else super().__call__(request)

    attempt = get_twin(Lazy(), "questions.tries=1").tries[0]
    assert [(verdict.right, verdict.correct) for verdict in attempt.verdicts] == [(True, False)] * 2
    assert attempt.outcome == "unsolved"


def test_a_second_attempt_may_succeed() -> None:
    painted = CHANGED | {
        "changed_to": "painted the sets of",
        "question": QUESTION.replace("directed", "painted the sets of"),
    }
    twin = get_twin(Playing([CHANGED, painted]), shelf=Shelf(FILM, HOLM, TOWN, SCORE))
    assert [attempt.outcome for attempt in twin.tries] == ["stated", "stated", "stated"]
    shelf = Shelf(FILM, HOLM, TOWN)
    cast = Playing([CHANGED | {"changed_from": "nothing"}, CHANGED])
    assert [attempt.outcome for attempt in get_twin(cast, shelf=shelf).tries] == ["unchanged", "used"]


def test_an_unreadable_writer_is_counted() -> None:
    class Mute(Playing):
        def __call__(self, request: Request) -> Message:
            written = request.output and request.output.name == "change"
            return Message(role="assistant", content="hm") if written else super().__call__(request)

    record = run_with_twin(Mute())
    assert record.twin == Twin(unwritten=3)
    assert record.missing == ()


def test_the_share_is_drawn_by_key_and_a_larger_one_only_adds() -> None:
    keys = [sha256(str(n)) for n in range(2000)]
    tenth, half = ({key for key in keys if is_drawn(key, share)} for share in (0.1, 0.5))
    assert 150 < len(tenth) < 250
    assert tenth < half
    assert not any(is_drawn(key, 0.0) for key in keys)
    cast = make_context(Playing(), "questions.unanswerable=0")
    assert asyncio.run(make_twin(DRAFT, KEY, cast)) is None


@pytest.mark.parametrize(
    ("response", "right"),
    [
        (NOT_FOUND, True),
        ("It cannot be found in the corpus.", True),
        ("not found, but I guess 1641", False),
        ("", False),
    ],
)
def test_a_refusal_is_right_and_calls_no_judge(response: str, right: bool) -> None:
    draft = chained("When?", [hop(TOWN, NOT_FOUND)], answer_type=AnswerType.UNANSWERABLE)
    context = RunContext(config=config.build(), llm=ScriptedLLM([]), retriever=Shelf(), lineage=LINEAGE)
    grading = asyncio.run(grade(draft, response, context))
    assert (grading.right, grading.usage) == (right, Usage())


@pytest.mark.parametrize(
    ("sets", "share"),
    [
        (["questions.unanswerable=1"], 0),
        ([*SETS, "models.solver.provider=embedded", "models.solver.model=embedded"], 0),
        (SETS, 1),
    ],
)
def test_the_demo_model_makes_no_twins(sets: list[str], share: int) -> None:
    settings = config.build(sets=list(sets))
    assert settings.questions.twins(settings.models) == share


def test_only_a_run_with_twins_has_them_in_its_digest() -> None:

    plain = config.build()
    assert plain.digest_input()["questions"]["unanswerable"] == 0
    assert not any(name.startswith("twin/") for name in plain.digest_input()["prompts"])
    twinned = config.build(sets=["questions.unanswerable=0.1"])
    assert twinned.digest_input()["questions"]["unanswerable"] == 0.1
    assert {"twin/absent", "twin/change"} < set(twinned.digest_input()["prompts"])
    assert twinned.digest() != plain.digest()


def test_a_reader_with_a_small_context_is_shown_less() -> None:
    shelf = Shelf(FILM, HOLM, TOWN, *(passage(f"x{n}", "Lantern Bay", "Lantern Bay " * 60) for n in range(40)))
    counts = []
    for size in (32_768, 5_000):
        cast = Playing()
        context = make_context(
            cast, f"models.default.context={size}", "models.default.sampling.max_tokens=500", shelf=shelf
        )
        record = asyncio.run(run_episode(make_seed(), context))
        assert record.twin is not None
        requests = [r for r in context.llm.requests if r.output and r.output.name == "absent"]  # type: ignore[attr-defined]
        counts.append(len((prompts.unfence(requests[0].messages[-1].content) or {})["passages"]))
    assert counts[1] < counts[0]
