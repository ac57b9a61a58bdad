"""If a data set is for a policy model, its gates, rows and figures are those of that policy."""

from typing import Any

import pytest

from pipeline.agents.environment_file import environment
from pipeline.analysis.figures import figures as make_figures
from pipeline.config import RunConfig, build
from pipeline.config.exports import GateConfig
from pipeline.errors import UsageError
from pipeline.exports.card.card import Contents, card
from pipeline.exports.trajectories.selection import count_rollouts
from pipeline.exports.views import base, qa, rl_openrlhf, rl_search_r1, rl_trl, rl_verl_tool, sft, sft_masked
from pipeline.gates import Gates
from pipeline.types import PolicyMeasurement, Record, Rollout, Share, Stop
from tests.analysis.policy_measurements import STYLES, measure
from tests.records import accepted
from tests.seed_tables import figures, page, table


def make_pair(*measurements: PolicyMeasurement) -> Record:
    return accepted(1).model_copy(update={"measurements": measurements})


def find_gate(record: Record, **settings: Any) -> str:
    gates = Gates(GateConfig(**settings))
    drop = gates.admit(gates.check(record))
    return drop.gate if drop else ""


@pytest.mark.parametrize(
    ("known", "tries", "policy", "gate"),
    [
        (2 / 3, 3, "mine", "known_to"),
        (1 / 2, 4, "mine", ""),
        (1.0, 2, "mine", ""),
        (None, 0, "mine", ""),
        (1.0, 3, "other", ""),
        (1.0, 3, "", ""),
    ],
)
def test_a_question_that_most_of_three_samples_knew_is_dropped_for_its_policy_alone(
    known: float | None, tries: int, policy: str, gate: str
) -> None:
    assert find_gate(make_pair(measure("mine", known=known, tries=tries), measure("other")), policy=policy) == gate


def test_the_share_that_may_be_known_is_a_setting() -> None:
    record = make_pair(measure("mine", known=2 / 3))
    assert find_gate(record, policy="mine", known_to=0.7) == ""
    assert find_gate(record, policy="mine", known_to=0.6) == "known_to"


def test_the_latest_measurement_of_a_name_counts() -> None:
    record = make_pair(
        measure("mine", "none"), measure("mine", "half", order=1, known=1.0), measure("other", "all", order=2)
    )
    assert record.hardness_for("mine")[1] == 0.5
    assert find_gate(record, policy="mine") == "known_to"


@pytest.mark.parametrize(
    ("policy", "window", "gate"),
    [
        ("mine", (0.2, 0.8), ""),
        ("mine", (0.6, 0.8), "solve_rate"),
        ("never", (0.2, 0.8), "solve_rate"),
        ("", (0.7, 0.8), ""),
        ("lacking", (0.2, 0.8), "solve_rate"),
        ("lacking", (0.0, 1.0), ""),
    ],
)
def test_the_window_applies_to_the_named_policy(policy: str, window: tuple[float, float], gate: str) -> None:
    assert accepted(1).solve_rate == 0.75
    record = make_pair(measure("mine"), measure("never", "none"))
    assert find_gate(record, policy=policy, solve_rate=window) == gate


@pytest.mark.parametrize(
    ("policy", "teaches"), [("", True), ("half", True), ("none", False), ("all", False), ("x", False)]
)
def test_a_question_is_of_use_to_a_policy_that_sometimes_solves_it(policy: str, teaches: bool) -> None:
    record = make_pair(*(measure(name, name) for name in STYLES))
    band = (0.1, 1.0)
    assert base.is_rewarded(record, GateConfig(policy=policy)) is teaches
    assert base.is_rewarded(record, GateConfig(policy=policy, solve_rate=band)) is (teaches or policy == "all")
    assert base.is_rewarded(record, GateConfig(policy=policy, solve_rate=band, off=("solve_rate",))) is teaches


def make_config(policy: str = "mine", **sft_settings: Any) -> RunConfig:
    models = {"policies": {"mine": {"provider": "openai", "model": "m"}}}
    return build(values={"models": models, "gates": {"policy": policy}, "sft": sft_settings})


@pytest.mark.parametrize("view", [rl_trl, rl_openrlhf, rl_search_r1, rl_verl_tool])
def test_rl_rows_have_the_hardness_for_the_named_policy(view: Any) -> None:
    record = make_pair(measure("mine"))
    for policy, hardness in (("mine", (3, 0.5)), ("", (3, 0.75))):
        rows = list(view.rows(record, environment(make_config(policy))))
        assert [(row["difficulty"], row["solve_rate"]) for row in rows] == [hardness]


def test_qa_has_every_measurement() -> None:
    record = make_pair(measure("mine"), measure("mine", "all", order=1, date="2026-01-02"))
    rows = list(qa.rows(record, environment(make_config())))
    assert [(a["policy"], a["date"]) for a in rows[0]["assessments"][-2:]] == [("mine", ""), ("mine", "2026-01-02")]


def rows_of(record: Record, view: Any = sft, **sft_settings: Any) -> list[dict[str, Any]]:
    return list(view.rows(record, environment(make_config(**sft_settings)).of(record)))


def test_a_policys_own_correct_rollouts_are_trained_on_if_requested() -> None:
    record = make_pair(measure("mine", model="mine-2"), measure("other", "all", order=1))
    assert {row["agent"] for row in rows_of(record)} == {"solver"}
    row, second = rows_of(record, source=["policy"], per_pair=9)
    assert (row["agent"], row["steps"], second["steps"]) == ("policy", 1, 3)
    assert row["model"].split(" + ")[-1] == "mine-2"
    assert row["trainable"] is record.lineage.trainable
    assert len(rows_of(record, source=["policy"])) == 1
    context = environment(make_config(source=["policy"], select="all")).of(record)
    counts = count_rollouts(record, context)["policy"]
    assert counts == {"made": 4, "correct": 2, "fit": 2, "passed": 2, "kept": 2}


