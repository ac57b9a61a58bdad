"""Every flag sets its configuration key."""

from pathlib import Path
from typing import get_type_hints

import pytest

from pipeline.cli import options
from pipeline.errors import UsageError


def test_missing_flags_leave_file_and_preset_alone(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('preset = "sage"\nsteps = [3, 5]\n[runtime]\npairs = 7\n')
    config = options.build_config({"pairs": None, "steps": None, "seed": 4}, file=file)
    assert (config.preset, config.steps, config.runtime.pairs, config.seed) == ("sage", (3, 5), 7, 4)
    assert not config.loop.audit


def test_a_flag_wins_over_the_file_and_set_over_the_flag(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("seed = 1\n[runtime]\npairs = 7\n")
    config = options.build_config({"pairs": 9, "seed": 2}, file=file, sets=["seed=3", "loop.rounds=1"])
    assert (config.runtime.pairs, config.seed, config.loop.rounds) == (9, 3, 1)


def test_every_flag_has_a_key_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "like.txt").write_text("Who built it?\n")
    for option in options.KEYS:
        texts: dict[str, object] = {
            "against": [Path("questions.txt")],
            "preset": "sage",
            "steps": "3",
            "model": "openai:m",
            "base_url": ["http://localhost:8000/v1"],
            "solve_rate": "0.2-0.8",
            "policy": "mine",
            "as_of": "2024",
            "operations": "ratio,list",
            "verify": True,
            "allow_removal": True,
            "chunks": "as-is",
            "engine": "dask",
            "like": tmp_path / "like.txt",
        }
        numbers = ("pairs", "new_pairs", "seeds", "max_seeds", "concurrency", "seed", "rollouts", "wait", "workers")
        value = texts.get(option) or (3 if option in numbers or option.startswith("budget") else "bm25")
        sets = ["models.policies.mine={provider='openai',model='m'}"]
        sets += ["strategy=compose"] if option == "like" else []
        before, after = options.build_config({}, sets=sets), options.build_config({option: value}, sets=sets)
        assert before != after, option


@pytest.mark.parametrize("name", ["embedded", "embedded-weak"])
def test_the_demo_model_has_two_strengths(name: str) -> None:
    assert options.build_config({"model": name}).models.default.model == name
    assert options.build_config({"model": name}).models.default.provider == "embedded"


@pytest.mark.parametrize(("text", "steps"), [("3", (3, 3)), ("2-5", (2, 5)), ("20", (20, 20))])
def test_steps(text: str, steps: tuple[int, int]) -> None:
    assert options.build_config({"steps": text}).steps == steps


@pytest.mark.parametrize(
    "sets",
    [
        [],
        ["models.solver={provider='openai',model='m',base_url='http://localhost:9000/v1'}"],
    ],
)
def test_an_address_that_no_model_uses_is_refused(sets: list[str]) -> None:
    with pytest.raises(UsageError, match=r"add --model openai:NAME"):
        options.build_config({"base_url": ["http://localhost:8000/v1"]}, sets=sets)


def test_an_address_may_belong_to_a_model_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[models.solver]\nprovider = 'openai'\nmodel = 'm'\n")
    config = options.build_config({"base_url": ["http://localhost:8000/v1"]}, file=file)
    assert config.models.of("solver").base_url == "http://localhost:8000/v1"


def test_a_model_at_an_address() -> None:
    config = options.build_config({"base_url": ["http://localhost:8000/v1/"], "model": "openai:Qwen/Qwen3:8b"})
    assert {role.model_dump_json() for role in config.models.all()} == {config.models.default.model_dump_json()}
    default = config.models.default
    assert (default.provider, default.model, default.base_url) == (
        "openai", "Qwen/Qwen3:8b", "http://localhost:8000/v1",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("like.txt", "Who is  it?\nWhat is it?\n"),
        ("like.jsonl", '{"question": "Who is it?"}\n{"question": "What is it?"}\n'),
    ],
)
def test_example_questions_are_part_of_the_run(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    config = options.build_config({"like": tmp_path / name, "strategy": "compose"})
    assert config.questions.like == ("Who is it?", "What is it?")
    assert config.digest() != options.build_config({"strategy": "compose"}).digest()


def test_the_person_who_asks_is_part_of_the_run() -> None:
    usual, other = ({"strategy": "compose"} | extra for extra in ({}, {"persona": "a nurse"}))
    assert options.build_config(other).questions.persona == "a nurse"
    assert options.build_config(other).digest() != options.build_config(usual).digest()
    with pytest.raises(UsageError, match="add --strategy compose"):
        options.build_config({"strategy": "sage", "persona": "a nurse"})


@pytest.mark.parametrize(
    ("text", "strategy", "message"),
    [
        ("", "compose", "has 0 questions; --like takes 1 to 50"),
        ("Who is it?\n" * 51, "compose", "has 51 questions; --like takes 1 to 50"),
        ("Who is it?\n", "ragshaper", "add --strategy compose"),
    ],
)
def test_unusable_example_questions_are_refused(tmp_path: Path, text: str, strategy: str, message: str) -> None:
    (tmp_path / "like.txt").write_text(text)
    with pytest.raises(UsageError, match=message):
        options.build_config({"like": tmp_path / "like.txt", "strategy": strategy})


def test_help_shows_the_defaults_of_the_settings() -> None:
    config = options.build_config({})
    defaults = {
        "strategy": config.strategy,
        "steps": "-".join(map(str, config.steps)),
        "seed": str(config.seed),
        "retriever": config.retrieval.retriever,
        "model": config.models.default.model,
        "wait": f"{config.runtime.wait_seconds:g}",
        "out": config.runtime.out,
    }
    hints = get_type_hints(options.RunOptions, include_extras=True)
    helps = {name: hint.__metadata__[0].help for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    shown_defaults = {name: helps[name].rpartition("  ")[2] for name in defaults}
    assert shown_defaults == {name: f"[{default}]" for name, default in defaults.items()}
