"""The tree that a curator explores from one seed: RAGShaper's information tree (arXiv 2601.08699, §3.1)."""

from typing import Literal

from pipeline.types.data import Data
from pipeline.types.rollout import Usage


class Node(Data):
    """An action and its observation. The root, the seed's passage, has neither parent nor action."""

    parent: int | None
    """Index in `Tree.nodes`."""
    tool: Literal["", "search", "open"]
    argument: str
    intent: str
    """The curator's reason for it, in its own words."""
    passage_ids: tuple[str, ...]
    """Corpus ids of the observation, in order."""
    reached: tuple[str, ...]
    """Titles of the passages that are new on the path and connected with its texts."""


class Tree(Data):
    nodes: tuple[Node, ...]
    """All nodes, depth first, from the root."""
    paths: tuple[int, ...] = ()
    """The leaves whose paths were chosen, best first."""
    composed: int | None = None
    """The leaf of the path that the round's draft was composed from."""
    refused: int = 0
    """The number of actions that reached nothing new; they are not nodes."""
    usage: Usage = Usage()
    """The usage of the curator alone."""

    @property
    def leaves(self) -> tuple[int, ...]:
        parents = {node.parent for node in self.nodes}
        return tuple(index for index in range(len(self.nodes)) if index not in parents)

    def path(self, leaf: int) -> tuple[Node, ...]:
        node = self.nodes[leaf]
        return (node,) if node.parent is None else (*self.path(node.parent), node)

    def passages(self, leaf: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(i for node in self.path(leaf) for i in node.passage_ids))

    def score(self, leaf: int) -> int:
        """Return the number of documents on a path (RAGShaper's path selection).

        A passage counts once: BM25 always fills its k, so that counting it again would only measure the depth.
        """
        return len(self.passages(leaf))
