"""A rival answer is checked only if several rollouts agree on it, and rejects the draft only if it fits."""

import pytest

from pipeline import prompts
from pipeline.loop.checks.alternatives import check_agreed_answer, find_agreeing_rollouts
from pipeline.loop.checks.base import CheckResult
from pipeline.types import Call, Cause, Feedback, Label, Rollout, Stop, Trajectory, Verdict
from tests.graph_drafts import changed
from tests.loop.cast import HOLM, TOWN
from tests.loop.checks.reading import DRAFT, make_context
from tests.scripted_llm import ScriptedLLM

FITS, FITS_NOT = '{"reason": "all stated", "fits": true}', '{"reason": "not stated", "fits": false}'


def make_rollouts(*answers: str) -> list[tuple[Rollout, Verdict]]:
    """Make rollouts that each read two passages; the n-th took n more steps."""
    pairs = []
    for n, answer in enumerate(answers):
        calls = [Call(id=f"c{i}", tool="search", argument="q", passage_ids=(HOLM.id, TOWN.id)) for i in range(n + 1)]
        trajectory = Trajectory(messages=(), calls=tuple(calls), stop=Stop.ANSWERED)
        right = answer == DRAFT.answer
        verdict = Verdict(
            sample=n, right=right, supported=True, method="exact", steps=n + 1, calls=n + 1, hit_step=None, found_at=()
        )
        pairs.append((Rollout(sample=n, trajectory=trajectory, answer=answer), verdict))
    return pairs


async def ask(model: ScriptedLLM, *answers: str, feedback: Feedback | None = None) -> CheckResult:
    return await check_agreed_answer(DRAFT, make_rollouts(*answers), feedback, make_context(model, ("alternatives",)))


async def test_a_rival_that_fits_makes_the_question_ambiguous() -> None:
    model = ScriptedLLM([FITS])
    answer = await ask(model, "1641", "Around 1660", "around 1660", "")
    assert [(f.check, f.cause, f.hops) for f in answer.findings] == [("alternatives", Cause.AMBIGUOUS, (2,))]
    assert "2 of 4" in answer.findings[0].detail
    inputs = prompts.unfence(model.requests[0].messages[-1].content) or {}
    assert inputs["answer"] == "Around 1660"
    assert [passage["title"] for passage in inputs["passages"]] == ["Ada Holm", "Vessby"]
    assert "1641" not in str({**inputs, "passages": ()}), "the known answer would lead it"


async def test_spellings_of_one_answer_agree() -> None:
    rollouts = make_rollouts("1,200 km", "1641", "1200 kilometres")
    assert [rollout.answer for rollout in find_agreeing_rollouts(DRAFT, rollouts)] == ["1,200 km", "1200 kilometres"]
    answer = await ask(ScriptedLLM([FITS]), "1,200 km", "1641", "1200 kilometres")
    assert answer.findings[0].detail.startswith("2 of 3 solvers settled on '1,200 km', the key says '1641', and")


async def test_a_rival_that_does_not_fit_is_only_recorded() -> None:
    answer = await ask(ScriptedLLM([FITS_NOT]), "1660", "1660")
    assert (answer.findings, answer.probes[0].right, answer.probes[0].answers) == ((), 0, ("1660",))


@pytest.mark.parametrize("answers", [(), ("", ""), ("1641", "1641"), ("1660", "1661", "1662", "1641")])
async def test_without_agreement_no_reader_is_asked(answers: tuple[str, ...]) -> None:
    assert await ask(ScriptedLLM([]), *answers) == CheckResult()


async def test_a_reader_is_asked_about_an_unsolved_draft_and_not_about_one_that_is_too_easy() -> None:
    easy = Feedback(label=Label.TOO_EASY, cause=Cause.CO_LOCATED, message="")
    unsolved = Feedback(label=Label.UNSOLVED, cause=Cause.SOLVER_ERROR, message="")
    assert await ask(ScriptedLLM([]), "1660", "1660", feedback=easy) == CheckResult()
    assert (await ask(ScriptedLLM([FITS]), "1660", "1660", feedback=unsolved)).findings


async def test_the_answer_in_another_form_is_no_rival() -> None:
    draft = changed(DRAFT, answer="May 6, 2008", answer_aliases=("12 km",))
    pairs = make_rollouts("6 May 2008", "6 May 2008", "12 kilometres", "12 kilometres")
    assert find_agreeing_rollouts(draft, pairs) == []
    assert (
        len(find_agreeing_rollouts(changed(DRAFT, answer="$5 million"), make_rollouts("€5 million", "€5 million"))) == 2
    )
    assert (
        await check_agreed_answer(draft, pairs, None, make_context(ScriptedLLM([]), ("alternatives",))) == CheckResult()
    )
