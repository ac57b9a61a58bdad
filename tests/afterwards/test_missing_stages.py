"""If an optional stage loses a rollout, the pair stays, the gap is recorded, and it is filled once."""

import asyncio
from pathlib import Path

import orjson
import pytest

from pipeline import prompts
from pipeline.afterwards.missing_stages import Completing, complete
from pipeline.config import RunConfig, build
from pipeline.context import RunContext
from pipeline.errors import DeadlineExceeded, ProviderError
from pipeline.llm.base import Completion, Request
from pipeline.llm.cached import Cached
from pipeline.loop.episode import run_seed
from pipeline.run import publish, resume
from pipeline.store.amendments import Completions
from pipeline.store.cache import Cache
from pipeline.types import NOT_FOUND, Message, Record, Status
from tests.distractors.test_accepted_pair import EDITION
from tests.loop.cast import LINEAGE, SHELF, Cast, call, make_seed
from tests.loop.twins import SETS as TWINS
from tests.loop.twins import Playing
from tests.scripted_llm import ScriptedLLM
from tests.seed_tables import figures

SETS = (
    "strategy='sage'", "difficulty.adversarial=false",
    "retrieval.k=1", "loop.rollouts=2", 'distractors.kinds=["doppelganger"]',
    "distractors.tries=2", "distractors.rollouts=2", "teacher.rollouts=2",
)  # fmt: skip
TEACHER = "Passages may be wrong, out of date"


class Faulty(Cast):
    """As its parent, and a judge is asked about every answer of one role, which it cannot be read on while `bad`."""

    def __init__(self, role: str) -> None:
        super().__init__(lambda question, sample: 3)
        self.role, self.bad = role, True
        self.reads = lambda passages: "1641" if passages >= 3 else ""

    def __call__(self, request: Request) -> Message:
        if request.output and request.output.name == "write":
            return Message(role="assistant", content=orjson.dumps({"passages": [EDITION]}).decode())
        if request.output and request.output.name == "verdict":
            return Message(role="assistant", content="hm" if self.bad else '{"correct": true}')
        message = super().__call__(request)
        if message.tool_calls and message.tool_calls[0].name == "answer" and self._mine(request):
            return call("answer", answer="the year 1641")
        return message

    def _mine(self, request: Request) -> bool:
        taught = TEACHER in request.messages[0].content
        return self.role == ("teacher" if taught else "distractors" if request.sample >= 4 else "")


def config() -> RunConfig:
    return build(sets=list(SETS))


def context(llm: object) -> RunContext:
    return RunContext(config=config(), llm=llm, retriever=SHELF, lineage=LINEAGE)  # type: ignore[arg-type]


def run_complete(record: Record, llm: object, folder: Path) -> Completing:
    return asyncio.run(complete([record], context(llm), folder, lambda ended: None))


@pytest.mark.parametrize(
    ("role", "missing", "pairs", "teacher_rollouts"),
    [("distractors", ("distractors",), 0, 2), ("teacher", ("teacher",), 2, 0)],
)
def test_an_unreadable_judge_costs_the_rollout_but_not_the_pair(
    tmp_path: Path, role: str, missing: tuple[str, ...], pairs: int, teacher_rollouts: int
) -> None:
    cast, cache = Faulty(role), Cache(tmp_path / "cache.sqlite")
    record = asyncio.run(run_seed(make_seed(), context(Cached(ScriptedLLM(cast), cache))))
    assert (record.status, record.reason, record.missing) == (Status.ACCEPTED, "", missing)
    assert record.distractor_eval is not None
    assert (len(record.distractor_eval.without_distractors), len(record.teacher_rollouts)) == (pairs, teacher_rollouts)
    assert [(count.name, count.count) for count in figures([record]).missing] == [(missing[0], 1)]

    # The judge cannot be read yet: that attempt stands, and the next one asks afresh.
    assert run_complete(record, Cached(ScriptedLLM(cast), cache), tmp_path).missing == {missing[0]: 1}
    cast.bad = False
    second_model = ScriptedLLM(cast)
    outcome = run_complete(record, Cached(second_model, cache), tmp_path)
    assert (outcome.pairs, outcome.completed, outcome.missing) == (1, 1, {})
    assert {request.output.name for request in second_model.requests if request.output} == {"verdict"}
    assert len(second_model.requests) == len([r for r in second_model.requests if r.output]), (
        "rollouts that were paid for are kept"
    )

    joined = Completions(tmp_path).join(record)
    assert joined.missing == ()
    assert joined.distractor_eval is not None
    assert (
        [r.sample for r in joined.distractor_eval.without_distractors]
        == [r.sample for r in joined.distractor_eval.with_distractors]
        == [4, 5]
    )
    assert [graded.rollout.sample for graded in joined.teacher_rollouts] == [0, 1]
    assert (joined.confirmation, joined.rounds, joined.difficulty) == (record.confirmation, record.rounds, 3)
    assert run_complete(record, ScriptedLLM([]), tmp_path).pairs == 0, "and nothing is asked twice"


def test_a_pair_that_a_gate_dropped_is_left_alone(tmp_path: Path) -> None:
    record = asyncio.run(run_seed(make_seed(), context(ScriptedLLM(Faulty("teacher")))))
    gated = record.model_copy(update={"status": Status.REJECTED, "reason": "gate:duplicate"})
    assert gated.missing == ("teacher",)
    assert run_complete(gated, ScriptedLLM([]), tmp_path).pairs == 0


