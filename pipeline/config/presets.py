"""Named sets of settings: what differs from the defaults of `pipeline.config`, as a tree of plain values."""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # The paper's loop: no audit, checks, early stop, confirmation or seekers; one trace of feedback; a refiner without
    # search.
    "sage": {
        "strategy": "sage",
        "loop": {
            "audit": False,
            "rounds": 2,
            "early_stop": False,
            "confirm": False,
            "refiner_searches": False,
            "feedback_rollouts": "one",
            "last_round_relaxed": True,
        },
        "checks": {"run": ()},
        "difficulty": {"adversarial": False},
    },
    # The paper's tree under this product's loop, which it has none of; its questions have three hops at least.
    "ragshaper": {
        "strategy": "ragshaper",
        "steps": [3, 4],
        "tree": {"depth": 30, "hops": 3, "composer_searches": 0},
        "distractors": {"kinds": ["doppelganger", "false_shortcut", "fragmented_puzzle", "subjective_fallacy"]},
        "teacher": {"keep": "f1"},
        "difficulty": {"adversarial": False},
    },
}
