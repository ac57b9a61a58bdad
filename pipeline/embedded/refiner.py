"""The embedded refiner: acts on what was found out about a draft.

Too easy: a longer chain, or one without the hops that a shortcut made needless. Unsolved or unsound: the clues get all
their adjectives, or a doubtful hop, or the final fact, is replaced. It keeps as much of the draft's chain as it can,
which it finds again by reading the passages.
"""

from collections.abc import Callable, Iterator
from typing import Any

from pipeline.embedded.generator import chance, final, nothing, read_inputs, searched, searches, shown, turns
from pipeline.embedded.generator_chain import Chain, finals, sound
from pipeline.embedded.generator_walk import Goal, Walk
from pipeline.llm.base import Request
from pipeline.text import normalise
from pipeline.types import Message

_EASIEST = ("number", "date", "entity")
_AT_ONCE = 8
"""Searches of its one turn of them: a second one found next to nothing more."""
_SAYS_NOTHING = frozenset("this that which what date day year whom".split())
_NOT_UNDERSTOOD = ("solver_error", "generator_error")


def revise(request: Request) -> Message:
    """The refiner's next turn."""
    inputs = read_inputs(request)
    may_search = request.tool_choice != "revise" and any(tool.name == "search" for tool in request.tools)
    revision = Revision(inputs, request, budget=inputs["search_budget"] if may_search else 0)
    queries = revision.next_queries() if may_search else []
    return searches(request, queries) if queries else final(request, revision.arguments())


class Revision:
    """One refiner's view: the draft's chain, if it is found again, and the walk that could replace it."""

    def __init__(self, inputs: dict[str, Any], request: Request, budget: int) -> None:
        *earlier, self.draft = inputs["drafts"]
        self.feedback = self.draft["feedback"]
        self.said = [_core(draft["question"]) for draft in inputs["drafts"]]
        self.failed = [_homes(draft) for draft in earlier]
        self.easy = self.feedback["label"] == "too_easy"
        self.unread = self.feedback["cause"] in _NOT_UNDERSTOOD and not self.feedback["hops"]
        """Nobody made sense of it, and no hop in particular is to blame."""
        self.steps: int = inputs["target_steps"]
        read = {passage["id"]: shown(passage) for passage in inputs["seen"]}
        homes = [hop["passage_id"] for hop in self.draft["hops"] if hop["passage_id"] in read]
        ordered = [read[home] for home in dict.fromkeys([*homes, *read])]
        self.longer = self.steps + (self.easy and len(self.draft["hops"]) >= self.steps)
        goal = Goal(self.longer, inputs["answer_types"], budget)
        self.homes = set(homes)
        blamed = self._blamed()
        self.doubtful = {
            (hop["passage_id"], hop["answer"])
            for place, hop in enumerate(self.draft["hops"])
            if place in blamed and (place < len(self.draft["hops"]) - 1 or not self.easy)
        }
        found, asked = searched(request.messages, ordered), turns(request.messages)
        self.walk = Walk(goal, ordered, found, chance(request, inputs), turns=asked, extra_cost=self._cost)
        self.turns = asked
        self.chain = self._recognised()

    def _blamed(self) -> list[int]:
        """The hops that were found wanting. Where a passage was not found, the first such and the hop that leads to it:
        whoever takes another name from that one looks in vain for all that follow."""
        told: list[int] = self.feedback["hops"]
        return [told[0] - 1, told[0]] if told and self.feedback["cause"] == "retrieval_miss" else told

    def _cost(self, chain: Chain) -> float:
        """What it costs to be unlike the draft, or like one not understood, and to keep what was found wrong."""
        homes = {stated.passage.id for stated in chain.evidence}
        kept = len(homes & self.homes)
        return 4.0 * self._keeps_doubt(chain) + (kept if self.unread else -kept)

    def _keeps_doubt(self, chain: Chain) -> bool:
        pairs = zip(chain.evidence, chain.answers, strict=True)
        return any((stated.passage.id, answer) in self.doubtful for stated, answer in pairs)

    def _recognised(self) -> Chain | None:
        """The draft's chain, read again from its passages."""
        hops, answers = self.draft["hops"], [hop["answer"] for hop in self.draft["hops"]]
        for chain in self.walk.ranked(len(hops), self.draft["answer_type"]) if hops else ():
            homes = [stated.passage.id for stated in chain.evidence]
            if homes == [hop["passage_id"] for hop in hops] and list(chain.answers) == answers:
                return chain
        return None

    def next_queries(self) -> list[str]:
        """Only a chain that must change is searched for."""
        if not self.easy and any(self._differs(arguments) for arguments in self._options()[0]()):
            return []
        return [] if self.turns else self.walk.next_queries(_AT_ONCE)

    def arguments(self) -> dict[str, object]:
        """The first option that no draft has said yet; nothing where only what failed could be said again. Passages
        that an earlier draft failed with come last."""
        again = None
        for arguments in (arguments for make in self._options() for arguments in make()):
            if self._differs(arguments):
                if _homes(arguments) not in self.failed:
                    return arguments
                again = again or arguments
        return again or nothing(self.draft["answer_type"])

    def _differs(self, arguments: dict[str, object]) -> bool:
        return _core(str(arguments["question"])) not in self.said

    def _options(self) -> tuple[Callable[[], Iterator[dict[str, object]]], ...]:
        if self.easy:
            return self._longer, self._without_doubt
        if self.feedback["cause"] == "retrieval_miss":
            return self._without_doubt, self._told_more
        return self._without_doubt, self._other_final, self._told_more

    def _longer(self) -> Iterator[dict[str, object]]:
        """One more hop than the target, so that a shortcut leaves enough."""
        yield from self._chains(self.longer)

    def _without_doubt(self) -> Iterator[dict[str, object]]:
        """Another chain of the length wanted, without the hops that were found wanting."""
        yield from self._chains(self.steps)

    def _chains(self, length: int) -> Iterator[dict[str, object]]:
        for kind in self.walk.goal.types:
            for chain in self.walk.ranked(length, kind):
                if chain != self.chain and not self._keeps_doubt(chain) and not self.walk.failed(chain):
                    yield self.walk.arguments(chain)

    def _told_more(self) -> Iterator[dict[str, object]]:
        """The same chain with the adjectives of every noun."""
        if self.chain:
            yield self.walk.arguments(self.chain, full=True)

    def _other_final(self) -> Iterator[dict[str, object]]:
        """Another fact of the last thing."""
        if not self.chain:
            return
        for kind in (kind for kind in _EASIEST if kind in self.walk.goal.types):
            for end in finals(self.walk.graph, self.chain.titles[-1], kind):
                chain = self.chain._replace(final=end)
                if end.stated != self.chain.final.stated and sound(self.walk.graph, chain):
                    yield self.walk.arguments(chain)


def _homes(draft: dict[str, Any]) -> list[str]:
    return [hop["passage_id"] for hop in draft["hops"]]


def _core(question: str) -> list[str]:
    """The words in which two questions must differ to be different ones."""
    return [word for word in normalise(question).split() if word not in _SAYS_NOTHING]
