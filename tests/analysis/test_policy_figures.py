"""Which pairs count, and what rows and figures say, where a data set is for one of the models to be trained."""

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
from pipeline.types import Assessment, PolicyMeasurement, Record, Rollout, Share, Stop, correct
from tests.records import Style, accepted, draft, rollout, verdict, world
from tests.tables import figures, page, table

W = world(1)
STYLES: dict[str, list[Style]] = {
    "half": ["right", "lucky", "wrong", "wrong"],
    "none": ["wrong", "wrong"],
    "all": ["right", "right"],
}


def made(style: Style, sample: int, thought: str = "") -> Rollout:
    one = rollout(W, draft(W), sample, style)
    messages = [
        m.model_copy(update={"reasoning": f"{thought}{n}"}) if m.role == "assistant" and thought else m
        for n, m in enumerate(one.trajectory.messages)
    ]
    return one.model_copy(update={"trajectory": one.trajectory.model_copy(update={"messages": tuple(messages)})})


def measured(
    policy: str, how: str = "half", *, known: float | None = 0.0, tries: int = 3, **update: Any
) -> PolicyMeasurement:
    """`thought`: what its rollouts think in every turn."""
    thought = update.pop("thought", "")
    tried = [made(style, 1000 + n, thought) for n, style in enumerate(STYLES[how])]
    verdicts = tuple(verdict(W, one, draft(W)) for one in tried)
    steps = [v.steps for v in correct(verdicts)]
    found = Assessment(
        policy=policy, model=update.pop("model", "m"), retriever="bm25", k=5, rollouts=len(tried),
        solve_rate=len(steps) / len(tried), least_steps=min(steps, default=None),
        median_steps=sum(steps) / len(steps) if steps else None, known=known, known_tries=tries,
        date=update.pop("date", ""),
    )  # fmt: skip
    return PolicyMeasurement(key="k", assessment=found, rollouts=tuple(tried), verdicts=verdicts, **update)


def pair(*measurements: PolicyMeasurement) -> Record:
    return accepted(1).model_copy(update={"measurements": measurements})


def judged(record: Record, **settings: Any) -> str:
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
def test_what_most_of_three_tries_knew_is_dropped_for_the_named_policy_alone(
    known: float | None, tries: int, policy: str, gate: str
) -> None:
    assert judged(pair(measured("mine", known=known, tries=tries), measured("other")), policy=policy) == gate


def test_a_share_of_its_own_may_be_known() -> None:
    record = pair(measured("mine", known=2 / 3))
    assert judged(record, policy="mine", known_to=0.7) == ""
    assert judged(record, policy="mine", known_to=0.6) == "known_to"


def test_the_latest_measurement_of_a_name_counts() -> None:
    record = pair(
        measured("mine", "none"), measured("mine", "half", order=1, known=1.0), measured("other", "all", order=2)
    )
    assert record.hardness_for("mine")[1] == 0.5
    assert judged(record, policy="mine") == "known_to"


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
def test_the_window_is_that_of_the_named_policy(policy: str, window: tuple[float, float], gate: str) -> None:
    assert accepted(1).solve_rate == 0.75
    record = pair(measured("mine"), measured("never", "none"))
    assert judged(record, policy=policy, solve_rate=window) == gate


@pytest.mark.parametrize(
    ("policy", "teaches"), [("", True), ("half", True), ("none", False), ("all", False), ("x", False)]
)
def test_a_question_teaches_who_solves_it_at_times(policy: str, teaches: bool) -> None:
    record = pair(*(measured(name, name) for name in STYLES))
    band = (0.1, 1.0)
    assert base.is_rewarded(record, GateConfig(policy=policy)) is teaches
    assert base.is_rewarded(record, GateConfig(policy=policy, solve_rate=band)) is (teaches or policy == "all")
    assert base.is_rewarded(record, GateConfig(policy=policy, solve_rate=band, off=("solve_rate",))) is teaches


def settings(policy: str = "mine", **sft_settings: Any) -> RunConfig:
    models = {"policies": {"mine": {"provider": "openai", "model": "m"}}}
    return build(values={"models": models, "gates": {"policy": policy}, "sft": sft_settings})


@pytest.mark.parametrize("view", [rl_trl, rl_openrlhf, rl_search_r1, rl_verl_tool])
def test_rows_to_reinforce_say_how_hard_it_is_for_the_named_policy(view: Any) -> None:
    record = pair(measured("mine"))
    for policy, hardness in (("mine", (3, 0.5)), ("", (3, 0.75))):
        rows = list(view.rows(record, environment(settings(policy))))
        assert [(row["difficulty"], row["solve_rate"]) for row in rows] == [hardness]


def test_all_of_them_stand_in_qa() -> None:
    record = pair(measured("mine"), measured("mine", "all", order=1, date="2026-01-02"))
    rows = list(qa.rows(record, environment(settings())))
    assert [(a["policy"], a["date"]) for a in rows[0]["assessments"][-2:]] == [("mine", ""), ("mine", "2026-01-02")]


def rows_of(record: Record, view: Any = sft, **chosen: Any) -> list[dict[str, Any]]:
    return list(view.rows(record, environment(settings(**chosen)).of(record)))


def test_a_policy_s_own_right_rollouts_are_trained_on_where_they_are_asked_for() -> None:
    record = pair(measured("mine", model="mine-2"), measured("other", "all", order=1))
    assert {row["agent"] for row in rows_of(record)} == {"solver"}
    row, second = rows_of(record, source=["policy"], per_pair=9)
    assert (row["agent"], row["steps"], second["steps"]) == ("policy", 1, 3)
    assert row["model"].split(" + ")[-1] == "mine-2"
    assert row["trainable"] is record.lineage.trainable
    assert len(rows_of(record, source=["policy"])) == 1
    here = environment(settings(source=["policy"], select="all")).of(record)
    found = count_rollouts(record, here)["policy"]
    assert found == {"made": 4, "correct": 2, "fit": 2, "passed": 2, "kept": 2}