def test_rollouts_that_may_not_be_trained_on_are_marked() -> None:
    record = make_pair(measure("mine", trainable=False))
    lineage = record.lineage.model_copy(update={"trainable": True, "model": "m"})
    record = record.model_copy(update={"lineage": lineage})
    for view in (sft, sft_masked):
        rows = rows_of(record, view, source=["solver", "policy"])
        assert {row["agent"]: row["trainable"] for row in rows} == {"solver": True, "policy": False}


@pytest.mark.parametrize(("reasoning", "rows"), [("keep", 1), ("strip", 4)])
def test_a_policys_reasoning_is_in_the_context_if_it_was_sent_back(reasoning: str, rows: int) -> None:
    record = make_pair(measure("mine", "all", reasoning=reasoning, thought="so"))
    assert len(rows_of(record, source=["policy"])) == rows


def test_select_all_takes_every_rollout_and_no_number() -> None:
    record = make_pair(measure("mine", "half"))
    assert len(rows_of(record, source=["policy"], select="all")) == 2
    with pytest.raises(UsageError, match="leave per_pair out"):
        make_config(select="all", per_pair=2)


def test_figures_are_those_for_the_named_policy() -> None:
    from pipeline.analysis import figures as module

    records = [
        make_pair(measure("mine", date="2026-01-02"), measure("other", "all", known=1.0)),
        accepted(2).model_copy(update={"measurements": (measure("mine", "none", known=2 / 3, date="2026-01-05"),)}),
        accepted(3),
    ]
    solver_figures = figures(records)
    assert (solver_figures.mean_solve_rate, solver_figures.policy) == (0.75, "")
    policy_figures = module.figures(table(records), policy="mine")
    assert (policy_figures.mean_solve_rate, policy_figures.mean_difficulty) == (0.25, 3.0)
    assert [(c.name, c.count) for c in policy_figures.solve_rates] == [("0/2", 1), ("2/4", 1)]
    mine, other_policy = policy_figures.policies
    assert (mine.policy, mine.pairs, mine.solve_rate, mine.never, mine.always) == (
        "mine",
        Share(part=2, whole=3),
        0.25,
        1,
        0,
    )
    assert (mine.least_steps, mine.median_steps, mine.known) == (1.0, 2.0, Share(part=1, whole=2))
    assert mine.dates == ("2026-01-02", "2026-01-05")
    assert (other_policy.always, other_policy.known, other_policy.dates) == (1, Share(part=1, whole=1), ())


def test_card_and_report_name_policies_only_if_there_are_some() -> None:
    from pipeline.analysis import figures as module

    record = make_pair(measure("mine", date="2026-01-02"))
    text = card(module.figures(table([record]), policy="mine"), Contents(rows={}), make_config())
    assert "| `mine` | `m` | 1 of 1 | 50% | 0 | 0 | 1.00 | 2.00 | 0 of 1 | 2026-01-02 |" in text
    assert "those of the policy `mine`" in text
    assert "those for the policy mine" in page([record], make_config())
    plain = card(figures([accepted(1)]), Contents(rows={}), RunConfig())
    assert "to be trained" not in plain
    assert "to be trained</h3>" not in page([accepted(1)], RunConfig())


@pytest.mark.parametrize(
    ("record", "policy", "advice"),
    [
        (make_pair(), "", "`digsite export RUN --for NAME`"),
        (make_pair(measure("mine")), "", "`digsite export RUN --for mine`"),
        (make_pair(measure("mine")), "mine", None),
    ],
)
def test_the_card_advises_to_choose_a_policy_until_one_is_chosen(
    record: Record, policy: str, advice: str | None
) -> None:
    figures = make_figures(table([record]), policy=policy)
    text = " ".join(card(figures, Contents(rows={"qa": {"train": 1}}), RunConfig()).split())
    assert ("The rows are not yet chosen for a policy, so that `band` and `order` are null:" in text) is bool(advice)
    assert f"{advice}." in text or advice is None


def test_failed_rollouts_of_a_policy_are_counted_by_what_they_lacked() -> None:
    measurement = measure("mine", "none")
    rollout, verdict = measurement.rollouts[0], measurement.verdicts[0]
    unseen = {"right": False, "supported": False}
    cases = [
        (rollout, verdict.model_copy(update={"right": False, "supported": True, "steps": 1})),
        (rollout, verdict.model_copy(update={**unseen, "steps": 1})),
        (rollout, verdict.model_copy(update={**unseen, "steps": 9})),
        (stop_with(rollout, Stop.MAX_TURNS), verdict.model_copy(update={**unseen, "steps": 1})),
        (rollout, verdict.model_copy(update={"right": True, "supported": True})),
    ]
    rollouts, verdicts = zip(*cases, strict=True)
    record = make_pair(measurement.model_copy(update={"rollouts": rollouts, "verdicts": verdicts}))
    (policy,) = figures([record]).policies
    assert (policy.misread, policy.stopped_early, policy.not_retrieved, policy.failed) == (1, 1, 2, 4)
    row = "| `mine` | 4 | 50% | 25% | 25% |"
    assert row in card(figures([record]), Contents(rows={}), RunConfig())
    line = "mine (4): evidence never retrieved 50%, retrieved but misread 25%, stopped too early 25%."
    assert line in page([record], RunConfig())


def stop_with(rollout: Rollout, stop: Stop) -> Rollout:
    return rollout.model_copy(update={"trajectory": rollout.trajectory.model_copy(update={"stop": stop})})
