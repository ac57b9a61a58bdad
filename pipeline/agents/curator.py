"""The curator: grows an information tree from a seed (RAGShaper's InfoCurator, arXiv 2601.08699, §3.1).

The tree's shape is not the model's: how often a path branches, how deep it goes, that no action is repeated and that
each one reaches something new are rules of this file. The model says what to do next, once per node, from its path.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState, fetch, identity
from pipeline.agents.parse import parse
from pipeline.agents.tools import EXPLORE, ExploreArguments, show_passage
from pipeline.config.limits import AgentLimits
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.llm.deadline import deadline
from pipeline.text import normalise, strip_tag, words
from pipeline.types import Call, Node, Passage, Seed, Tree, Usage, sha256

TRIES = 6
"""Actions that may reach nothing new before a path ends."""
_ASKED = AgentLimits(searches=0, turns=3)
"""One action, and two more tries to say it well."""


async def grow(seed: Seed, context: RunContext) -> Tree:
    """The whole tree, its best paths chosen; a root alone where nothing could be reached."""
    home = seed.passage
    root = Node(parent=None, tool="", argument="", intent="", passage_ids=(home.id,), reached=(home.title,))
    growth = _Growth(seed, context, [root], {home.id: home})
    await growth.expand(0, context.config.tree.depth)
    tree = growth.tree
    # The deeper path first where two hold as much, then the earlier one.
    leaves = sorted(tree.leaves, key=lambda leaf: (-tree.score(leaf), -len(tree.path(leaf)), leaf))
    return tree.model_copy(update={"paths": tuple(leaves[: context.config.tree.paths])})


@dataclass
class _Growth:
    """A tree as it grows. `tried` maps an action's identity to how prompts show it."""

    seed: Seed
    context: RunContext
    nodes: list[Node]
    passages: dict[str, Passage]
    tried: dict[tuple[str, str], dict[str, Sequence[str]]] = field(default_factory=dict)
    refused: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def tree(self) -> Tree:
        return Tree(nodes=tuple(self.nodes), refused=self.refused, usage=self.usage)

    async def expand(self, parent: int, left: int) -> None:
        """Depth first: the whole branch below the first child is grown before the second child."""
        settings = self.context.config.tree
        drawn = random.Random(sha256(f"{self.seed.key}:branch:{parent}")).random()
        branches = left > settings.depth - settings.branching_depth and drawn < settings.branching
        for _ in range(1 + branches if left else 0):
            child = await self._child(parent, left)
            if child is None:
                return
            await self.expand(child, left - 1)

    async def _child(self, parent: int, left: int) -> int | None:
        """The index of a new node, or None where the curator leaves or keeps reaching nothing new."""
        held = [self.passages[i] for i in self.tree.passages(parent)]
        for _ in range(TRIES):
            asked = await self._asked(parent, left, held)
            if asked is None or asked.tool == "leave":
                return None
            state = _state(held)
            passages = await fetch(self._agent(), state, "", asked.tool, asked.argument.strip())
            call = state.calls[0]
            reached = new_titles(call, passages, held)
            found = list(dict.fromkeys(passage.title for passage in passages))
            action = {"tool": asked.tool, "argument": asked.argument, "found": found, "new": list(reached)}
            self.tried[identity(asked.tool, asked.argument, state)] = action
            if reached:
                act = {"tool": call.tool, "argument": call.argument, "intent": asked.intent}
                self.nodes.append(Node(parent=parent, passage_ids=call.passage_ids, reached=reached, **act))
                self.passages |= {passage.id: passage for passage in passages}
                return len(self.nodes) - 1
            self.refused += 1
        return None

    async def _asked(self, parent: int, left: int, held: list[Passage]) -> ExploreArguments | None:
        """What the curator wants to do next; none where it cannot say so."""
        limited = self._agent().room is not None
        messages = self.context.prompt(
            "curator/explore",
            passage=show_passage(self.seed.passage),
            path=steps(self.tree.path(parent), self.passages, limited=limited),
            left=left,
            tried=list(self.tried.values()),
        )
        async with deadline(self.context.config.how.rollout_seconds):
            trajectory = await converse(self._agent(), messages, sample=self.seed.draw, state=_state(held))
        self.usage += trajectory.usage
        return parse(ExploreArguments, trajectory.final) if trajectory.final else None

    def _agent(self) -> Agent:
        return Agent(
            llm=self.context.llm,
            model=self.context.config.models.of("curator"),
            tools=(EXPLORE,),
            limits=_ASKED,
            retriever=self.context.side(self.seed.side),
            k=self.context.config.retrieval.k,
            accept=self._accept,
        )

    def _accept(self, arguments: str, state: AgentState) -> None:
        asked = parse(ExploreArguments, arguments)
        if asked.tool == "search" and not words(asked.argument):
            raise FormatError("The query holds no word.")
        if asked.tool == "open" and asked.argument not in state.passages:
            raise FormatError(f"The path holds no passage '{asked.argument[:40]}'.")
        if asked.tool != "leave" and identity(asked.tool, asked.argument, state) in self.tried:
            raise FormatError("This action was tried before; take another one.")


def _state(held: Iterable[Passage]) -> AgentState:
    return AgentState(passages={passage.shown_id: passage for passage in held})


def new_titles(call: Call, found: Iterable[Passage], held: Iterable[Passage]) -> tuple[str, ...]:
    """The titles of those among `found` that the path does not hold and that its texts are tied to.

    Tied: it is of a document of the path, and so new detail of it; or a text of the path names the title, or the new
    text names a title of the path, or both name what was searched for. Without a tie a passage is only what a search
    engine puts into its k.
    """
    known = list(held)
    ids, documents = {passage.id for passage in known}, {passage.document_id for passage in known}
    titles = {strip_tag(passage.title) for passage in known}
    read = _padded(" | ".join(passage.text for passage in known))
    ties = [_padded(title) for title in titles]
    if call.tool == "search" and _padded(call.argument) in read:
        ties.append(_padded(call.argument))
    fresh = dict[str, None]()
    for passage in found:
        title, text = strip_tag(passage.title), _padded(passage.text)
        tied = title not in titles and (_padded(title) in read or any(tie in text for tie in ties))
        if passage.id not in ids and (tied or passage.document_id in documents):
            fresh[passage.title] = None
    return tuple(fresh)


def _padded(text: str) -> str:
    """Normalised between blanks, so that `in` finds whole words: as `contains`, with each text normalised once."""
    return f" {normalise(text)} "


def steps(
    path: Sequence[Node], passages: Mapping[str, Passage], *, limited: bool, numbered: bool = False
) -> list[dict[str, Any]]:
    """A path's actions as a prompt shows them: `found` are ids in order, `passages` the texts not shown before. For a
    model with a limit these are the texts of what the action reached; of all else that it found, `titles`.
    """
    known = set(path[0].passage_ids)
    shown_steps: list[dict[str, Any]] = []
    for node in path[1:]:
        fresh = [passages[i] for i in node.passage_ids if i not in known]
        whole = [passage for passage in fresh if not limited or passage.title in node.reached]
        known |= {passage.id for passage in whole}
        shown_steps.append(
            {
                "tool": node.tool,
                "argument": node.argument,
                "intent": node.intent,
                "found": [passages[i].shown_id for i in node.passage_ids],
                "passages": [show_passage(passage, numbered=numbered) for passage in whole],
                "titles": [{"id": p.shown_id, "title": p.heading} for p in fresh if p not in whole],
            }
        )
    return shown_steps
