"""A run resumes with the settings that it began with, or is refused with the name of each change."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline import demo, prompts
from pipeline.config import RunConfig, build
from pipeline.config.models import Limits, ModelConfig, Models, Prices
from pipeline.config.runtime import Runtime
from pipeline.errors import StoreError, UsageError
from pipeline.run import Run, read
from pipeline.run.resume import FORMAT, begin, resumable
from tests.run.fakes import FakeCorpus, config, corpus

CHOICES: dict[str, Any] = {
    "operations": ["ratio"],
    "corpus.as_of": "2024",
    "models.default.tools": "text",
    "models.default.sampling.extra_body": {"other": 1},
    "models.default.sampling.min_p": 0.5,
    "models.default.sampling.seed": 1,
    "models.default.sampling.top_k": 1,
    "questions.like": ["Who built it?"],
    "questions.unanswerable": 0.5,
    "retrieval.audit": ["bm25"],
    "solve_rate": [0.25, 0.75],
    "checks.enabled": [],
    "corpus.chunks": "as-is",
    "distractors.kinds": ["doppelganger"],
    "distractors.hops": "last",
    "distractors.rank": "above",
    "loop.feedback_rollouts": "one",
    "steps": [3, 4],
    "difficulty.seekers": ["end"],
    "teacher.keep": "f1",
}


def flatten(tree: dict[str, Any], path: str = "") -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in tree.items():
        values |= flatten(value, f"{path}{name}.") if isinstance(value, dict) else {path + name: value}
    return values


def pick_other_value(name: str, value: Any) -> Any:
    """Return a valid value of the field that is not `value`."""
    if name in CHOICES:
        return CHOICES[name]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value / 2 if isinstance(value, float) else "other"


def change_setting(base: RunConfig, name: str) -> RunConfig:
    tree = base.model_dump(mode="json")
    *parents, last = name.split(".")
    node = tree
    for parent in parents:
        node = node[parent]
    node[last] = pick_other_value(name, node[last])
    if name == "models.default.model":
        node["provider"] = "openai"
    if name == "steps_required":
        node["solve_rate"] = CHOICES["solve_rate"]
    return RunConfig.model_validate(tree)


BASE = RunConfig()
WHAT = sorted(
    name
    for name in flatten(BASE.digest_input())
    if not name.startswith("prompts.") and not name.endswith((".version", ".code"))
)


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    with Run(config(tmp_path), corpus()) as run:
        return run.folder


def test_every_changed_setting_is_refused_by_name(run_folder: Path, tmp_path: Path) -> None:
    before = (run_folder / "run.json").read_bytes()
    for name in WHAT:
        with (
            pytest.raises(UsageError) as caught,
            Run(change_setting(config(tmp_path), name), corpus(), folder=run_folder),
        ):
            pass
        assert name in str(caught.value)
        assert "digsite generate" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert (run_folder / "run.json").read_bytes() == before


def test_a_setting_edited_in_the_file_is_refused_by_name(run_folder: Path, tmp_path: Path) -> None:
    tree = orjson.loads((run_folder / "run.json").read_bytes())
    for name in WHAT:
        tree["config"] = change_setting(config(tmp_path), name).model_dump(mode="json")
        (run_folder / "run.json").write_bytes(orjson.dumps(tree))
        with pytest.raises(UsageError, match=name):
            resumable(run_folder)


def test_runtime_settings_may_change(run_folder: Path, tmp_path: Path) -> None:
    changes = {
        "pairs": 7,
        "seeds": 9,
        "new_pairs": 4,
        "carried": 2,
        "name": "weekly",
        "max_seeds": 8,
        "concurrency": 2,
        "rollout_seconds": 1.0,
        "out": tmp_path / "new",
    }
    changes = {
        "budget_tokens": 5,
        "budget_money": 1.5,
        "budget_seconds": 2.5,
        "wait_seconds": 3.5,
        "verify": True,
        "engine": "dask",
        "address": "tcp://localhost:8786",
        "workers": 3,
        "resources": {"gpu": 1.0},
        "same_error_seeds": 3,
        "allow_removal": True,
    } | changes
    assert set(changes) == set(Runtime.model_fields)
    for name, value in changes.items():
        how = config(tmp_path).runtime.model_copy(update={name: value})
        with Run(config(tmp_path).model_copy(update={"runtime": how}), corpus(), folder=run_folder):
            assert getattr(read(run_folder).config.runtime, name) == value
    assert resumable(run_folder).runtime.out == tmp_path / "new"


def test_addresses_limits_and_prices_of_a_model_may_change(run_folder: Path, tmp_path: Path) -> None:
    model = ModelConfig(
        base_urls=("http://localhost:1/v1", "http://localhost:2/v1"),
        api_key_env="OTHER",
        limits=Limits(concurrency=2, attempts=3, timeout_seconds=1, patience_seconds=2, requests_per_minute=3),
        prices=Prices(prompt=1, completion=2),
    )
    settings = config(tmp_path).model_copy(update={"models": Models(default=model)})
    with Run(settings, corpus(), folder=run_folder):
        assert read(run_folder).config.models.default == model


def test_another_context_of_a_model_is_refused_by_name(tmp_path: Path) -> None:
    """The context decides what a request leaves out. The demo model has none."""
    real = ModelConfig(provider="openai", model="m")
    larger = real.model_copy(update={"context": 65_536})
    first, second = (config(tmp_path).model_copy(update={"models": Models(default=model)}) for model in (real, larger))
    with Run(first, corpus()) as run:
        pass
    with (
        pytest.raises(UsageError, match=r"another models\.default\.context;"),
        Run(second, corpus(), folder=run.folder),
    ):
        pass


def test_another_corpus_is_refused(run_folder: Path, tmp_path: Path) -> None:
    other_corpus = FakeCorpus(corpus().passages, "0" * 64)
    with pytest.raises(UsageError, match="another corpus"), Run(config(tmp_path), other_corpus):
        pass


@pytest.fixture
def prompt_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Copy the prompts to a folder, and read them from there."""
    shutil.copytree(prompts.ROOT, tmp_path / "prompts")
    monkeypatch.setattr(prompts, "ROOT", tmp_path / "prompts")
    prompts.load.cache_clear()
    yield tmp_path / "prompts"
    prompts.load.cache_clear()