def test_a_timed_out_teacher_costs_no_pair() -> None:
    cast = Faulty("nobody")

    class Slow(ScriptedLLM):
        async def complete(self, request: Request) -> Completion:
            if TEACHER in request.messages[0].content:
                await asyncio.sleep(5)
            return await super().complete(request)

    settings = build(sets=[*SETS, "runtime.rollout_seconds=0.2"])
    slow = RunContext(config=settings, llm=Slow(cast), retriever=SHELF, lineage=LINEAGE)
    record = asyncio.run(run_seed(make_seed(), slow))
    assert (record.status, record.missing, record.teacher_rollouts) == (Status.ACCEPTED, ("teacher",), ())
    assert record.distractor_eval is not None
    assert len(record.distractor_eval.with_distractors) == 2


def test_an_endpoint_that_fails_there_still_requeues_the_seed() -> None:
    cast = Faulty("nobody")

    def down(request: Request) -> Message | Exception:
        return ProviderError("down") if TEACHER in request.messages[0].content else cast(request)

    with pytest.raises(ProviderError, match="down"):
        asyncio.run(run_seed(make_seed(), context(ScriptedLLM(down))))


def test_finished_completions_are_kept_when_the_endpoint_fails(tmp_path: Path) -> None:
    cast = Faulty("teacher")
    record = asyncio.run(run_seed(make_seed(), context(ScriptedLLM(cast))))
    records = [record.model_copy(update={"key": f"{n:02d}" * 32}) for n in range(3)]
    cast.bad = False

    class Breaking(ScriptedLLM):
        async def complete(self, request: Request) -> Completion:
            if len(self.requests) >= 12:
                raise ProviderError("down")
            return await super().complete(request)

    with pytest.raises(ProviderError, match="down"):
        asyncio.run(complete(records, context(Breaking(cast)), tmp_path, lambda ended: None))
    completions = Completions(tmp_path)
    finished = [copied for copied in records if not completions.join(copied).missing]
    assert 0 < len(finished) < 3
    outcome = asyncio.run(complete(records, context(ScriptedLLM(cast)), tmp_path, lambda ended: None))
    assert (outcome.pairs, outcome.completed) == (3 - len(finished), 3 - len(finished))


def test_damaged_completions_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    resume.begin(tmp_path, build(), "f" * 64)
    (tmp_path / "completed").mkdir()
    (tmp_path / "completed" / "stages.jsonl").write_bytes(b'{"key": "0"}\n')
    assert publish.check_lost_seeds(tmp_path) == 0
    assert "and /completed, which are left out: 1" in caplog.text


@pytest.mark.parametrize("role", ["absent", "read", "weigh"])
def test_a_twin_with_an_unreadable_reader_is_completed_without_a_second_rollout(tmp_path: Path, role: str) -> None:
    class Unread(Playing):
        bad = True

        def __call__(self, request: Request) -> Message:
            is_role = request.output and request.output.name == role
            mine = is_role and "music" in (prompts.unfence(request.messages[-1].content) or {}).get("question", "")
            return Message(role="assistant", content="hm") if mine and self.bad else super().__call__(request)

    cast, cache = Unread(), Cache(tmp_path / "cache.sqlite")
    cast.answers = lambda sample: ["1641", NOT_FOUND][sample % 2]
    record = asyncio.run(run_seed(make_seed(), make_twin_context(Cached(ScriptedLLM(cast), cache))))
    assert (record.status, record.missing) == (Status.ACCEPTED, ("unanswerable",))
    assert record.twin is not None
    assert record.twin.pending is not None

    cast.bad, second_model = False, ScriptedLLM(cast)
    outcome = asyncio.run(
        complete([record], make_twin_context(Cached(second_model, cache)), tmp_path, lambda ended: None)
    )
    assert (outcome.pairs, outcome.completed, outcome.missing) == (1, 1, {})
    joined = Completions(tmp_path).join(record)
    assert joined.twin is not None
    assert joined.twin.used is not None
    assert [rollout.sample for rollout in joined.twin.used.rollouts] == [0, 1]
    assert len(joined.twin.tries) == 1, "the writer is not asked again"
    assert "change" not in [r.output.name for r in second_model.requests if r.output]
    if role == "weigh":
        assert all(r.output for r in second_model.requests), "rollouts that were paid for are kept"


def make_twin_context(llm: object) -> RunContext:
    return RunContext(config=build(sets=list(TWINS)), llm=llm, retriever=SHELF, lineage=LINEAGE)  # type: ignore[arg-type]


def test_a_twin_with_a_timed_out_rollout_is_completed(tmp_path: Path) -> None:
    class Slow(ScriptedLLM):
        slow = True

        async def complete(self, request: Request) -> Completion:
            if self.slow and request.tools and "music" in request.messages[1].content and request.sample == 1:
                raise DeadlineExceeded("slow")
            return await super().complete(request)

    model = Slow(Playing())
    record = asyncio.run(run_seed(make_seed(), make_twin_context(model)))
    assert record.missing == ("unanswerable",)
    assert record.twin is not None
    assert [rollout.sample for attempt in record.twin.tries for rollout in attempt.rollouts] == [0]
    model.slow = False
    outcome = asyncio.run(complete([record], make_twin_context(model), tmp_path, lambda ended: None))
    assert outcome.missing == {}
    joined = Completions(tmp_path).join(record)
    assert joined.twin is not None
    assert joined.twin.used is not None
    assert [rollout.sample for rollout in joined.twin.used.rollouts] == [0, 1]
