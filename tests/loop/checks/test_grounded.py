"""A right answer counts for or against a draft only where passages state all that the reader needed for it."""

from collections.abc import Callable, Iterable, Sequence

import orjson
import pytest

from pipeline import prompts
from pipeline.llm.base import Request
from pipeline.loop.checks.base import CheckResult
from pipeline.types import Cause, Round, Stop, Trajectory
from tests.loop.checks.test_readings import DRAFT, context, examined, told
from tests.loop.test_episode import FILM, HOLM, TOWN
from tests.scripted import ScriptedLLM

FACTS = {
    "Ada Holm directed Lantern Bay.": FILM.shown_id,
    "Ada Holm came from Vessby.": HOLM.shown_id,
    "Vessby was founded in 1641.": TOWN.shown_id,
}
SECOND = list(FACTS)[1]
Cites = Callable[[Sequence[str], int], Iterable[str]]
"""The facts that a reader cites, told the ids of the passages that it is shown and the index of its try."""


def honest(shown: Sequence[str], sample: int) -> Iterable[str]:
    return [fact for fact, passage in FACTS.items() if passage in shown]


def by_memory(shown: Sequence[str], sample: int) -> Iterable[str]:
    """What it knows by heart it looks up in no passage."""
    return [fact for fact in honest(shown, sample) if fact != SECOND]


async def read(check: str, cites: Cites, target: int = 3, answer: str = "1641", **values: object) -> CheckResult:
    """The check with a reader that always gives this answer, whatever it cites."""

    def say(request: Request) -> str:
        if request.output and request.output.name == "verdict":
            return '{"correct": false}'
        shown = [p["id"] for p in (prompts.unfence(request.messages[-1].content) or {})["passages"]]
        cited = cites(shown, request.sample // 3)
        facts = [{"fact": fact, "passage": FACTS[fact] if fact in cited else ""} for fact in FACTS]
        return orjson.dumps({"facts": facts, "answer": answer}).decode()

    return await examined(DRAFT, target, context(ScriptedLLM(say), (check,), **values))


async def test_a_right_answer_from_memory_does_not_prove_that_the_evidence_bears_the_question_out() -> None:
    found = await read("oracle", by_memory)
    assert told(found) == [("oracle", Cause.GENERATOR_ERROR)]
    assert found.findings[0].detail.startswith(f"the reader answered, but no passage of the draft states: '{SECOND}'.")
    assert (found.probes[0].tries, found.probes[0].right) == (3, 3), "it is asked again before that is said"
    again = await read("oracle", lambda shown, sample: honest(shown, sample) if sample else [])
    assert again.findings == ()
    assert (again.probes[0].tries, again.probes[0].uncited) == (2, ())


async def test_a_wrong_try_does_not_ground_a_right_one() -> None:
    recalled = orjson.dumps({"facts": [{"fact": SECOND, "passage": ""}], "answer": "1641"}).decode()
    wrong = '{"facts": [], "answer": "1650"}'
    for tries in ([recalled, wrong, wrong], [wrong, recalled, wrong]):
        model = ScriptedLLM(tries)
        (finding,) = (await examined(DRAFT, 3, context(model, ("oracle",)))).findings
        assert finding.detail.startswith(f"the reader answered, but no passage of the draft states: '{SECOND}'.")


@pytest.mark.parametrize("answer", ["", "1650"])
async def test_what_a_reader_missed_is_named_with_its_answer(answer: str) -> None:
    (finding,) = (await read("oracle", by_memory, answer=answer)).findings
    said = f"'{answer}'" if answer else "nothing"
    missed = f"no passage of the draft states: '{SECOND}'"
    assert finding.detail.startswith(f"with all its passages in hand the answer was {said}; {missed}.")


async def test_a_draft_is_answerable_only_where_its_passages_answer_it() -> None:
    agent = Trajectory(messages=(), calls=(), stop=Stop.ANSWERED)
    for cites, answerable in ((honest, True), (by_memory, False)):
        probes = (await read("oracle", cites)).probes
        assert Round(index=0, agent=agent, draft=DRAFT, probes=probes).answerable is answerable
