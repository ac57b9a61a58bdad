"""Named sets of settings, each as a tree of the values that differ from the defaults."""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # The paper's loop: without audit, checks, early stop, confirmation and seekers; one rollout as feedback; a refiner
    # that cannot search.
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
    # The paper's tree, whose questions have at least three hops. The paper has no loop, so Digsite's is used.
    "ragshaper": {
        "strategy": "ragshaper",
        "steps": [3, 4],
        "tree": {"depth": 30, "hops": 3, "composer_searches": 0},
        "distractors": {"kinds": ["doppelganger", "false_shortcut", "fragmented_puzzle", "subjective_fallacy"]},
        "teacher": {"keep": "f1"},
        "difficulty": {"adversarial": False},
    },
}
