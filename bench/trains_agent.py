"""Does a small model search better after training on the view `sft`? `python -m bench.trains_agent FOLDER ...`

Four arms answer the same held-out questions over the same index, by `digsite measure`: the model untrained, and trained
by `recipes/agent/train.py` on trajectories of the runs (`ours`), on as many of a single search (`single`), and on the
same calls over others' observations (`shuffled`). Each stage leaves its files in FOLDER and is not done again:

    runs      --pairs of CORPUS to train on and a third as many of other seeds to ask, where no --run is named
    data      arms, questions (people's too, with --gold), and the corpus (--texts)
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
from pathlib import Path
from typing import Any

from bench import agent_data
from bench.common import Interval, interval
from pipeline.corpus.manifest import resolve

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "recipes" / "agent"
STAGES = "runs", "data", "train", "measure", "table"
TRAINED = "ours", "single", "shuffled"
ARMS = "untrained", *TRAINED
MEASURES = "exact", "f1", "recall", "steps", "valid"
TEXTS = "documents with title and text, .jsonl; repeatable; left out, those of the corpus"
Scored = dict[str, Any]


def runs(asked: argparse.Namespace) -> None:
    """Generate what is to be trained on and what is to be asked, and export it. The same command goes on with a run."""
    asked.texts = asked.texts or [resolve(asked.corpus).path]
    if asked.run:
        return
    for seed, (name, pairs) in enumerate({"run": asked.pairs, "held": math.ceil(asked.pairs / 3)}.items(), 1):
        out = asked.folder / "runs" / name
        command = [sys.executable, "-m", "pipeline.cli", "generate", asked.corpus, "--pairs", pairs, "--seed", seed]
        _run_logged([*command, *asked.generating.split(), "--out", out], asked.folder / f"{name}.log")
        setattr(asked, name, [latest.resolve() for latest in out.glob("*/latest")])


def data(asked: argparse.Namespace) -> None:
    if not (asked.folder / "data" / "questions.jsonl").exists() or "data" in (asked.stage or ()):
        agent_data.write(asked)


def train(asked: argparse.Namespace) -> None:
    def one(arm: str) -> None:
        out = asked.folder / "weights" / arm
        if (out / "tokenizer.json").exists():
            return
        # Rollouts of other weights are of no use.
        shutil.rmtree(asked.folder / "rollouts" / arm, ignore_errors=True)
        (asked.folder / f"{arm}.json").unlink(missing_ok=True)
        command = [asked.python, RECIPE / "train.py", asked.folder / "data" / arm, asked.model, out, "--demo-too"]
        _run_logged([*command, *asked.training.split()], asked.folder / f"train-{arm}.log")

    _each(one, TRAINED, asked.at_once)


def measure(asked: argparse.Namespace) -> None:
    def one(arm: str) -> None:
        file = asked.folder / f"{arm}.json"
        if file.exists():
            return
        weights = asked.folder / "weights" / arm if arm in TRAINED else asked.model
        serve = [asked.python, RECIPE / "serve.py", weights, "--port", "0"]
        with (asked.folder / f"serve-{arm}.log").open("w") as log:
            server = subprocess.Popen(list(map(str, serve)), stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert server.stdout
            url = server.stdout.readline().strip()
            if not url:
                raise SystemExit(f"the server of {arm} did not start: see serve-{arm}.log")
            _run_logged(
                _measure_command(asked, arm, url), asked.folder / f"measure-{arm}.log", file.with_suffix(".part")
            )
            file.with_suffix(".part").replace(file)
        finally:
            server.kill()
            server.wait()

    _each(one, ARMS, asked.at_once)


def _measure_command(asked: argparse.Namespace, arm: str, url: str) -> list[Any]:
    """The command line of the product. Greedy, since it is the weights that are compared."""
    sets = {
        "models.default.context": 8192,
        "models.default.tools": "native",
        "models.default.sampling.temperature": 0,
        "models.default.sampling.max_tokens": 160,
        "models.default.limits.concurrency": asked.concurrency,
    }
    data, out = asked.folder / "data", asked.folder / "rollouts" / arm
    command = [sys.executable, "-m", "pipeline.cli", "measure", data / "corpus.jsonl", data / "questions.jsonl"]
    command += [
        "--model",
        f"openai:{arm}",
        "--base-url",
        url,
        "--retriever",
        "bm25",
        "--rollouts",
        1,
        "--language",
        "en",
    ]
    command += ["--concurrency", asked.concurrency, "--out", out, "--json"]
    return [*command, *(part for key, value in sets.items() for part in ("--set", f"{key}={value}"))]


def _run_logged(command: Sequence[Any], log: Path, out: Path | None = None) -> None:
    """Run it; what it says goes into the log, and its result into `out`."""
    with log.open("w") as said, (out or log.with_suffix(".out")).open("w") as result:
        done = subprocess.run(list(map(str, command)), cwd=ROOT, stdout=result, stderr=said, check=False)
    if done.returncode:
        raise SystemExit(f"{command[1]} ended with {done.returncode}: see {log}")


def _each(one: Callable[[str], None], arms: Sequence[str], at_once: int) -> None:
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(one, arms))


def table(asked: argparse.Namespace) -> None:
    sets = [json.loads(line)["dataset"] for line in agent_data.lines(asked.folder / "data" / "questions.jsonl")]
    scored = {arm: _load_scores(asked.folder / f"{arm}.json") for arm in ARMS}
    groups = {"people's": [i for i, name in enumerate(sets) if name != "ours"]}
    groups |= {name: [i for i, of in enumerate(sets) if of == name] for name in sorted(set(sets))}
    groups = {name: numbers for name, numbers in groups.items() if numbers}
    tree: dict[str, Any] = {}
    lines = ["| questions | arm | exact | F1 | evidence found | steps | valid calls | exact where calls were valid |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for group, numbers in groups.items():
        for arm in ARMS:
            rows = [scored[arm][i] for i in numbers]
            found = {name: interval(rows, lambda some, n=name: _mean(some, n)) for name in MEASURES}  # type: ignore[misc]
            good = [row for row in rows if row["valid"] == 1]
            right = f"{100 * _mean(good, 'exact'):.1f} % of {len(good)}" if good else "–"
            tree.setdefault(group, {})[arm] = {
                **found,
                "wholly_valid": len(good),
                "exact_of_these": _mean(good, "exact") if good else None,
            }
            said = [_format_interval(name, one) for name, one in found.items()]
            lines.append(f"| {group} ({len(numbers)}) | {arm} | {' | '.join(said)} | {right} |")
    lines += ["", "| questions | `ours` less | exact | F1 | evidence found |", "|---|---|---|---|---|"]
    for group, numbers in groups.items():
        for arm in (arm for arm in ARMS if arm != "ours"):
            pairs = [(scored["ours"][i], scored[arm][i]) for i in numbers]
            gains = {n: interval(pairs, lambda some, n=n: _gain(some, n)) for n in MEASURES[:3]}  # type: ignore[misc]
            tree[group][f"ours less {arm}"] = gains
            lines.append(f"| {group} | {arm} | {' | '.join(_format_interval(n, one) for n, one in gains.items())} |")
    (asked.folder / "table.json").write_text(json.dumps(tree, indent=1))
    (asked.folder / "table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def _load_scores(file: Path) -> list[Scored]:
    """A rollout of each question, with its share of valid calls."""
    rows = json.loads(file.read_text())["scored"]
    return [row | {"valid": row["calls"] / max(1, row["calls"] + row["format_errors"])} for row in rows]


def _mean(rows: Sequence[Scored], name: str) -> float:
    return math.fsum(row[name] for row in rows) / len(rows) if rows else math.nan


def _gain(pairs: Sequence[tuple[Scored, Scored]], name: str) -> float:
    return _mean([ours for ours, _ in pairs], name) - _mean([other for _, other in pairs], name)


def _format_interval(name: str, one: Interval) -> str:
    scale, unit = (1, "") if name == "steps" else (100, " %")
    return f"{scale * one.value:.1f}{unit} [{scale * one.low:.1f}, {scale * one.high:.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument(
        "--run", type=Path, action="append", default=[], help="the folder of a run to train on; repeatable"
    )
    parser.add_argument(
        "--held", type=Path, action="append", default=[], help="that of a run of other seeds; repeatable"
    )
    parser.add_argument("--corpus", default="wiki", help="what runs are generated over where none is named")
    parser.add_argument("--pairs", type=int, default=150)
    parser.add_argument("--generating", default="", help="more options of `digsite generate`, such as --model")
    parser.add_argument("--gold", type=Path, help="a folder of people's questions, .jsonl")
    parser.add_argument("--texts", type=Path, action="append", default=[], help=TEXTS)
    parser.add_argument("--model", default="HuggingFaceTB/SmolLM2-135M-Instruct", help="as for recipes/agent/train.py")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has TRL and PEFT")
    parser.add_argument("--training", default="--max-length 4096", help="more options of recipes/agent/train.py")
    parser.add_argument("--most", type=int, default=700, help="trajectories of an arm")
    parser.add_argument("--longest", type=int, default=4500, help="estimated tokens of a trajectory (column `tokens`)")
    parser.add_argument("--questions", type=int, help="ask the first so many")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=96)
    parser.add_argument("--at-once", type=int, default=1, help="arms that are trained or asked at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stage", choices=STAGES, action="append", help="these alone; left out, all")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for stage in (runs, data, train, measure, table):
        if stage.__name__ in (asked.stage or STAGES):
            stage(asked)


if __name__ == "__main__":
    main()
