"""The curator, which grows an information tree from a seed (RAGShaper's InfoCurator, arXiv 2601.08699, §3.1).

The rules of this module shape the tree: how often a path branches, how deep it goes, that no action is repeated and
that each one reaches something new. The model only chooses the next action, once per node, from the path to it.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState, fetch, identity
from pipeline.agents.parse import parse
from pipeline.agents.tools import EXPLORE, ExploreArguments, show_passage
from pipeline.config.loop import AgentLimits
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.llm.deadline import deadline
from pipeline.text import normalise, strip_tag, words
from pipeline.types import Call, Node, Passage, Seed, Tree, Usage, sha256

TRIES = 6
"""End a path after this many actions that reach nothing new."""
_ACTION_LIMITS = AgentLimits(searches=0, turns=3)
"""One action, and two more turns to correct its form."""


async def grow(seed: Seed, context: RunContext) -> Tree:
    """Grow a tree and choose its best paths. The tree is a root alone if nothing can be reached."""
    start = seed.passage
    root = Node(parent=None, tool="", argument="", intent="", passage_ids=(start.id,), reached=(start.title,))
    growth = _Growth(seed, context, [root], {start.id: start})
    await growth.expand(0, context.config.tree.depth)
    tree = growth.tree
    # If two paths have the same score, the deeper one comes first, then the earlier one.
    leaves = sorted(tree.leaves, key=lambda leaf: (-tree.score(leaf), -len(tree.path(leaf)), leaf))
    return tree.model_copy(update={"paths": tuple(leaves[: context.config.tree.paths])})


@dataclass
class _Growth:
    """A tree as it grows. `tried` maps the identity of an action to its form in prompts."""

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

    async def expand(self, parent: int, levels: int) -> None:
        """Grow at most this many levels below a node, depth first."""
        settings = self.context.config.tree
        draw = random.Random(sha256(f"{self.seed.place}:branch:{parent}")).random()
        branches = levels > settings.depth - settings.branching_depth and draw < settings.branching
        for _ in range(1 + branches if levels else 0):
            child = await self._add_child(parent, levels)
            if child is None:
                return
            await self.expand(child, levels - 1)

    async def _add_child(self, parent: int, levels: int) -> int | None:
        path_passages = [self.passages[i] for i in self.tree.passages(parent)]
        for _ in range(TRIES):
            action = await self._choose_action(parent, levels, path_passages)
            if action is None or action.tool == "leave":
                return None
            state = _state(path_passages)
            passages = await fetch(self._agent(), state, "", action.tool, action.argument.strip())
            call = state.calls[0]
            reached = new_titles(call, passages, path_passages)
            self.tried[identity(action.tool, action.argument, state)] = {
                "tool": action.tool,
                "argument": action.argument,
                "found": list(dict.fromkeys(passage.title for passage in passages)),
                "new": list(reached),
            }
            if reached:
                self.nodes.append(
                    Node(
                        parent=parent,
                        tool=call.tool,
                        argument=call.argument,
                        intent=action.intent,
                        passage_ids=call.passage_ids,
                        reached=reached,
                    )
                )
                self.passages |= {passage.id: passage for passage in passages}
                return len(self.nodes) - 1
            self.refused += 1
        return None

    async def _choose_action(self, parent: int, levels: int, path_passages: list[Passage]) -> ExploreArguments | None:
        limited = self._agent().room is not None
        messages = self.context.prompt(
            "curator/explore",
            passage=show_passage(self.seed.passage),
            path=steps(self.tree.path(parent), self.passages, limited=limited),
            left=levels,
            tried=list(self.tried.values()),
        )
        async with deadline(self.context.config.runtime.rollout_seconds):
            trajectory = await converse(self._agent(), messages, sample=self.seed.draw, state=_state(path_passages))
        self.usage += trajectory.usage
        return parse(ExploreArguments, trajectory.final) if trajectory.final else None

    def _agent(self) -> Agent:
        return Agent(
            llm=self.context.llm,
            model=self.context.config.models.of("curator"),
            tools=(EXPLORE,),
            limits=_ACTION_LIMITS,
            retriever=self.context.side(self.seed.side),
            k=self.context.config.retrieval.k,
            accept=self._accept,
        )

    def _accept(self, arguments: str, state: AgentState) -> None:
        action = parse(ExploreArguments, arguments)
        if action.tool == "search" and not words(action.argument):
            raise FormatError("The query holds no word.")
        if action.tool == "open" and action.argument not in state.passages:
            raise FormatError(f"The path holds no passage '{action.argument[:40]}'.")
        if action.tool != "leave" and identity(action.tool, action.argument, state) in self.tried:
            raise FormatError("This action was tried before; take another one.")


def _state(passages: Iterable[Passage]) -> AgentState:
    return AgentState(passages={passage.shown_id: passage for passage in passages})


def new_titles(call: Call, results: Iterable[Passage], path: Sequence[Passage]) -> tuple[str, ...]:
    """Return the titles of results that the path lacks and that are linked to its passages.

    A result is linked if it is from a document of the path, if a passage of the path names its title, if it names a
    title of the path, or if it and the path both name the query. All other results only fill the k of the search.
    """
    ids, documents = {passage.id for passage in path}, {passage.document_id for passage in path}
    titles = {strip_tag(passage.title) for passage in path}
    path_text = _pad(" | ".join(passage.text for passage in path))
    links = [_pad(title) for title in titles]
    if call.tool == "search" and _pad(call.argument) in path_text:
        links.append(_pad(call.argument))
    new = dict[str, None]()
    for passage in results:
        title, text = strip_tag(passage.title), _pad(passage.text)
        linked = title not in titles and (_pad(title) in path_text or any(link in text for link in links))
        if passage.id not in ids and (linked or passage.document_id in documents):
            new[passage.title] = None
    return tuple(new)


def _pad(text: str) -> str:
    """Normalise a text and add a blank at each end, so that `in` matches whole words only.

    Unlike `contains`, this normalises each text once.
    """
    return f" {normalise(text)} "


def steps(
    path: Sequence[Node], passages: Mapping[str, Passage], *, limited: bool, numbered: bool = False
) -> list[dict[str, Any]]:
    """Return the actions of a path as a prompt shows them.

    In each, `found` are the ids of the results, best first, and `passages` the texts that no earlier action shows. If
    `limited`, only passages with a title that the action reached have their text; the others are in `titles`.
    """
    shown_ids = set(path[0].passage_ids)
    actions: list[dict[str, Any]] = []
    for node in path[1:]:
        new = [passages[i] for i in node.passage_ids if i not in shown_ids]
        full_text = [passage for passage in new if not limited or passage.title in node.reached]
        shown_ids |= {passage.id for passage in full_text}
        actions.append(
            {
                "tool": node.tool,
                "argument": node.argument,
                "intent": node.intent,
                "found": [passages[i].shown_id for i in node.passage_ids],
                "passages": [show_passage(passage, numbered=numbered) for passage in full_text],
                "titles": [{"id": p.shown_id, "title": p.heading} for p in new if p not in full_text],
            }
        )
    return actions
