"""The demo model as solver and reader: it takes a question apart by the table of relations and finds one thing after
another, in what it was shown or by a search.

A turn replays the conversation: it reasons from the start until it needs a search that was not made, which is the
turn's call. So it is a pure function of the messages.
"""

import json
from typing import Any

import orjson

from pipeline import prompts
from pipeline.demo.author import shown
from pipeline.demo.comparisons import read
from pipeline.demo.passage_facts import Fact, Seen, description, facts, key, seen
from pipeline.demo.question_wording import Described, Named, Phrase, RelationOf
from pipeline.demo.relations import Relation, kind_of
from pipeline.llm.base import Request
from pipeline.text import words
from pipeline.types import Message, ToolCall

UNKNOWN = "unknown"
"""The answer where nothing that was found could be one."""


class _Unasked(Exception):
    """A search is needed that was not made."""


class _Mind:
    """What was shown, and which searches may still be made."""

    def __init__(self, passages: list[Seen], asked: set[str], searching: bool) -> None:
        self.passages, self.asked, self.searching = passages, asked, searching

    def answer(self, question: str) -> str:
        """Raises _Unasked with the query that is needed."""
        asked = read(question)
        if asked is None:
            self._search(question)
            return ""
        if isinstance(asked, RelationOf):
            return self._value(asked)
        values = [(self._value(part), self._value(part.of).removeprefix("the ")) for part in asked.parts]
        return asked.answer(values) if all(value for value, _ in values) else ""

    def _value(self, phrase: Phrase) -> str:
        if isinstance(phrase, Named):
            return phrase.name
        if isinstance(phrase, Described):
            return self._found(phrase)[0].title if self._found(phrase) else ""
        for query in self._ways(phrase):
            if found := {key(fact.value): fact.value for fact in self._facts(phrase)}:
                return next(iter(found.values())) if len(found) == 1 else ""
            self._search(query)
        found = {key(fact.value): fact.value for fact in self._facts(phrase)}
        return next(iter(found.values())) if len(found) == 1 else ""

    def _ways(self, asked: RelationOf) -> list[str]:
        """The queries for what is asked, one after the other."""
        if isinstance(asked.of, Described):
            name = self._value(asked.of.by)
            return (
                [
                    f"{name} {asked.of.description} {asked.of.relation.query}",
                    f"{name} {asked.of.relation.query}",
                ]
                if name
                else []
            )
        name = self._value(asked.of)
        word = asked.of.word if isinstance(asked.of, Named) else ""
        return [f"{name} {word} {asked.relation.query}", f"{name} {word}"] if name else []

    def _facts(self, asked: RelationOf) -> list[Fact]:
        about = self._found(asked.of) if isinstance(asked.of, Described) else self._titled(asked)
        told = [fact for passage in about for fact in facts(passage) if fact.relation == asked.relation]
        return [fact for fact in told if fact.sole and fact.when == asked.when]

    def _titled(self, asked: RelationOf) -> list[Seen]:
        """The passages about what the phrase names: by its title, and of its class."""
        name = key(self._value(asked.of))
        word = asked.of.word if isinstance(asked.of, Named) else ""
        leads: Relation | None = asked.of.relation if isinstance(asked.of, RelationOf) else None
        return [
            passage
            for passage in self.passages
            if key(passage.title) == name
            and (not word or word in (kind_of(passage.text).word, description(passage)))
            and (leads is None or kind_of(passage.text).name in leads.to)
        ]

    def _found(self, phrase: Described) -> list[Seen]:
        by = key(self._value(phrase.by))
        return [
            passage
            for passage in self.passages
            if description(passage) == phrase.description
            and any(fact.relation == phrase.relation and key(fact.value) == by for fact in facts(passage))
        ]

    def _search(self, query: str) -> None:
        if self.searching and " ".join(words(query)) not in self.asked:
            raise _Unasked(query)


def solve(request: Request) -> Message:
    """One assistant message with one tool call: `search`, or `answer` when it is done or the request demands it."""
    # A client may join what it tells the solver later to the question, which is one paragraph.
    question = next((m.content.partition("\n\n")[0].strip() for m in request.messages if m.role == "user"), "")
    asked = {" ".join(words(_query(call.arguments))) for m in request.messages for call in m.tool_calls}
    passages = [passage for m in request.messages if m.role == "tool" for passage in seen(m.content)]
    number = sum(m.role == "assistant" for m in request.messages)
    try:
        mind = _Mind(passages, asked, searching=request.tool_choice != "answer")
        return _call("answer", number, answer=mind.answer(question) or UNKNOWN)
    except _Unasked as wanted:
        return _call("search", number, query=str(wanted))


def read_evidence(request: Request) -> Message:
    """A `read` on the fenced inputs of the last message; an empty answer where the passages give none."""
    answer = _read(prompts.unfence(request.messages[-1].content) or {})
    return said({"reason": "read in the passages" if answer else "not in the passages", "answer": answer})


def weigh(request: Request) -> Message:
    """A `weigh`: does its own reading of the passages give the very answer that it is asked about?

    Whether a text may be about someone alive it cannot tell, and says that it may not.
    """
    inputs = prompts.unfence(request.messages[-1].content) or {}
    own = _read(inputs) if "answer" in inputs else ""
    return said({"reason": f"read: {own}" if own else "", "fits": bool(own) and key(own) == key(inputs["answer"])})


def said(content: dict[str, Any]) -> Message:
    return Message(role="assistant", content=orjson.dumps(content).decode())


def _read(inputs: dict[str, Any]) -> str:
    passages = list(map(shown, inputs.get("passages", ())))
    return _Mind(passages, set(), searching=False).answer(inputs["question"]) if passages else ""


def _call(name: str, number: int, **arguments: str) -> Message:
    call = ToolCall(id=f"call{number:05d}", name=name, arguments=json.dumps(arguments, ensure_ascii=False))
    return Message(role="assistant", tool_calls=(call,))


def _query(arguments: str) -> str:
    try:
        return str(json.loads(arguments)["query"])
    except (ValueError, KeyError, TypeError):
        return ""
