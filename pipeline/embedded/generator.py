"""The embedded generator: reads a seed passage, walks to others by searching, and asks about the end of the walk.

Each turn it reads again all it was shown and either searches on, or tries out its best question with the searches that a
solver would make, or proposes it. Nothing is remembered between turns but the messages.
"""

import random
from collections import Counter
from collections.abc import Iterable

import orjson

from pipeline import prompts
from pipeline.embedded import lexicon
from pipeline.embedded.facts import names_in
from pipeline.embedded.facts_subject import plain
from pipeline.embedded.generator_bridge import bridges
from pipeline.embedded.generator_chain import Chain, chains, finals, paths, quality
from pipeline.embedded.generator_graph import Graph, build, join, readings
from pipeline.embedded.generator_wording import hops, question
from pipeline.embedded.observed import Seen, seen
from pipeline.llm.base import Request
from pipeline.text import words
from pipeline.types import Message, ToolCall, sha256

_FIRST_CALLS, _MOST_CALLS = 5, 3
_TRIED = 3
"""Chains that are tried out before the best is proposed as it is."""


def propose(request: Request) -> Message:
    """The generator's next turn."""
    inputs = next(found for message in request.messages if (found := prompts.unfence(message.content)))
    rng = random.Random(sha256(orjson.dumps(inputs, option=orjson.OPT_SORT_KEYS).decode() + str(request.sample)))
    walk = Walk(inputs, request.messages, rng)
    turn = len(request.messages)
    if request.tool_choice != "propose":
        queries = walk.next_queries()
        if queries:
            calls = [_call(f"{turn}-{i}", "search", {"query": query}) for i, query in enumerate(queries)]
            return Message(role="assistant", tool_calls=tuple(calls))
    return Message(role="assistant", tool_calls=(_call(f"{turn}-0", "propose", walk.proposal()),))


def _call(name: str, tool: str, arguments: dict[str, object]) -> ToolCall:
    return ToolCall(id=f"call-{name}", name=tool, arguments=orjson.dumps(arguments).decode())


def searched(messages: Iterable[Message]) -> dict[str, list[Seen]]:
    """The passages that each query brought, in order."""
    asked: dict[str, str] = {}
    found: dict[str, list[Seen]] = {}
    for message in messages:
        for call in message.tool_calls:
            if call.name == "search":
                asked[call.id] = orjson.loads(call.arguments)["query"]
        if message.role == "tool" and message.tool_call_id in asked:
            found[asked[message.tool_call_id]] = seen(message.content)
    return found