def test_what_may_not_be_trained_on_is_marked() -> None:
    record = pair(measured("mine", trainable=False))
    lineage = record.lineage.model_copy(update={"trainable": True, "model": "m"})
    record = record.model_copy(update={"lineage": lineage})
    for view in (sft, sft_masked):
        rows = rows_of(record, view, source=["solver", "policy"])
        assert {row["agent"]: row["trainable"] for row in rows} == {"solver": True, "policy": False}


@pytest.mark.parametrize(("reasoning", "rows"), [("keep", 1), ("strip", 4)])
def test_thoughts_of_a_policy_are_in_the_context_where_it_was_sent_them(reasoning: str, rows: int) -> None:
    record = pair(measured("mine", "all", reasoning=reasoning, thought="so"))
    assert len(rows_of(record, source=["policy"])) == rows


def test_all_is_every_one_and_takes_no_number() -> None:
    record = pair(measured("mine", "half"))
    assert len(rows_of(record, source=["policy"], select="all")) == 2
    with pytest.raises(UsageError, match="leave per_pair out"):
        settings(select="all", per_pair=2)


def test_figures_are_those_for_the_named_policy() -> None:
    from pipeline.analysis import figures as module

    records = [
        pair(measured("mine", date="2026-01-02"), measured("other", "all", known=1.0)),
        accepted(2).model_copy(update={"measurements": (measured("mine", "none", known=2 / 3, date="2026-01-05"),)}),
        accepted(3),
    ]
    own = figures(records)
    assert (own.mean_solve_rate, own.policy) == (0.75, "")
    found = module.figures(table(records), policy="mine")
    assert (found.mean_solve_rate, found.mean_difficulty) == (0.25, 3.0)
    assert [(c.name, c.count) for c in found.solve_rates] == [("0/2", 1), ("2/4", 1)]
    mine, other = found.policies
    assert (mine.policy, mine.pairs, mine.solve_rate, mine.never, mine.always) == (
        "mine",
        Share(part=2, whole=3),
        0.25,
        1,
        0,
    )
    assert (mine.least_steps, mine.median_steps, mine.known) == (1.0, 2.0, Share(part=1, whole=2))
    assert mine.dates == ("2026-01-02", "2026-01-05")
    assert (other.always, other.known, other.dates) == (1, Share(part=1, whole=1), ())


def test_card_and_report_name_the_policies_and_are_as_before_without_any() -> None:
    from pipeline.analysis import figures as module

    record = pair(measured("mine", date="2026-01-02"))
    text = card(module.figures(table([record]), policy="mine"), Contents(rows={}), settings())
    assert "| `mine` | `m` | 1 of 1 | 50% | 0 | 0 | 1.00 | 2.00 | 0 of 1 | 2026-01-02 |" in text
    assert "those of the policy `mine`" in text
    assert "those for the policy mine" in page([record], settings())
    plain = card(figures([accepted(1)]), Contents(rows={}), RunConfig())
    assert "to be trained" not in plain
    assert "to be trained</h3>" not in page([accepted(1)], RunConfig())


@pytest.mark.parametrize(
    ("record", "policy", "advice"),
    [
        (pair(), "", "`digsite export RUN --for NAME`"),
        (pair(measured("mine")), "", "`digsite export RUN --for mine`"),
        (pair(measured("mine")), "mine", None),
    ],
)
def test_the_card_says_until_when_the_rows_are_chosen_for_no_policy(
    record: Record, policy: str, advice: str | None
) -> None:
    figures = make_figures(table([record]), policy=policy)
    text = " ".join(card(figures, Contents(rows={"qa": {"train": 1}}), RunConfig()).split())
    assert ("The rows are not yet chosen for a policy, so that `band` and `order` are null:" in text) is bool(advice)
    assert f"{advice}." in text or advice is None


def test_failed_rollouts_of_a_policy_are_told_by_what_they_lacked() -> None:
    measurement = measured("mine", "none")
    tried, found = measurement.rollouts[0], measurement.verdicts[0]
    unseen = {"right": False, "supported": False}
    cases = [
        (tried, found.model_copy(update={"right": False, "supported": True, "steps": 1})),
        (tried, found.model_copy(update={**unseen, "steps": 1})),
        (tried, found.model_copy(update={**unseen, "steps": 9})),
        (stopped(tried, Stop.MAX_TURNS), found.model_copy(update={**unseen, "steps": 1})),
        (tried, found.model_copy(update={"right": True, "supported": True})),
    ]
    rollouts, verdicts = zip(*cases, strict=True)
    record = pair(measurement.model_copy(update={"rollouts": rollouts, "verdicts": verdicts}))
    (policy,) = figures([record]).policies
    assert (policy.misread, policy.stopped_early, policy.not_retrieved, policy.failed) == (1, 1, 2, 4)
    row = "| `mine` | 4 | 50% | 25% | 25% |"
    assert row in card(figures([record]), Contents(rows={}), RunConfig())
    line = "mine (4): evidence never retrieved 50%, retrieved but misread 25%, stopped too early 25%."
    assert line in page([record], RunConfig())


def stopped(tried: Rollout, stop: Stop) -> Rollout:
    return tried.model_copy(update={"trajectory": tried.trajectory.model_copy(update={"stop": stop})})
