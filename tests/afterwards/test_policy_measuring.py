"""Another solver's measurements of a run's questions are stored as they end, made once, and joined to the records."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.afterwards.policy_measuring import Budgets, Remeasuring, file_name, pool, recast, remeasure
from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig, build
from pipeline.config.exports import GateConfig
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.errors import BudgetExceeded, ProviderError, RequestRefused, UsageError
from pipeline.exports.trajectories.cleaning import correct_rollouts
from pipeline.exports.views.base import is_exported, provenance
from pipeline.exports.views.qa import assessments
from pipeline.gates import Drop, mark_dropped
from pipeline.llm.base import LLM, Completion, Request
from pipeline.llm.budget import Budget, Budgeted
from pipeline.llm.ledger import Counted, Spent
from pipeline.loop.policies import FIRST_SAMPLE, compute_identity
from pipeline.run import attempts
from pipeline.run.plan import judge_records
from pipeline.store.amendments import Remeasurements, build_join
from pipeline.store.journal import Journal
from pipeline.types import Message, Record, Status, Usage
from pipeline.types.twin_record import as_record
from tests.loop import twins
from tests.loop.cast import CHECKS, LINEAGE, SHELF, Cast, run
from tests.scripted_llm import ScriptedLLM
from tests.seed_tables import figures

STRONG = ModelConfig.model_validate({"provider": "openai", "model": "strong"})
WEAK = Cast(lambda question, sample: 0)
BEYOND = run(WEAK, CHECKS, "loop.rounds=0")
ACCEPTED = run(Cast(lambda question, sample: 3)).model_copy(update={"key": "cd" * 32})
BROKEN = run(Cast(lambda question, sample: 0), "loop.rounds=0", "checks.enabled=[]").model_copy(
    update={"key": "ef" * 32}
)


def config(model: ModelConfig = STRONG) -> RunConfig:
    return recast(build(sets=["retrieval.k=1"]), "mine", model)


def context(llm: LLM, model: ModelConfig = STRONG) -> RunContext:
    return RunContext(config(model), llm, SHELF, LINEAGE)


def run_remeasure(folder: Path, llm: LLM, *records: Record, model: ModelConfig = STRONG) -> Remeasuring:
    records = records or (BEYOND, ACCEPTED, BROKEN)
    return asyncio.run(remeasure("mine", records, context(llm, model), folder, lambda ended: None))


def make_strong_solver(*, steps: int = 3) -> ScriptedLLM:
    return ScriptedLLM(Cast(lambda question, sample: steps))


def test_what_was_rejected_for_other_reasons_is_left_alone() -> None:
    assert (BEYOND.reason, ACCEPTED.status) == ("beyond_solver", Status.ACCEPTED)
    assert pool([BEYOND, ACCEPTED, BROKEN]) == [ACCEPTED, BEYOND]


def test_a_stronger_solver_opens_what_was_beyond_the_first(tmp_path: Path) -> None:
    llm = make_strong_solver()
    summary = run_remeasure(tmp_path, llm)
    assert (summary.model, summary.questions, summary.solved, summary.solve_rate, summary.opened) == (
        "strong",
        2,
        2,
        1.0,
        1,
    )
    assert {request.model for request in llm.requests} == {"strong"}
    assert {request.sample for request in llm.requests if request.tools} == set(range(FIRST_SAMPLE, FIRST_SAMPLE + 4))
    opened, accepted, broken = map(Remeasurements(tmp_path).join, (BEYOND, ACCEPTED, BROKEN))
    assert [(a.policy, a.model, a.k, a.rollouts, a.solve_rate, a.least_steps) for a in assessments(opened)] == [
        ("", "embedded", 1, 4, 0.0, None),
        ("mine", "strong", 1, 4, 1.0, 3),
    ]
    assert (opened.status, opened.difficulty, opened.lineage.model) == (Status.REJECTED, 3, "scripted + strong")
    assert not is_exported(opened)
    assert is_exported(opened, ("beyond_solver",))
    assert len(list(correct_rollouts(opened))) == 4
    assert accepted == ACCEPTED.model_copy(update={"measurements": accepted.measurements})
    assert len(accepted.measurements) == 1
    assert broken == BROKEN


def test_a_question_is_what_the_solver_that_opened_it_allows_and_shows(tmp_path: Path) -> None:
    run_remeasure(
        tmp_path, make_strong_solver(), model=STRONG.model_copy(update={"trainable": False, "reasoning": "keep"})
    )
    opened, accepted = map(Remeasurements(tmp_path).join, (BEYOND, ACCEPTED))
    assert [provenance(record, [])["trainable"] for record in (BEYOND, opened, accepted)] == [True, False, True]
    keeps_thoughts = [
        environment(config()).of(record).keeps_thoughts("solver") for record in (BEYOND, opened, accepted)
    ]
    assert keeps_thoughts == [False, True, False]


@pytest.mark.parametrize("steps", [2, 0])
def test_one_that_finds_a_shortcut_or_nothing_opens_nothing(tmp_path: Path, steps: int) -> None:
    assert run_remeasure(tmp_path, make_strong_solver(steps=steps), BEYOND).opened == 0
    record = Remeasurements(tmp_path).join(BEYOND)
    assert not is_exported(record, ("beyond_solver",))
    assert record.find_assessment("mine").least_steps == (steps or None)


def test_what_it_will_take_is_said_before_it_is_paid_for(tmp_path: Path) -> None:
    model = STRONG.model_copy(update={"base_urls": ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1")})
    settings = context(make_strong_solver(), model)
    settings = replace(settings, config=settings.config.with_runtime(out=tmp_path))
    used = Usage(calls=3, prompt_tokens=9_000, completion_tokens=90, cached_tokens=1_000)
    rollouts = [
        rollout.model_copy(update={"trajectory": rollout.trajectory.model_copy(update={"usage": used})})
        for rollout in ACCEPTED.rounds[-1].rollouts
    ]
    measured = ACCEPTED.rounds[-1].model_copy(update={"rollouts": tuple(rollouts)})
    record, messages = ACCEPTED.model_copy(update={"rounds": (*ACCEPTED.rounds[:-1], measured)}), list[str]()
    asyncio.run(remeasure("mine", [record], settings, tmp_path / "run", lambda ended: None, messages.append))
    assert messages == ["1 question, 4 rollouts, about 32.0k computed prompt and 360 completion tokens"]
    asyncio.run(remeasure("mine", [record], settings, tmp_path / "run", lambda ended: None, messages.append))
    assert len(messages) == 1, "nothing is left to do"


def list_drop_reasons(folder: Path, gates: GateConfig, *records: Record) -> list[str]:
    """Return why each record is missing from a data set with `beyond_solver`; empty if it is there."""
    journal = Journal(folder / "journal")
    for order, record in enumerate(records):
        journal.append(record, f"{order:03}")
    settings = config().model_copy(update={"gates": gates})
    include = ("beyond_solver",)
    judged = judge_records(journal, settings, include, Remeasurements(folder).join)
    return [drop.reason if drop else "" if is_exported(record, include) else record.reason for record, drop in judged]


@pytest.mark.parametrize(("window", "reason"), [((0.5, 1.0), ""), ((0.0, 0.5), "gate:solve_rate")])
def test_gates_weigh_what_the_other_solver_measured(tmp_path: Path, window: tuple[float, float], reason: str) -> None:
    run_remeasure(tmp_path, make_strong_solver(), BEYOND)
    assert list_drop_reasons(tmp_path, GateConfig(solve_rate=window), BEYOND) == [reason]


def test_what_stays_closed_keeps_nothing_out(tmp_path: Path) -> None:
    twin = BEYOND.model_copy(update={"key": "12" * 32})
    run_remeasure(tmp_path, make_strong_solver(), twin)
    assert list_drop_reasons(tmp_path, GateConfig(), BEYOND, twin) == ["beyond_solver", ""]


def test_what_was_opened_later_is_no_candidate_of_the_run(tmp_path: Path) -> None:
    run_remeasure(tmp_path, make_strong_solver(), BEYOND)
    before, after = (figures([r]) for r in (BEYOND, Remeasurements(tmp_path).join(BEYOND)))
    assert (after.funnel, after.confirmed, after.targets) == (before.funnel, before.confirmed, before.targets)


def test_asked_again_it_asks_nobody_and_another_way_of_asking_is_another_file(tmp_path: Path) -> None:
    first = run_remeasure(tmp_path, make_strong_solver())
    assert run_remeasure(tmp_path, ScriptedLLM([])) == first
    warm = STRONG.model_copy(update={"sampling": STRONG.sampling.model_copy(update={"temperature": 0.3})})
    run_remeasure(tmp_path, make_strong_solver(), model=warm)
    assert len(list((tmp_path / "remeasured").glob("mine-*.jsonl"))) == 2
    record = Remeasurements(tmp_path).join(ACCEPTED)
    assert len(record.measurements) == 2


def test_what_had_ended_is_kept_when_the_endpoint_fails_and_is_not_asked_again(tmp_path: Path) -> None:
    failing = ACCEPTED.key

    class Breaking(ScriptedLLM):
        async def complete(self, request: Request) -> Completion:
            if len(self.requests) >= 30:
                raise ProviderError("down")
            return await super().complete(request)

    with pytest.raises(ProviderError, match="down"):
        run_remeasure(tmp_path, Breaking(Cast(lambda question, sample: 3)), *[
            ACCEPTED.model_copy(update={"key": f"{n:02d}{failing[2:]}"}) for n in range(6)])  # fmt: skip
    stored_count = len((next((tmp_path / "remeasured").glob("*.jsonl"))).read_bytes().splitlines())
    assert 0 < stored_count < 6
    # What the others had taken was paid for too.
    ended = [row.ended for row in attempts.read(tmp_path)]
    assert (ended.count("remeasured"), ended.count("ProviderError")) == (stored_count, 6 - stored_count)


@pytest.mark.parametrize("role", ["answer", "read"])
def test_a_refused_request_keeps_its_question_out_and_is_asked_again(tmp_path: Path, role: str) -> None:
    """A refused rollout is none that failed, and a refused try from memory none that did not know it."""
    cast = Cast(lambda question, sample: 3)

    def refuse_role(request: Request) -> Message | Exception:
        request_role = request.output.name if request.output else request.tools[-1].name
        return RequestRefused("must not be empty") if request_role == role else cast(request)

    with pytest.raises(ProviderError, match="repeat the command to continue"):
        run_remeasure(tmp_path, ScriptedLLM(refuse_role), ACCEPTED)
    assert not Remeasurements(tmp_path).join(ACCEPTED).measurements
    assert run_remeasure(tmp_path, make_strong_solver(), ACCEPTED).solve_rate == 1.0


def test_a_torn_line_is_owed_again(tmp_path: Path) -> None:
    run_remeasure(tmp_path, make_strong_solver())
    file = tmp_path / "remeasured" / f"mine-{compute_identity('mine', config())}.jsonl"
    intact = file.read_bytes()
    file.write_bytes(intact[:-40])
    assert [Remeasurements(tmp_path).has(r.key, (1, file.stem)) for r in (BEYOND, ACCEPTED)].count(True) == 1
    run_remeasure(tmp_path, make_strong_solver())
    assert all(Remeasurements(tmp_path).has(r.key, (1, file.stem)) for r in (BEYOND, ACCEPTED))


def test_one_name_at_two_addresses_is_a_mistake() -> None:
    model = {"provider": "openai", "model": "strong", "base_url": "http://there/v1"}
    with pytest.raises(UsageError, match="two roles have a model 'strong'"):
        recast(build(values={"models": {"judge": model}}), "mine", STRONG)


def test_the_latest_begun_counts_and_the_run_reads_it_too(tmp_path: Path) -> None:
    run_remeasure(tmp_path, make_strong_solver(steps=4), ACCEPTED)
    cold = STRONG.model_copy(update={"sampling": STRONG.sampling.model_copy(update={"temperature": 0.0})})
    run_remeasure(tmp_path, make_strong_solver(steps=3), ACCEPTED, model=cold)
    run_remeasure(tmp_path, ScriptedLLM([]), ACCEPTED)
    record = build_join(tmp_path)(ACCEPTED)
    assert [measurement.order for measurement in record.measurements] == [1, 2]
    assert (record.find_assessment("mine").least_steps, record.find_assessment("mine").known_tries) == (3, 3)
    assert len(record.find_assessment("mine").date) == len("2026-01-02")
    assert build_join(tmp_path)(record) == record
    assert Remeasurements(tmp_path).policies() == {"mine"}


def test_a_twin_is_measured_beside_its_pair(tmp_path: Path) -> None:
    record = twins.run_with_twin(twins.Playing())
    twin_model = ScriptedLLM(twins.Playing(answers="1641"))
    assert run_remeasure(tmp_path, twin_model, record).questions == 1
    joined = build_join(tmp_path)(record)
    twin = as_record(joined)
    assert twin is not None
    assert (joined.find_assessment("mine").solve_rate, twin.find_assessment("mine").solve_rate) == (1.0, 0.0)
    assert (twin.find_assessment("mine").date, twin.measurements[0].closed_book) == (
        joined.find_assessment("mine").date,
        None,
    )
    assert build_join(tmp_path)(joined) == joined
    assert run_remeasure(tmp_path, ScriptedLLM([]), record).questions == 1


def test_the_twin_of_a_pair_that_a_gate_dropped_is_measured_with_it(tmp_path: Path) -> None:
    record = mark_dropped(
        twins.run_with_twin(twins.Playing()), Drop("solve_rate", "too easy for the checkpoint before")
    )
    assert run_remeasure(tmp_path, ScriptedLLM(twins.Playing(answers="1641")), record).questions == 1
    joined = build_join(tmp_path)(record)
    assert joined.twin
    assert [len(measured.measurements) for measured in (joined, joined.twin)] == [1, 1]


def test_what_the_run_measured_with_these_settings_is_not_measured_again(tmp_path: Path) -> None:
    run_remeasure(tmp_path, make_strong_solver(), ACCEPTED)
    measured = Remeasurements(tmp_path).join(ACCEPTED).measurements[0].model_copy(update={"order": 0})
    record = ACCEPTED.model_copy(update={"measurements": (measured,)})
    assert run_remeasure(tmp_path / "other", ScriptedLLM([]), record).solve_rate == 1.0
    assert not list((tmp_path / "other").glob("remeasured/*"))


def test_a_budget_that_is_used_up_begins_nothing_more_and_the_next_command_continues(tmp_path: Path) -> None:
    records = [ACCEPTED.model_copy(update={"key": f"{n:02d}{ACCEPTED.key[2:]}"}) for n in range(20)]
    budget = Budget(money=250, before=Spent())
    with pytest.raises(BudgetExceeded):
        run_remeasure(tmp_path, Budgeted(Counted(make_strong_solver()), budget, lambda usage: 1.0), *records)
    stored_count = sum(len(path.read_bytes().splitlines()) for path in (tmp_path / "remeasured").glob("*.jsonl"))
    assert 0 < stored_count < 20
    # Those in flight note what they took; the others were never begun.
    assert len(list(attempts.read(tmp_path))) <= stored_count + config().seeds_at_work()
    assert run_remeasure(tmp_path, make_strong_solver(), *records).questions == 20
    name = file_name("mine", config())
    assert attempts.total_spending(tmp_path, name).total.paid == attempts.total_spending(tmp_path).total.paid
    assert attempts.total_spending(tmp_path, "mine-of-another").total.paid.calls == 0


def test_budgets_are_those_of_the_command() -> None:
    run = build(sets=["runtime.budget_tokens=5"])
    assert recast(run, "mine", STRONG).runtime.budget_tokens is None
    assert recast(run, "mine", STRONG, Budgets(money=2.5)).runtime.budget_money == 2.5
