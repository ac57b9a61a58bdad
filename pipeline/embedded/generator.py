"""The embedded generator: reads a seed passage, walks to others by searching, and asks about the end of the walk.

Each turn it reads again all it was shown and either searches on, or tries out its best question with the searches that a
solver would make, or proposes it. Nothing is remembered between turns but the messages.
"""

import random
from collections.abc import Iterable

import orjson

from pipeline import prompts
from pipeline.embedded import lexicon
from pipeline.embedded.facts_subject import plain
from pipeline.embedded.generator_chain import Chain, chains, paths, quality
from pipeline.embedded.generator_graph import Graph, build, readings
from pipeline.embedded.generator_wording import hops, question
from pipeline.embedded.observed import Seen, seen
from pipeline.llm.base import Request
from pipeline.text import words
from pipeline.types import Message, ToolCall, sha256

_MOST_CALLS = 6
_TRIED = 3
"""Chains that are tried out before the best is proposed as it is."""


def propose(request: Request) -> Message:
    """The generator's next turn."""
    inputs = next(found for message in request.messages if (found := prompts.unfence(message.content)))
    rng = random.Random(sha256(orjson.dumps(inputs, option=orjson.OPT_SORT_KEYS).decode() + str(request.sample)))
    walk = Walk(inputs, request.messages, rng)
    turn = len(request.messages)
    if request.tool_choice != "propose":
        queries = walk.next_queries()[: max(0, min(_MOST_CALLS, inputs["search_budget"] - walk.spent))]
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
        self.target: int = inputs["target_steps"]
        self.type: str = inputs["answer_type"]
        passage = inputs["passage"]
        self.seed = Seen(passage["id"], passage["title"], " ".join(passage["text"].split()))
        shown = [self.seed, *(passage for hits in self.found.values() for passage in hits)]
        self.graph: Graph = build(shown, {query: [hit.id for hit in hits] for query, hits in self.found.items()})
        self.jitter = {title: rng.random() for title in sorted(self.graph.nodes)}
        self.wording = rng.random()

    def next_queries(self) -> list[str]:
        """What to search for now; nothing when the best chain is ready."""
        best = self.ranked(self.target, self.type)
        if best:
            trial = next((chain for chain in best[:_TRIED] if not self.failed(chain)), None)
            if trial:
                return self.untried(trial)
        return self.frontier()

    def ranked(self, length: int, answer_type: str) -> list[Chain]:
        found = chains(self.graph, self.seed.title, length, answer_type)
        return sorted(found, key=lambda chain: quality(self.graph, chain) + self.jitter[chain.titles[-1]] + self._pick(chain))

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
        """Names to look up: first those met on the longest chains through the seed."""
        known = {plain(title).lower() for title in self.graph.nodes} | {query.lower() for query in self.found}
        queries: dict[str, None] = {}
        for length in range(self.target, 0, -1):
            for run in paths(self.graph, self.seed.title, length):
                first, last = (run[0].source, run[-1].target) if run else (self.seed.title,) * 2
                if plain(first).lower() not in {q.lower() for q in self.found}:
                    queries.setdefault(plain(first))
                for stated in self.graph.stated.get(last, ()):
                    if stated.fact.kind == "link":
                        names = readings(stated)
                        if names and not any(name.lower() in known for name in names):
                            queries.setdefault(names[0])
        if self.seed.title not in self.found and not self.found:
            queries.setdefault(self.seed.title)
        return list(queries)

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


def is_hub(title: str) -> bool:
    return title.lower() in lexicon.HUBS
