"""A data set's tools for TRL's GRPOTrainer: `environment_factory=of(DATASET)` gives each rollout its trajectory."""

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from trajectory import Trajectory

ADDRESS = os.environ.get("DIGSITE_ADDRESS", "http://127.0.0.1:8000")


class Digsite:
    """Its public methods are the tools; their names and descriptions are those of environment.json."""

    """Do searches for some questions not find all of the corpus? Then each names its question."""

    def reset(self, **row: Any) -> None:
        """Begin a trajectory. Nothing is added to the prompt."""
        self._trajectory = Trajectory(ADDRESS, "")

    def search(self, query: str) -> str:
        """Search the corpus. Returns the passages that match the query best.

        Args:
            query: A short query in plain words.
        """
        return self._trajectory.call("search", {"query": query})

    def open(self, passage_id: str) -> str:
        """Read the passages around one that a search has returned.

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


class Pages(Digsite):
    """With `environment.pages`."""

    def open(self, passage_id: str, position: int = 0) -> str:
        """Read some passages of the document of a passage that a search has returned: those around it, or from a
        position on. Says how many passages the document has.

        Args:
            passage_id: The id in brackets, as the search showed it.
            position: Number of the passage to begin at; 0 for those around passage_id.
        """
        return self._trajectory.call("open", {"passage_id": passage_id, "position": position})


class Find(Digsite):
    """With `environment.find`."""

    def find(self, passage_id: str, words: str) -> str:
        """List the passages of the document of one passage that hold certain words best.

        Args:
            passage_id: The id in brackets, as the search showed it.
            words: A few words that the passage you look for would hold.
        """
        return self._trajectory.call("find", {"passage_id": passage_id, "words": words})


def of(dataset: str | Path) -> type[Digsite]:
    """Build the class with the tools that the environment of a data set has."""
    given = json.loads((Path(dataset) / "environment.json").read_text())
    tools = given["tools"]
    parts: list[type[Digsite]] = []
    parts += [Pages] if any("position" in tool["parameters"]["properties"] for tool in tools) else []
    parts += [Find] if any(tool["name"] == "find" for tool in tools) else []
    return type("Environment", (*parts, Digsite), {})
