"""Recorded answers of a strong model in every role, replayed through the parser, the judge's rules and the readers."""

from collections import Counter
from collections.abc import Iterator

import orjson

from pipeline.agents import tools
from pipeline.agents.grading import build_verdict
from pipeline.agents.judge import grade
from pipeline.agents.parse import parse
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.examine import examine
from pipeline.types import Data, Draft, Record, Trajectory
from tests.golden.recording import HOME, read_packed_lines
from tests.golden.strong import convert
from tests.loop.cast import LINEAGE
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

RECORDS = [
    Record.model_validate(convert(orjson.loads(line)["record"]))
    for line in read_packed_lines(HOME / "strong-model.jsonl.zst")
]
SHAPES: dict[str, type[Data]] = {
    "search": tools.SearchArguments,
    "open": tools.OpenArguments,
    "answer": tools.AnswerArguments,
}
READER = {"provider": "openai", "model": "read"}


def list_trajectories() -> Iterator[Trajectory]:
    for record in RECORDS:
        for past in record.rounds:
            yield past.agent
        yield from (rollout.trajectory for rollout, _ in record.graded)


def make_shelf(draft: Draft) -> Shelf:
    """Make a shelf of the cited passages, as far as the draft quotes them."""
    return Shelf(*(passage(hop.passage_id.rpartition("#")[0], hop.title, hop.quote,
                           int(hop.passage_id.rpartition("#")[2])) for hop in draft.hops))  # fmt: skip


def make_context(draft: Draft, llm: ScriptedLLM, run: tuple[str, ...] = ()) -> RunContext:
    config = build(values={"checks": {"enabled": run, "tries": 1}, "models": {"default": READER}})
    return RunContext(config, llm, make_shelf(draft), LINEAGE)


def test_every_call_of_its_agents_is_parsed() -> None:
    calls = [call for t in list_trajectories() for message in t.messages for call in message.tool_calls]
    parsed = Counter(call.name for call in calls if call.name in SHAPES and parse(SHAPES[call.name], call.arguments))
    assert min(parsed["search"], parsed["answer"]) >= 12


async def test_its_rollouts_are_graded_as_they_were() -> None:
    methods: Counter[str] = Counter()
    for record in RECORDS:
        draft = record.draft
        assert draft is not None
        for rollout, before in record.graded:
            model = ScriptedLLM([orjson.dumps({"correct": before.right}).decode()] * 2)
            now = build_verdict(draft, rollout, await grade(draft, rollout.answer, make_context(draft, model)))
            assert (now.right, now.supported, now.method) == (before.right, before.supported, before.method)
            assert (now.steps, now.calls, now.found_at) == (before.steps, before.calls, before.found_at)
            methods[now.method] += 1
    assert methods["exact"] >= 12


async def test_recorded_answers_of_readers_give_the_recorded_probes_and_no_finding() -> None:
    checked: Counter[str] = Counter()
    for past in (past for record in RECORDS for past in record.rounds if past.draft and past.probes):
        draft = past.draft
        assert draft is not None
        recorded = [probe for probe in past.probes if probe.check in ("closed_book", "oracle")]
        answers = iter([answer for probe in recorded for answer in probe.answers])

        def reply(request: Request, answers: Iterator[str] = answers) -> str:
            if request.output and request.output.name == "verdict":
                return '{"correct": false}'
            if request.output and request.output.name == "weigh":
                return '{"fits": false}'
            return orjson.dumps({"answer": next(answers)}).decode()

        run = tuple(dict.fromkeys(probe.check for probe in recorded))
        result = await examine(draft, 2, make_context(draft, ScriptedLLM(reply), run), review=CheckResult())
        probes = [p for p in result.probes if p.check != "contested"]
        assert [(p.check, p.answers, p.right) for p in probes] == [(p.check, p.answers, p.right) for p in recorded]
        assert result.findings == ()
        checked.update(run)
    assert checked["closed_book"] > checked["oracle"] >= len(RECORDS)
