"""Exported trajectories replayed through each consumer's tool against the live server give the same observations.

The quick tests use the recipe for TRL, which is plain Python, and the rules of Search-R1's client, which is on no
package index. `make test-consumers` replays a hundred trajectories through verl's own classes in its environment.
"""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig, build
from pipeline.corpus import Corpus
from pipeline.store.files import write_json
from pipeline.types import Passage, Trajectory
from tests.consumers import environments
from tests.consumers.told import record_checks
from tests.replays import generate_run, load_trajectories, observed_calls
from tests.server_process import serving

ROOT = Path(__file__).parents[2]
HUNDRED = 100


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate_run(
        tmp_path_factory.mktemp("quick"), "tiny", "--pairs", "3", "--steps", "1-2", "--retriever", "bm25"
    )


@pytest.fixture(scope="module")
def address(quick: Path) -> Iterator[str]:
    with serving("serve", "tiny/latest", "--out", quick) as (_, url):
        yield url.removesuffix("/retrieve")


@pytest.mark.slow
def test_the_recipe_for_trl_sees_what_the_rollouts_saw(
    quick: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "recipes" / "trl")
    monkeypatch.setenv("DIGSITE_ADDRESS", address)
    import environment  # type: ignore[import-not-found]

    replays = list(map(observed_calls, load_trajectories(quick)))
    assert len(replays) >= 12
    assert {name for replay in replays for name, _ in replay.calls} <= {"search", "open"}
    offered = environment.of(quick / "tiny/latest/dataset")
    for replay in replays:
        tools = _begin(offered, prompt="...", golden_answers=[])
        assert [tools[name](**json.loads(text)) for name, text in replay.calls] == replay.observed


def _begin(offered: Any, **row: Any) -> dict[str, Any]:
    """Begin a trajectory, and return its tools by name, as TRL finds them."""
    trajectory = offered()
    trajectory.reset(**row)
    members = inspect.getmembers(offered, inspect.isfunction)
    return {function.__name__: getattr(trajectory, name) for name, function in members}


@pytest.mark.slow
def test_the_recipes_have_the_tools_of_the_data_sets_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "recipes" / "trl")
    import environment as recipe

    for sets in ([], ["environment.pages=true", "environment.find=true"]):
        offered_environment = environment(build(sets=["retrieval.retriever=bm25", *sets]))
        write_json(tmp_path / "environment.json", offered_environment.model_dump(mode="json"))
        offered = recipe.of(tmp_path)
        tools = _begin(offered)
        for tool in offered_environment.tools:
            assert list(inspect.signature(tools[tool.name]).parameters) == list(tool.parameters["properties"])
        assert ("find" in tools) == bool(sets)
        command = [sys.executable, str(ROOT / "recipes/verl/write_tools.py"), str(tmp_path)]
        written = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["tools"]
        assert [tool["tool_schema"]["function"] for tool in written] == [
            tool.model_dump() for tool in offered_environment.tools
        ]
    where = ["--retriever", "bm25", "--environment", str(tmp_path / "environment.json"), "--out", str(tmp_path)]
    with serving("serve", "tiny", *where) as (_, url):
        monkeypatch.setattr(recipe, "ADDRESS", url.removesuffix("/retrieve"))
        tools = _begin(offered)
        passage_id = tools["search"](query="Kessel Bridge").split("[")[1].split("]")[0]
        assert "steel arch" in tools["find"](passage_id=passage_id, words="steel arch")
        assert tools["open"](passage_id=passage_id, position=1).endswith(" of the document.")
        assert tools["open"](passage_id=passage_id, position=99).startswith("Error: The document has ")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [None, [], "bridge", 5, {"query": "\udfff"}, {"query": None}])
def test_what_a_model_gets_wrong_is_answered_and_ends_no_training(
    address: str, arguments: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "recipes")
    from trajectory import Trajectory as Asking  # type: ignore[import-not-found]

    assert Asking(address).call("search", arguments).startswith("Error: ")


def test_the_recipe_for_verl_keeps_to_the_limits_of_the_environment() -> None:
    limits, script = RunConfig().solver, (ROOT / "recipes/verl/train.sh").read_text()
    assert f"max_parallel_calls={limits.calls_per_turn} " in script
    assert f"max_assistant_turns={limits.turns} " in script


def _search_r1(hits: list[dict[str, Any]]) -> str:
    """Search-R1's rules: `llm_agent/generation.py`, `_passages2string`."""
    text = ""
    for number, hit in enumerate(hits, 1):
        title, _, text_of_passage = hit["document"]["contents"].partition("\n")
        text += f"Doc {number}(Title: {title}) {text_of_passage}\n"
    return text


def _split_title(passage: Passage) -> tuple[str, str]:
    return f'"{" ".join(passage.title.split())}"', " ".join(passage.text.split())


def _searches(trajectories: list[Trajectory], corpus: Corpus) -> list[tuple[str, list[Passage]]]:
    by_id = {passage.id: passage for passage in corpus.passages}
    calls = [call for trajectory in trajectories for call in trajectory.calls if call.tool == "search"]
    return [(call.argument, [by_id[key] for key in call.passage_ids]) for call in calls]


def test_search_r1s_client_sees_the_passages_of_the_rollouts(quick: Path, address: str, tiny: Corpus) -> None:
    searches = _searches(load_trajectories(quick), tiny)
    body = {"queries": [query for query, _ in searches], "topk": 3, "return_scores": True}
    results = httpx2.post(f"{address}/retrieve", json=body, timeout=60).json()["result"]
    expected = []
    for _, passages in searches:
        lines = [f"Doc {n}(Title: {title}) {text}\n" for n, (title, text) in enumerate(map(_split_title, passages), 1)]
        expected.append("".join(lines))
    assert len(searches) >= 12
    assert [_search_r1(hits) for hits in results] == expected


def _run_consumer(consumer: str, script: str, tools: Path, value: Any) -> Any:
    done = subprocess.run(
        [environments.python(consumer), str(Path(__file__).with_name(script)), str(tools)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            # Ray's own patience is too short for a busy machine.
            "RAY_raylet_start_wait_time_s": "300",
        },
        input=json.dumps(value),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def wiki_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    out = generate_run(tmp_path_factory.mktemp("hundred"), "wiki", "--pairs", "25", "--steps", "2-3")
    with serving("serve", "wiki/latest", "--out", out) as (_, url):
        yield out, url.removesuffix("/retrieve")


def _write_tools(dataset: Path, address: str, path: Path) -> Path:
    command = [sys.executable, str(ROOT / "recipes/verl/write_tools.py"), str(dataset)]
    environment = {**os.environ, "DIGSITE_ADDRESS": address}
    path.write_text(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    return path


@pytest.mark.network
def test_verls_registry_and_the_recipes_tool_see_what_the_rollouts_saw(
    wiki_run: tuple[Path, str], tmp_path: Path
) -> None:
    out, address = wiki_run
    replays = list(map(observed_calls, load_trajectories(out)))[:HUNDRED]
    assert len(replays) == HUNDRED
    calls = [replay.calls for replay in replays]
    tools = _write_tools(out / "wiki/latest/dataset", address, tmp_path / "tools.json")
    answers = _run_consumer("verl", "with_digsite_tool.py", tools, calls)
    assert answers == [replay.observed for replay in replays]
    done = f"{HUNDRED} trajectories replayed through its tool registry and recipes/verl/digsite_tool.py: the same bytes"
    record_checks("verl, replays", [{"version": "0.9.1", "view": "rl_verl_tool", "check": done}])
