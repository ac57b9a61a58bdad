"""Rows of NeMo Gym, and the run's own measurements as its reward profiles."""

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipeline.exports.environments.run_environment import RunEnvironment
from pipeline.reward.reward import score
from pipeline.types import Record, Rollout

_STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "mean": statistics.fmean,
    "max": max,
    "min": min,
    "median": statistics.median,
    "std": lambda values: statistics.stdev(values) if len(values) > 1 else 0.0,
}
"""What `gym eval profile` computes of each number of a rollout."""


def render_data(run: RunEnvironment, records: Iterable[Record]) -> dict[str, str]:
    """Return the files of `data/` by name: the rows of each split, and a reward profile for each measured model."""
    rows = {name: [_build_row(run, question) for question in questions] for name, questions in run.splits.items()}
    numbered = {row["id"]: (index, row) for name in rows for index, row in enumerate(rows[name])}
    profiles: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        for model, rollouts in _measured_models(record):
            if record.key in numbered and rollouts:
                profiles.setdefault(model, []).append(_profile_task(*numbered[record.key], rollouts))
    files = rows | {f"{model}_reward_profiling": profile for model, profile in sorted(profiles.items())}
    return {f"data/{name}.jsonl": _render_lines(lines) for name, lines in files.items()}


def _render_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _build_row(run: RunEnvironment, question: Mapping[str, Any]) -> dict[str, Any]:
    tools = [{"type": "function", **tool["function"], "strict": False} for tool in question["tools"]]
    turns = [{"role": "system", "content": question["system"]}, {"role": "user", "content": question["question"]}]
    columns = {name: value for name, value in question.items() if name not in ("system", "tools", "split")}
    agent = {"type": "responses_api_agents", "name": f"{run.module}_agent"}
    return {"responses_create_params": {"input": turns, "tools": tools}, **columns, "agent_ref": agent}


def _measured_models(record: Record) -> Iterator[tuple[str, Sequence[Rollout]]]:
    """Yield each model that was measured on a question, with its rollouts: the run's solver, then the policies."""
    yield "solver", record.confirmation or (record.last.rollouts if record.last else ())
    policies = dict.fromkeys(measurement.policy for measurement in record.measurements)
    for policy in policies:
        measurement = record.measurement(policy)
        yield policy.replace("/", "_"), measurement.rollouts if measurement else ()


def _profile_task(index: int, row: dict[str, Any], rollouts: Sequence[Rollout]) -> dict[str, Any]:
    numbers = [_measure_rollout(rollout, row["golden_answers"]) for rollout in rollouts]
    profile: dict[str, Any] = {"_ng_task_index": index}
    for statistic, compute in _STATISTICS.items():
        profile |= {f"{statistic}/{name}": float(compute([n[name] for n in numbers])) for name in numbers[0]}
    infos = [
        {"rollout_id": f"{index}:{place}", "_ng_task_index": index, "_ng_rollout_index": place, **values}
        for place, values in enumerate(numbers)
    ]
    return profile | {
        "sample": row,
        "num_rollouts": len(rollouts),
        "expected_num_rollouts": len(rollouts),
        "missing_num_rollouts": 0,
        "reward_profile_completion_pct": 100.0,
        "rollout_infos": infos,
    }


def _measure_rollout(rollout: Rollout, golds: list[str]) -> dict[str, float]:
    usage = rollout.trajectory.usage
    return {
        "reward": score(rollout.answer, golds),
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
