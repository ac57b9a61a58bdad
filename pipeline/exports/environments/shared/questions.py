"""The questions of this package and the environment in which the run's own rollouts answered them."""

import json
import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENVIRONMENT: dict[str, Any] = json.loads((HERE / "environment.json").read_text(encoding="utf-8"))
ADDRESS = os.environ.get("DIGSITE_ADDRESS", "http://127.0.0.1:8000")
"""The address that `digsite serve` has printed, without a path."""


def load_questions(split: str) -> list[dict[str, Any]]:
    with (HERE / "questions.jsonl").open(encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        return [row for row in rows if row["split"] == split]
