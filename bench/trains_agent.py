"""Measure if a small model searches better after training on the view `sft`: `python -m bench.trains_agent FOLDER`.

Four arms answer the same held-out questions over the same index, by `digsite measure`: the model untrained, and trained
by `recipes/agent/train.py` on trajectories of the runs (`ours`), on as many of a single search (`single`), and on the
same calls over the observations of other pairs (`shuffled`). Each stage writes to FOLDER and does not run twice:

    runs      --pairs of CORPUS to train on and a third as many of other seeds to ask, unless --run is given
    data      arms, questions (human ones too, with --gold), and the corpus (--texts)
    train     weights of each arm; needs --model and the Python that has TRL
    measure   rollouts of each arm, through recipes/agent/serve.py
    table     table.md and table.json
"""

import argparse
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from bench import agent_data
from bench.common import ROOT, Interval, bootstrap
from pipeline.corpus.manifest import resolve

RECIPE = ROOT / "recipes" / "agent"
TRAINED = "ours", "single", "shuffled"
ARMS = "untrained", *TRAINED
MEASURES = "exact", "f1", "recall", "steps", "valid"
TEXTS = "documents with title and text, .jsonl; repeatable; by default those of the corpus"
Score = dict[str, Any]


def generate_runs(options: argparse.Namespace) -> None:
    """Generate and export the pairs to train on and the pairs to ask. The same command resumes an interrupted run."""
    options.texts = options.texts or [resolve(options.corpus).path]
    if options.run:
        return
    for seed, (name, pairs) in enumerate({"run": options.pairs, "held": math.ceil(options.pairs / 3)}.items(), 1):
        out = options.folder / "runs" / name
        command = [sys.executable, "-m", "pipeline.cli", "generate", options.corpus, "--pairs", pairs, "--seed", seed]
        _run_logged([*command, *options.generating.split(), "--out", out], options.folder / f"{name}.log")
        setattr(options, name, [latest.resolve() for latest in out.glob("*/latest")])


def write_data(options: argparse.Namespace) -> None:
    if not (options.folder / "data" / "questions.jsonl").exists() or "data" in (options.stage or ()):
        agent_data.write_data(options)


def train_arms(options: argparse.Namespace) -> None:
    def train_arm(arm: str) -> None:
        out = options.folder / "weights" / arm
        if (out / "tokenizer.json").exists():
            return
        # Rollouts of the old weights are worthless.
        shutil.rmtree(options.folder / "rollouts" / arm, ignore_errors=True)
        (options.folder / f"{arm}.json").unlink(missing_ok=True)
        command = [options.python, RECIPE / "train.py", options.folder / "data" / arm, options.model, out, "--demo-too"]
        _run_logged([*command, *options.training.split()], options.folder / f"train-{arm}.log")

    _run_arms(train_arm, TRAINED, options.at_once)


def measure_arms(options: argparse.Namespace) -> None:
    def measure_arm(arm: str) -> None:
        file = options.folder / f"{arm}.json"
        if file.exists():
            return
        weights = options.folder / "weights" / arm if arm in TRAINED else options.model
        serve = [options.python, RECIPE / "serve.py", weights, "--port", "0"]
        with (options.folder / f"serve-{arm}.log").open("w") as log:
            server = subprocess.Popen(list(map(str, serve)), stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert server.stdout
            url = server.stdout.readline().strip()
            if not url:
                raise SystemExit(f"the server of {arm} did not start: see serve-{arm}.log")
            log = options.folder / f"measure-{arm}.log"
            _run_logged(_build_measure_command(options, arm, url), log, file.with_suffix(".part"))
            file.with_suffix(".part").replace(file)
        finally:
            server.kill()
            server.wait()

    _run_arms(measure_arm, ARMS, options.at_once)


def _build_measure_command(options: argparse.Namespace, arm: str, url: str) -> list[Any]:
    """Build the command line, with greedy decoding so that only the weights differ."""
    sets = {
        "models.default.context": 8192,
        "models.default.tools": "native",
        "models.default.sampling.temperature": 0,
        "models.default.sampling.max_tokens": 160,
        "models.default.limits.concurrency": options.concurrency,
    }
    data, out = options.folder / "data", options.folder / "rollouts" / arm
    command = [sys.executable, "-m", "pipeline.cli", "measure", data / "corpus.jsonl", data / "questions.jsonl"]
    command += f"--model openai:{arm} --base-url {url} --retriever bm25 --rollouts 1 --language en".split()
    command += ["--concurrency", options.concurrency, "--out", out, "--json"]
    return [*command, *(part for key, value in sets.items() for part in ("--set", f"{key}={value}"))]


def _run_logged(command: Sequence[Any], log: Path, out: Path | None = None) -> None:
    """Run a command with its messages in the log and its result in `out`."""
    with log.open("w") as messages, (out or log.with_suffix(".out")).open("w") as output:
        process = subprocess.run(list(map(str, command)), cwd=ROOT, stdout=output, stderr=messages, check=False)
    if process.returncode:
        raise SystemExit(f"{command[1]} ended with {process.returncode}: see {log}")


def _run_arms(run_arm: Callable[[str], None], arms: Sequence[str], at_once: int) -> None:
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(run_arm, arms))


