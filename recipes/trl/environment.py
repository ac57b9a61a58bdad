"""A data set's tools for TRL's GRPOTrainer: `environment_factory=Digsite` gives every rollout its own trajectory."""

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from trajectory import Trajectory

ADDRESS = os.environ.get("DIGSITE_ADDRESS", "http://127.0.0.1:8000")


class Digsite:
    """Its public methods are the tools; their names and descriptions are those of environment.json."""

    def reset(self, **row: Any) -> None:
        """A fresh trajectory. Nothing is added to the prompt."""
        self._trajectory = Trajectory(ADDRESS)

    def search(self, query: str) -> str:
        """Search the corpus. Returns the passages that match the query best.

        Args:
            query: A short query in plain words.
        """
        return self._trajectory.call("search", {"query": query})

    def open(self, passage_id: str) -> str:
        """Read the whole document of a passage that a search has returned.

        Args:
            passage_id: The id in brackets, as the search showed it.
        """
        return self._trajectory.call("open", {"passage_id": passage_id})

    def answer(self, answer: str) -> str:
        """Give the final answer: a short span, without a sentence around it.

        Args:
            answer: The answer.
        """
        return self._trajectory.call("answer", {"answer": answer})