class Walk:
    """One generator's view of where it is."""

    def __init__(self, inputs: dict, messages: Iterable[Message], rng: random.Random) -> None:  # type: ignore[type-arg]
        self.found = searched(messages)
        self.spent = len(self.found)
        self.rng = rng
        self.budget: int = inputs["search_budget"]
        self.target: int = inputs["target_steps"]
        self.type: str = inputs["answer_type"]
        passage = inputs["passage"]
        self.seed = Seen(passage["id"], passage["title"], " ".join(passage["text"].split()))
        shown = [self.seed, *(passage for hits in self.found.values() for passage in hits)]
        self.graph: Graph = build(shown, {query: [hit.id for hit in hits] for query, hits in self.found.items()})
        join(self.graph, bridges(self.graph))
        self.jitter = {title: rng.random() for title in sorted(self.graph.nodes)}
        self.wording = rng.random()
        self._known: dict[tuple[int, str], list[Chain]] = {}

    def next_queries(self) -> list[str]:
        """What to search for now; nothing when the best chain is ready."""
        left = self.budget - self.spent
        trial = next((chain for chain in self.ranked(self.target, self.type)[:_TRIED] if not self.failed(chain)), None)
        if trial:
            return self.untried(trial)[:left]
        return self.frontier()[: min(left, _MOST_CALLS if self.found else _FIRST_CALLS)]

    def ranked(self, length: int, answer_type: str) -> list[Chain]:
        found = self._known.get((length, answer_type))
        if found is None:
            found = sorted(self._chains(length, answer_type), key=self._cost)
            self._known[length, answer_type] = found
        return found

    def _chains(self, length: int, answer_type: str) -> list[Chain]:
        if length > 1:
            return chains(self.graph, length, answer_type)
        return [Chain(self.seed.title, (), final) for final in finals(self.graph, self.seed.title, answer_type)]

    def _cost(self, chain: Chain) -> float:
        return (
            quality(self.graph, chain)
            + self.jitter[chain.titles[-1]]
            + self._pick(chain)
            + 3 * (self.seed.title not in chain.titles)
        )

    def _pick(self, chain: Chain) -> float:
        """Chance by the final fact, so that one thing is not always asked for the same."""
        return random.Random(f"{self.wording}{chain.final.stated.fact.relation}").random() * 2

    def trials(self, chain: Chain) -> list[str]:
        return [hop["sub_question"] for hop in hops(self.graph, chain)] + [self.ask(chain)]

    def untried(self, chain: Chain) -> list[str]:
        return [query for query in self.trials(chain) if query not in self.found and words(query)]

    def failed(self, chain: Chain) -> bool:
        """Does a search that was made for it show that fewer would do?"""
        homes = [stated.passage.id for stated in chain.evidence]
        *single, whole = self.trials(chain)
        for place, query in enumerate(single):
            shown = {hit.id for hit in self.found.get(query, ())}
            if shown & set(homes[place + 1 :]):
                return True
        shown = {hit.id for hit in self.found.get(whole, ())}
        return len(homes) > 1 and homes[-1] in shown and bool(shown & set(homes[:-1]))

    def ask(self, chain: Chain) -> str:
        return question(self.graph, chain, random.Random(f"{self.wording}"))

    def frontier(self) -> list[str]:
        """Names to look up: those whose passage would make the longest chain, then those that the seed mentions."""
        asked = {query.lower() for query in self.found}
        known = {plain(title).lower() for title in self.graph.nodes}
        into, out = self._reach()
        worth: dict[str, float] = {}
        heard = Counter(
            names[0]
            for told in self.graph.stated.values()
            for stated in told
            if stated.fact.kind == "link" and (names := readings(stated))
        )

        def offer(name: str, value: float) -> None:
            if name.lower() not in asked and len(name) > 3:
                worth[name] = max(worth.get(name, 0), value + 0.3 * self.rng.random())

        for title, told in self.graph.stated.items():
            near = 0.5 * (title == self.seed.title)
            offer(plain(title), out.get(title, 0) + near - 0.3)
            for stated in told:
                if stated.fact.kind == "link" and (names := readings(stated)):
                    seen_before = any(name.lower() in known for name in names)
                    value = into.get(title, 0) + near - 0.4 * stated.fact.shared - 0.4 * stated.fact.named - 0.8 * seen_before
                    offer(names[0], value + 0.3 * min(2, heard[names[0]] - 1))
        for name in names_in(self.seed.text):
            if name.lower() not in lexicon.HUBS:
                offer(name, -0.2)
        return sorted((name for name in worth), key=lambda name: -worth[name])

    def _reach(self) -> tuple[dict[str, int], dict[str, int]]:
        """How many edges lead to each title at most, and from it."""
        into: dict[str, int] = {}
        out: dict[str, int] = {}
        for length in range(2, self.target + 1):
            for run in paths(self.graph, length):
                into[run[-1].target] = length - 1
                out[run[0].source] = length - 1
        return into, out

    def proposal(self) -> dict[str, object]:
        """The best there is: of the length and type asked for, else of another type, else shorter."""
        others = [self.type, *(kind for kind in ("entity", "date", "number") if kind != self.type)]
        for length in range(self.target, 0, -1):
            for kind in others:
                ranked = self.ranked(length, kind)
                good = [chain for chain in ranked if not self.failed(chain)] or (ranked if length > 1 else [])
                if good:
                    return self._proposed(good[0])
        return {"question": "", "answer": "", "answer_type": self.type, "hops": []}

    def _proposed(self, chain: Chain) -> dict[str, object]:
        final = chain.final
        return {
            "question": self.ask(chain),
            "answer": final.answer,
            "answer_aliases": [],
            "answer_type": final.kind,
            "answer_precision": final.stated.fact.precision if final.kind == "date" else "",
            "hops": hops(self.graph, chain),
            "family": "control" if len(chain.edges) == 0 else "chain",
        }