def write_table(options: argparse.Namespace) -> None:
    sets = [json.loads(line)["dataset"] for line in agent_data.read_lines(options.folder / "data" / "questions.jsonl")]
    scores = {arm: _load_scores(options.folder / f"{arm}.json") for arm in ARMS}
    groups = {"people's": [i for i, name in enumerate(sets) if name != "ours"]}
    groups |= {group: [i for i, name in enumerate(sets) if name == group] for group in sorted(set(sets))}
    tree: dict[str, Any] = {}
    lines = ["| questions | arm | exact | F1 | evidence found | steps | valid calls | exact where calls were valid |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    gains = ["", "| questions | `ours` less | exact | F1 | evidence found |", "|---|---|---|---|---|"]
    for group, numbers in groups.items():
        if not numbers:
            continue
        rows = {arm: [scores[arm][i] for i in numbers] for arm in ARMS}
        tree[group] = {arm: _measure(rows[arm]) for arm in ARMS}
        for arm in ARMS:
            valid = [row for row in rows[arm] if row["valid"] == 1]
            exact = f"{100 * _mean(valid, 'exact'):.1f} % of {len(valid)}" if valid else "–"
            tree[group][arm] |= {"wholly_valid": len(valid), "exact_of_these": _mean(valid, "exact") if valid else None}
            figures = " | ".join(_format_interval(name, tree[group][arm][name]) for name in MEASURES)
            lines.append(f"| {group} ({len(numbers)}) | {arm} | {figures} | {exact} |")
        for arm in (arm for arm in ARMS if arm != "ours"):
            tree[group][f"ours less {arm}"] = gain = _compare(rows["ours"], rows[arm])
            figures = " | ".join(_format_interval(name, interval) for name, interval in gain.items())
            gains.append(f"| {group} | {arm} | {figures} |")
    text = "\n".join([*lines, *gains])
    (options.folder / "table.json").write_text(json.dumps(tree, indent=1))
    (options.folder / "table.md").write_text(text + "\n")
    print(text)


def _measure(rows: Sequence[Score]) -> dict[str, Any]:
    return {name: bootstrap(rows, partial(_mean, name=name)) for name in MEASURES}


def _compare(ours: Sequence[Score], theirs: Sequence[Score]) -> dict[str, Interval]:
    """Return the gains of the first arm, paired by question."""
    pairs = list(zip(ours, theirs, strict=True))
    return {
        name: bootstrap([{name: a[name] - b[name]} for a, b in pairs], partial(_mean, name=name))
        for name in MEASURES[:3]
    }


def _load_scores(file: Path) -> list[Score]:
    """Load the score of each question, with its share of valid calls."""
    rows = json.loads(file.read_text())["scored"]
    return [row | {"valid": row["calls"] / max(1, row["calls"] + row["format_errors"])} for row in rows]


def _mean(rows: Sequence[Score], name: str) -> float:
    return math.fsum(row[name] for row in rows) / len(rows) if rows else math.nan


def _format_interval(name: str, interval: Interval) -> str:
    scale, unit = (1, "") if name == "steps" else (100, " %")
    return f"{scale * interval.value:.1f}{unit} [{scale * interval.low:.1f}, {scale * interval.high:.1f}]"


STAGES: dict[str, Callable[[argparse.Namespace], None]] = {
    "runs": generate_runs, "data": write_data, "train": train_arms, "measure": measure_arms, "table": write_table,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument(
        "--run", type=Path, action="append", default=[], help="the folder of a run to train on; repeatable"
    )
    parser.add_argument(
        "--held", type=Path, action="append", default=[], help="that of a run of other seeds; repeatable"
    )
    parser.add_argument("--corpus", default="wiki", help="generate runs over this corpus if none is given")
    parser.add_argument("--pairs", type=int, default=150)
    parser.add_argument("--generating", default="", help="more options of `digsite generate`, such as --model")
    parser.add_argument("--gold", type=Path, help="a folder of human questions, .jsonl")
    parser.add_argument("--texts", type=Path, action="append", default=[], help=TEXTS)
    parser.add_argument("--model", default="HuggingFaceTB/SmolLM2-135M-Instruct", help="as for recipes/agent/train.py")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has TRL and PEFT")
    parser.add_argument("--training", default="--max-length 4096", help="more options of recipes/agent/train.py")
    parser.add_argument("--most", type=int, default=700, help="trajectories of an arm")
    parser.add_argument("--longest", type=int, default=4500, help="estimated tokens of a trajectory (column `tokens`)")
    parser.add_argument("--questions", type=int, help="ask the first so many")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=96)
    parser.add_argument("--at-once", type=int, default=1, help="arms that are trained or options at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stage", choices=STAGES, action="append", help="run only these; repeatable")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, run_stage in STAGES.items():
        if name in (options.stage or STAGES):
            run_stage(options)


if __name__ == "__main__":
    main()
