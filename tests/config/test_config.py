"""Settings come from preset, file and command line; only those that change the data change the digest."""

from pathlib import Path

import pytest

from pipeline import config
from pipeline.config.run import LOCAL_SEEDS
from pipeline.config.toml import differences
from pipeline.errors import UsageError


def test_later_settings_win(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('seed = 3\n[loop]\nrounds = 1\nrollouts = 8\n[retrieval]\nretriever = "bm25"\n')
    built = config.build(file=file, values={"seed": 4}, sets=["loop.rounds=0", "corpus.name=tiny"])
    assert (built.seed, built.loop.rounds, built.loop.rollouts) == (4, 0, 8)
    assert (built.retrieval.retriever, built.corpus.name) == ("bm25", "tiny")


def test_a_preset_is_a_base_that_settings_may_change() -> None:
    built = config.build(values={"preset": "sage"}, sets=["loop.audit=true"])
    assert built.loop.audit
    assert not built.loop.early_stop
    assert built.loop.feedback_rollouts == "one"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ('checks.enabled=["orakel"]', r"checks\.enabled\.0: no check by a reader 'orakel'; did you mean 'oracle'\?"),
        ('checks.enabled=["false_quote"]', "'false_quote'; known: closed_book, oracle, alternatives"),
        (
            'checks.enabled=["seeker"]',
            "'seeker' was removed: every draft's graph and wording are reviewed; known: closed_book",
        ),
        ('checks.run=["oracle"]', "^'checks.run' is now called 'checks.enabled'$"),
        ("how.pairs=3", "^'how' is now called 'runtime'$"),
        ("checks.seeker_tries=3", "'checks.seeker_tries' was removed, since nobody looks for shortcuts"),
        ("loop.screen=1", "^'loop.screen' was removed, since the rollouts of a draft measure it too: leave it out$"),
        (
            "loop.confirm=false",
            "^'loop.confirm' was removed, since the rollouts of a draft measure it too: leave it out$",
        ),
    ],
)
def test_an_unknown_check_or_a_former_setting_is_named_in_one_line(setting: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        config.build(sets=[setting])


@pytest.mark.parametrize("text", ["3", "3-3", '"3-3"', "[3, 3]"])
def test_steps_may_be_set_as_on_the_command_line(text: str) -> None:
    assert config.build(sets=[f"steps={text}"]).steps == (3, 3)


@pytest.mark.parametrize(
    ("steps", "searches", "turns", "tokens"),
    [("2-4", 12, 16, 200_000), ("5", 14, 18, 272_222), ("14-20", 44, 48, 2_688_888)],
)
def test_the_solvers_limits_follow_the_largest_target(steps: str, searches: int, turns: int, tokens: int) -> None:
    limits = config.build(sets=[f"steps={steps}"]).solver
    assert (limits.searches, limits.turns, limits.tokens) == (searches, turns, tokens)


def test_the_generators_limits_follow_the_largest_target_and_are_digested() -> None:
    usual, deep = (config.build(sets=[f"steps={steps}"]) for steps in ("4", "20"))
    grown = [getattr(deep.generator, name) / getattr(usual.generator, name) for name in ("searches", "request_tokens")]
    assert grown == pytest.approx([44 / 12] * 2, rel=0.01)
    assert deep.generator.tokens / usual.generator.tokens == pytest.approx((44 / 12) ** 2, rel=0.01)
    assert deep.digest_input()["generator"]["searches"] == deep.generator.searches
    overridden = config.build(sets=["steps=20", "generator.searches=9", "generator.request_tokens=8000"]).generator
    assert (overridden.searches, overridden.request_tokens, overridden.turns) == (9, 8000, deep.generator.turns)


def test_limits_that_are_set_do_not_follow_the_target() -> None:
    limits = config.build(sets=["steps=14-20", "solver.searches=30", "solver.tokens=9000"]).solver
    assert (limits.searches, limits.turns, limits.tokens) == (30, 48, 9000)


def test_limits_exclude_no_target_that_need_not_be_reached() -> None:
    limited = ["steps=4", "solver.searches=3"]
    with pytest.raises(UsageError):
        config.build(sets=limited)
    assert config.build(sets=[*limited, "steps_required=false", "solve_rate=0.2-0.8"])


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_bytes(b"\xef\xbb\xbfseed = 3\r\n[loop]\r\nrounds = 1\r\n")
    assert config.build(file=tmp_path / "run.toml").seed == 3


def test_an_unreadable_file_is_a_usage_error(tmp_path: Path) -> None:
    broken = tmp_path / "run.toml"
    broken.write_bytes(b"\xff= [")
    for file in (broken, tmp_path / "absent.toml"):
        with pytest.raises(UsageError, match="cannot read"):
            config.build(file=file)


def test_runtime_settings_are_not_digested() -> None:
    base = config.build()
    assert (
        base.digest()
        == config.build(sets=["runtime.pairs=7", "runtime.concurrency=1", "runtime.out=elsewhere"]).digest()
    )
    assert base.folder() != config.build(sets=["runtime.out=elsewhere"]).folder()


@pytest.mark.parametrize(
    "change", ["seed=1", "steps=[2, 2]", "loop.rounds=1", "retrieval.k=3", "models.default.sampling.top_p=0.5"]
)
def test_settings_that_change_the_data_are_digested(change: str) -> None:
    base, changed = config.build(), config.build(sets=[change])
    assert base.digest() != changed.digest()
    assert [name for name, _, _ in differences(base.digest_input(), changed.digest_input())] == [
        change.partition("=")[0]
    ]


def test_a_corpus_path_gives_a_plain_folder_name() -> None:
    assert config.build(sets=['corpus.name="/data/../My Corpus (v2).jsonl.gz"']).corpus_slug() == "my-corpus-v2"
    assert config.build(sets=['corpus.name="/"']).corpus_slug() == "corpus"


def test_more_seeds_are_at_work_than_the_models_accept_calls() -> None:
    assert config.build().seeds_at_work() == LOCAL_SEEDS
    default = {"provider": "openai", "model": "a", "base_url": "http://localhost:1/v1", "limits": {"concurrency": 100}}
    one_model = {"models": {"default": default}}
    assert config.build(values=one_model).seeds_at_work() == 125
    two_models = {"models": {"default": default, "judge": {"model": "b", "limits": {"concurrency": 20}}}}
    assert config.build(values=two_models).seeds_at_work() == 150
    assert config.build(values=two_models, sets=["runtime.concurrency=3"]).seeds_at_work() == 3


@pytest.mark.parametrize("operations", ["ration", ["list", "ration"]])
def test_an_unknown_operation_is_named(operations: str | list[str]) -> None:
    with pytest.raises(UsageError, match="'ration'; did you mean 'ratio'"):
        config.build(values={"operations": operations})


def test_operations_decide_the_notes_for_answers() -> None:
    assert config.build(values={"operations": "ratio,difference"}).answer_notes() == ()
    assert config.build(values={"operations": "yes_no"}).answer_notes() == ("boolean/_answer",)