def test_another_prompt_is_refused_by_name(run_folder: Path, prompt_folder: Path) -> None:
    name = prompts.names()[0]
    with (prompt_folder / f"{name}.md").open("a") as file:
        file.write("\nBe brief.\n")
    with pytest.raises(UsageError, match=f"prompts.{name}"):
        resumable(run_folder)


def test_a_new_kind_of_distractor_does_not_affect_a_run_without_it(run_folder: Path, prompt_folder: Path) -> None:
    shutil.copy(prompt_folder / "distractor/doppelganger.md", prompt_folder / "distractor/old_name.md")
    assert resumable(run_folder)
    digested = build(sets=['distractors.kinds=["old_name"]']).digest_input()["prompts"]
    assert set(digested) - set(RunConfig().digest_input()["prompts"]) == {"distractor/old_name"}


def test_another_version_of_the_demo_model_is_refused(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "VERSION", demo.VERSION + 1)
    with pytest.raises(UsageError, match=r"models\.default\.version"):
        resumable(run_folder)


def test_an_unchanged_run_returns_its_configuration(run_folder: Path, tmp_path: Path) -> None:
    assert resumable(run_folder) == config(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[" * 100_000, b"\xff", orjson.dumps({"config": {}, "format": FORMAT})]
)
def test_a_damaged_run_file_is_refused_in_one_line(run_folder: Path, content: bytes) -> None:
    (run_folder / "run.json").write_bytes(content)
    with pytest.raises(StoreError, match=r"run\.json is damaged") as caught:
        resumable(run_folder)
    assert "\n" not in str(caught.value)
    # `digsite generate` with the same settings uses the same folder, so the user has to move it first.
    assert f"move {run_folder} elsewhere" in str(caught.value)


def test_a_folder_without_a_run_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a run"):
        resumable(tmp_path)


def test_a_forbidden_file_is_not_called_damaged(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with pytest.raises(StoreError, match=r"^cannot read .*run\.json: Permission denied$"):
        read(run_folder)


@pytest.mark.parametrize("settings", ["as they are", "others"])
def test_a_run_of_another_version_is_refused_in_one_line(settings: str, tmp_path: Path) -> None:
    """It is refused whether or not this version could read its settings. Version 0.1 wrote no format."""
    folder = tmp_path / "run"
    begin(folder, config(tmp_path), "f" * 64)
    tree = orjson.loads((folder / "run.json").read_bytes())
    del tree["format"]
    if settings == "others":
        tree["config"]["gone"] = 1
    (folder / "run.json").write_bytes(orjson.dumps(tree))
    with pytest.raises(UsageError, match="has another format .* export it with version 0.1.0, or start") as refused:
        read(folder)
    assert "\n" not in str(refused.value)


def test_a_run_with_a_screen_and_a_confirmation_is_not_called_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    begin(folder, config(tmp_path), "f" * 64)
    tree = orjson.loads((folder / "run.json").read_bytes())
    tree["format"] = 7
    tree["config"]["loop"] |= {"screen": 2, "confirm": True}
    (folder / "run.json").write_bytes(orjson.dumps(tree))
    with pytest.raises(UsageError, match="has another format .* export it with commit [0-9a-f]{8}, or start"):
        read(folder)
