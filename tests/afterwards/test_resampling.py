"""A branching method over a real run of `tiny` keeps its call limit, is deterministic, and makes each fork once."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline import registry
from pipeline.afterwards.resampling import branch
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.corpus.seed_passages import quality
from pipeline.corpus.train_eval_split import side
from pipeline.demo.role_dispatch import DemoModel
from pipeline.errors import ProviderError, RequestRefused
from pipeline.exports.branching import base, cso
from pipeline.llm.base import LLM, Completion, Request
from pipeline.llm.ledger import Counted
from pipeline.loop import episode
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.run.attempts import NAME, Attempt
from pipeline.store.amendments import Forks
from pipeline.types import Record, Seed, Status, ToolCall, sha256
from tests.run.fakes import LINEAGE

ENOUGH = 4
LOOP = {"rounds": 0, "audit": False, "rollouts": 4}
WRONG = ToolCall(id="0", name="answer", arguments='{"answer": "nobody at all"}')


class Model:
    """The embedded one, whose every other rollout of a run ends with a wrong answer; counts its calls and may give up
    after some."""

    def __init__(self, least: float = float("inf")) -> None:
        self.calls, self.least = 0, least

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        if self.calls > self.least:
            raise ConnectionError("gone")
        await asyncio.sleep(0)
        completion = await DemoModel().complete(request)
        if request.sample % 2 and request.sample < 2 * LOOP["rollouts"]:
            calls = tuple(WRONG if call.name == WRONG.name else call for call in completion.message.tool_calls)
            return completion.model_copy(update={"message": replace(completion.message, tool_calls=calls)})
        return completion


@pytest.fixture(scope="module")
def context(tiny) -> RunContext:
    return RunContext(build(values={"loop": LOOP, "steps": (1, 2)}), Model(), Bm25Retriever(tiny), LINEAGE)


def with_model(context: RunContext, model: LLM, concurrency: int = 8) -> RunContext:
    runtime = context.config.runtime.model_copy(update={"concurrency": concurrency})
    return RunContext(context.config.model_copy(update={"runtime": runtime}), model, context.retriever, context.lineage)


@pytest.fixture(scope="module")
def records(tiny, context) -> list[Record]:
    """Return accepted records with a failed rollout, and a rejected one that has to be skipped."""
    chosen: list[Record] = []
    for passage in (p for p in tiny.passages if quality(p) is None):
        key, split = sha256(passage.id), side(passage.document_id)
        seed = Seed(key=key, passage=passage, draw=0, side=split, target_steps=1)
        record = asyncio.run(episode.run_seed(seed, context))
        if record.status is Status.ACCEPTED and (list(cso.states(record)) or len(chosen) < 1):
            chosen.append(record)
        if len(chosen) == ENOUGH:
            return [chosen[0].model_copy(update={"status": Status.REJECTED, "key": "r"}), *chosen]
    return chosen


def run(folder: Path, context: RunContext, records: list[Record], method: str = "eef", calls: int = 10_000):
    return asyncio.run(branch(method, records, context, folder, calls, lambda forks, used: None))


def lines(folder: Path) -> set[bytes]:
    return {line for path in (folder / "branches").glob("*.jsonl") for line in path.read_bytes().splitlines()}


@pytest.mark.parametrize("method", registry.names("branching"))
def test_every_state_of_every_accepted_record_is_asked_about(tmp_path, context, records, method):
    outcome = run(tmp_path, context, records, method)
    states = [(r.key, s) for r in records if r.status is Status.ACCEPTED for s in base.load(method).states(r)]
    forks = [fork for r in map(Forks(tmp_path).join, records) for fork in r.forks]
    assert outcome.complete
    assert outcome.forks == len(forks) == len(states) > 1
    assert outcome.calls == sum(fork.calls for fork in forks) > 0
    assert {(f.key, (f.source, f.prefix)) for f in forks} == {(key, tuple(state)) for key, state in states}
    first_sample = 2 * context.config.loop.rollouts
    for fork in forks:
        assert [b.rollout.sample for b in fork.branches] == [
            first_sample + n for n in range(base.load(method).attempts)
        ]


def test_the_forks_are_the_same_at_any_concurrency(tmp_path, context, records):
    fork_lines = []
    for concurrency in (1, 8):
        run(tmp_path / str(concurrency), with_model(context, Model(), concurrency), records)
        fork_lines.append(lines(tmp_path / str(concurrency)))
    assert fork_lines[0] == fork_lines[1]


def test_it_begins_nothing_beyond_its_calls_and_goes_on_with_more(tmp_path, context, records):
    unlimited = run(tmp_path / "whole", context, records)
    limited = run(tmp_path / "few", context, records, calls=20)
    largest = max(fork.calls for r in map(Forks(tmp_path / "whole").join, records) for fork in r.forks)
    assert 20 <= limited.calls < 20 + largest
    assert not limited.complete
    assert run(tmp_path / "few", context, records) == unlimited
    assert lines(tmp_path / "few") == lines(tmp_path / "whole")


def test_what_is_kept_is_not_asked_about_again(tmp_path, context, records):
    done, silent = run(tmp_path, context, records), Model(least=0)
    assert run(tmp_path, with_model(context, silent), records) == done
    assert silent.calls == 0


def test_after_a_break_the_rest_is_asked_about_and_the_whole_is_the_same(tmp_path, context, records):
    run(tmp_path / "whole", context, records)
    with pytest.raises(ConnectionError):
        run(tmp_path / "broken", with_model(context, Model(least=30), 2), records)
    finished = lines(tmp_path / "broken")
    assert finished < lines(tmp_path / "whole")
    path = tmp_path / "broken" / "branches" / "eef.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    run(tmp_path / "broken", context, records)
    assert lines(tmp_path / "broken") == lines(tmp_path / "whole")


def test_a_refused_request_makes_no_fork(tmp_path, context, records):
    class Refusing(Model):
        async def complete(self, request: Request) -> Completion:
            if request.sample >= 2 * LOOP["rollouts"]:
                raise RequestRefused("must not be empty")
            return await super().complete(request)

    with pytest.raises(ProviderError, match="must not be empty; repeat the command"):
        run(tmp_path, with_model(context, Refusing()), records)
    assert not lines(tmp_path)


def test_calls_are_noted_with_the_attempts(tmp_path, context, records):
    run(tmp_path, with_model(context, Counted(Model())), records)
    noted = (tmp_path / NAME).read_text().splitlines()
    assert len(noted) == len(lines(tmp_path))
    assert all('"forked"' in line for line in noted)
    spent = Attempt.model_validate_json(noted[0]).spent
    assert set(spent.by_stage) == {"branching"}


def test_controls_are_only_made_where_a_fresh_sample_was_correct(tmp_path, context, records):
    run(tmp_path, context, records, "cso")
    forks = [fork for r in map(Forks(tmp_path).join, records) for fork in r.forks]
    assert all(bool(fork.controls) == bool(fork.solved) for fork in forks)
