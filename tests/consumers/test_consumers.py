"""Each consumer's own code on shards as `export` writes them; what it said goes to `docs/CONSUMERS.md`.

`make test-consumers` runs it: it installs some gigabytes of packages into `.consumers/`, once.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import RunConfig, build
from pipeline.exports.data_set import Selection, export
from pipeline.exports.views import base
from pipeline.types import Record
from tests.answer_types import decided, listed
from tests.consumers import environments
from tests.consumers.told import record_checks
from tests.exports.sampled import make_config as make_thinking_config
from tests.exports.sampled import sample_records
from tests.fork_records import branched
from tests.records import hostile
from tests.teacher_rollouts import taught
from tests.twin_records import twinned

SCRIPTS = {
    "readers": ("trl", "with_readers.py"),
    "TRL": ("trl", "with_trl.py"),
    "TRL, GRPO": ("trl", "with_trl_grpo.py"),
    "verl": ("verl", "with_verl.py"),
    "ms-swift": ("swift", "with_swift.py"),
    "LLaMA-Factory": ("llamafactory", "with_llamafactory.py"),
    "verifiers": ("verifiers", "with_verifiers.py"),
    "OpenRLHF": ("openrlhf", "with_openrlhf.py"),
    "sentence-transformers": ("retrievers", "with_sentence_transformers.py"),
    "Ragas": ("ragas", "with_ragas.py"),
    "DeepEval": ("deepeval", "with_deepeval.py"),
    "FlagEmbedding": ("flagembedding", "with_flagembedding.py"),
}
SPECIAL: list[Callable[..., Record]] = [listed, decided, twinned]
CONFIG = build(
    values={
        "models": {"default": {"provider": "openai", "model": "qwen", "base_url": "http://127.0.0.1:9/v1"}},
        "operations": ["list", "yes_no"],
        "gates": {"rl_yes_no": True},
        "questions": {"unanswerable": 0.1},
    }
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "dataset"
    records = [
        *(branched(n, "qwen", "eval" if n % 6 == 5 else "train") for n in range(24)),
        *(taught(n, "qwen", "eval" if n % 6 == 5 else "train") for n in range(24, 36)),
        *(example(n, model="qwen", side="eval" if n > 41 else "train") for n, example in enumerate(SPECIAL * 3, 36)),
    ]
    export(records, folder, Selection(config=CONFIG))
    # Beside it, of a model that thinks and was not sent its thoughts again.
    thoughtful = [example.record for example in sample_records("strip", parallel=True, words=True, records_=4)]
    export(thoughtful, folder.parent / "thinking", Selection(config=make_thinking_config("strip"), views=("sft",)))
    # And of a model that had its tools in words.
    in_words = CONFIG.model_dump(mode="json", exclude_defaults=True)
    in_words["models"]["default"]["tools"] = "text"
    views = ("sft", "rl_trl", "rl_verl_tool")
    export(
        [branched(n, "qwen") for n in range(9)],
        folder.parent / "words",
        Selection(config=build(values=in_words), views=views),
    )
    return folder


def _ask(name: str, folder: Path) -> list[dict[str, Any]]:
    environment, script = SCRIPTS[name]
    done = subprocess.run(
        [environments.python(environment), Path(__file__).parent / script, folder],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder.parent / "hf"), "CUDA_VISIBLE_DEVICES": ""},
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("result ")]


@pytest.mark.network
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_consumer_s_code_loads_its_views(name: str, dataset: Path) -> None:
    checks = _ask(name, dataset)
    assert checks
    record_checks(name, checks)


@pytest.mark.network
def test_readers_load_hostile_text(tmp_path: Path) -> None:
    export([hostile(n) for n in range(3)], tmp_path / "dataset", Selection(config=RunConfig()))
    assert _ask("readers", tmp_path / "dataset")


def test_every_view_is_loaded_by_its_consumer_or_has_its_rules_as_code() -> None:
    scripts = "".join((Path(__file__).parent / script).read_text() for _, script in SCRIPTS.values())
    loaded = {view for view in base.names() if f'"{view}"' in scripts}
    ruled = {view for view in base.names() if (environments.ROOT / f"tests/exports/views/test_{view}.py").is_file()}
    assert loaded | ruled == set(base.names())
    assert {
        "sft",
        "sft_openrlhf",
        "sft_sharegpt",
        "dpo",
        "kto",
        "rl_trl",
        "rl_verl_tool",
        "rl_openrlhf",
        "rl_verifiers",
    } <= loaded
