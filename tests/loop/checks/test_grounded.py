"""A right answer counts for or against a draft only if passages state everything that the reader needed."""

from collections.abc import Callable, Iterable, Sequence

import orjson
import pytest

from pipeline import prompts
from pipeline.llm.base import Request
from pipeline.loop.checks.base import CheckResult
from pipeline.types import Cause, Round, Stop, Trajectory
from tests.loop.cast import FILM, HOLM, TOWN
from tests.loop.checks.reading import DRAFT, list_causes, make_context, run_checks
from tests.scripted_llm import ScriptedLLM

FACTS = {
    "Ada Holm directed Lantern Bay.": FILM.shown_id,
    "Ada Holm came from Vessby.": HOLM.shown_id,
    "Vessby was founded in 1641.": TOWN.shown_id,
}
SECOND = list(FACTS)[1]
Cites = Callable[[Sequence[str], int], Iterable[str]]
"""The facts that a reader cites, given the ids of the passages that it sees and the index of its sample."""


def cite_shown(shown: Sequence[str], sample: int) -> Iterable[str]:
    return [fact for fact, passage in FACTS.items() if passage in shown]


def omit_second(shown: Sequence[str], sample: int) -> Iterable[str]:
    """Cite no passage for the fact that the reader knows by heart."""
    return [fact for fact in cite_shown(shown, sample) if fact != SECOND]


async def read(check: str, cites: Cites, target: int = 3, answer: str = "1641", **values: object) -> CheckResult:
    """Run the check with a reader that always gives this answer, whatever it cites."""

    def reply(request: Request) -> str:
        if request.output and request.output.name == "verdict":
            return '{"correct": false}'
        shown = [p["id"] for p in (prompts.unfence(request.messages[-1].content) or {})["passages"]]
        facts_cited = cites(shown, request.sample // 3)
        facts = [{"fact": fact, "passage": FACTS[fact] if fact in facts_cited else ""} for fact in FACTS]
        return orjson.dumps({"facts": facts, "answer": answer}).decode()

    return await run_checks(DRAFT, target, make_context(ScriptedLLM(reply), (check,), **values))


async def test_a_right_answer_from_memory_does_not_prove_that_the_evidence_supports_the_question() -> None:
    outcome = await read("oracle", omit_second)
    assert list_causes(outcome) == [("oracle", Cause.GENERATOR_ERROR)]
    assert outcome.findings[0].detail.startswith(
        f"the reader answered, but no passage of the draft states: '{SECOND}'."
    )
    assert (outcome.probes[0].tries, outcome.probes[0].right) == (3, 3), "the reader is asked again before a rejection"
    second = await read("oracle", lambda shown, sample: cite_shown(shown, sample) if sample else [])
    assert second.findings == ()
    assert (second.probes[0].tries, second.probes[0].uncited) == (2, ())


async def test_a_wrong_sample_does_not_ground_a_right_one() -> None:
    recalled = orjson.dumps({"facts": [{"fact": SECOND, "passage": ""}], "answer": "1641"}).decode()
    wrong = '{"facts": [], "answer": "1650"}'
    for tries in ([recalled, wrong, wrong], [wrong, recalled, wrong]):
        model = ScriptedLLM(tries)
        (finding,) = (await run_checks(DRAFT, 3, make_context(model, ("oracle",)))).findings
        assert finding.detail.startswith(f"the reader answered, but no passage of the draft states: '{SECOND}'.")


@pytest.mark.parametrize("answer", ["", "1650"])
async def test_what_a_reader_missed_is_named_with_its_answer(answer: str) -> None:
    (finding,) = (await read("oracle", omit_second, answer=answer)).findings
    given_answer = f"'{answer}'" if answer else "nothing"
    missing = f"no passage of the draft states: '{SECOND}'"
    assert finding.detail.startswith(f"with all its passages in hand the answer was {given_answer}; {missing}.")


async def test_a_draft_is_answerable_only_if_its_passages_answer_it() -> None:
    agent = Trajectory(messages=(), calls=(), stop=Stop.ANSWERED)
    for cites, answerable in ((cite_shown, True), (omit_second, False)):
        probes = (await read("oracle", cites)).probes
        assert Round(index=0, agent=agent, draft=DRAFT, probes=probes).answerable is answerable
