"""The demo model as solver and reader.

It takes a question apart by the table of relations and finds one thing after another, in the passages that it has seen
or by a search.
"""

import json
from typing import Any

import orjson

from pipeline import prompts
from pipeline.demo.author import read_passage
from pipeline.demo.comparisons import read
from pipeline.demo.passage_facts import Fact, Seen, description, facts, key, parse_observation
from pipeline.demo.question_wording import Described, Named, Phrase, RelationOf
from pipeline.demo.relations import Relation, kind_of
from pipeline.llm.base import Request
from pipeline.text import words
from pipeline.types import Message, ToolCall

UNKNOWN = "unknown"
"""The answer if no passage gives one."""


class _NeedsSearch(Exception):
    """The next step needs a search that was not made yet."""


class _Reasoner:
    """Answers questions from the passages that the model has seen."""

    def __init__(self, passages: list[Seen], queries: set[str], can_search: bool) -> None:
        self.passages, self.queries, self.can_search = passages, queries, can_search

    def answer(self, question: str) -> str:
        """Return the answer, or an empty string. Raises _NeedsSearch with the query that is needed."""
        meaning = read(question)
        if meaning is None:
            self._search(question)
            return ""
        if isinstance(meaning, RelationOf):
            return self._value(meaning)
        values = [(self._value(part), self._value(part.of).removeprefix("the ")) for part in meaning.parts]
        return meaning.answer(values) if all(value for value, _ in values) else ""

    def _value(self, phrase: Phrase) -> str:
        if isinstance(phrase, Named):
            return phrase.name
        if isinstance(phrase, Described):
            described = self._find_described(phrase)
            return described[0].title if described else ""
        for query in self._queries(phrase):
            if values := self._stated_values(phrase):
                return values[0] if len(values) == 1 else ""
            self._search(query)
        values = self._stated_values(phrase)
        return values[0] if len(values) == 1 else ""

    def _stated_values(self, phrase: RelationOf) -> list[str]:
        return list({key(fact.value): fact.value for fact in self._facts(phrase)}.values())

    def _queries(self, phrase: RelationOf) -> list[str]:
        if isinstance(phrase.of, Described):
            name = self._value(phrase.of.by)
            query = phrase.of.relation.query
            return [f"{name} {phrase.of.description} {query}", f"{name} {query}"] if name else []
        name = self._value(phrase.of)
        word = phrase.of.word if isinstance(phrase.of, Named) else ""
        return [f"{name} {word} {phrase.relation.query}", f"{name} {word}"] if name else []

    def _facts(self, phrase: RelationOf) -> list[Fact]:
        subject = phrase.of
        passages = self._find_described(subject) if isinstance(subject, Described) else self._find_titled(phrase)
        stated = [fact for passage in passages for fact in facts(passage) if fact.relation == phrase.relation]
        return [fact for fact in stated if fact.sole and fact.when == phrase.when]

    def _find_titled(self, phrase: RelationOf) -> list[Seen]:
        """Return the passages about the thing that the phrase names, with that title and of its class."""
        name = key(self._value(phrase.of))
        word = phrase.of.word if isinstance(phrase.of, Named) else ""
        relation: Relation | None = phrase.of.relation if isinstance(phrase.of, RelationOf) else None
        return [
            passage
            for passage in self.passages
            if key(passage.title) == name
            and (not word or word in (kind_of(passage.text).word, description(passage)))
            and (relation is None or kind_of(passage.text).name in relation.to)
        ]

    def _find_described(self, phrase: Described) -> list[Seen]:
        by = key(self._value(phrase.by))
        return [
            passage
            for passage in self.passages
            if description(passage) == phrase.description
            and any(fact.relation == phrase.relation and key(fact.value) == by for fact in facts(passage))
        ]

    def _search(self, query: str) -> None:
        if self.can_search and " ".join(words(query)) not in self.queries:
            raise _NeedsSearch(query)


def solve(request: Request) -> Message:
    # A client may append later messages to the question, which is one paragraph.
    question = next((m.content.partition("\n\n")[0].strip() for m in request.messages if m.role == "user"), "")
    made_queries = {" ".join(words(_query(call.arguments))) for m in request.messages for call in m.tool_calls}
    passages = [passage for m in request.messages if m.role == "tool" for passage in parse_observation(m.content)]
    number = sum(m.role == "assistant" for m in request.messages)
    try:
        reasoner = _Reasoner(passages, made_queries, can_search=request.tool_choice != "answer")
        return _call("answer", number, answer=reasoner.answer(question) or UNKNOWN)
    except _NeedsSearch as query:
        return _call("search", number, query=str(query))


def read_evidence(request: Request) -> Message:
    """Answer `read`; with an empty answer if the passages give none."""
    answer = _answer_from_passages(prompts.unfence(request.messages[-1].content) or {})
    return reply({"reason": "read in the passages" if answer else "not in the passages", "answer": answer})


def weigh(request: Request) -> Message:
    """Answer `weigh`: an answer fits if it is the model's own answer from the passages.

    The model cannot recognise texts about living people, and says that no text is.
    """
    inputs = prompts.unfence(request.messages[-1].content) or {}
    answer = _answer_from_passages(inputs) if "answer" in inputs else ""
    fits = bool(answer) and key(answer) == key(inputs["answer"])
    return reply({"reason": f"read: {answer}" if answer else "", "fits": fits})


def reply(content: dict[str, Any]) -> Message:
    return Message(role="assistant", content=orjson.dumps(content).decode())


def _answer_from_passages(inputs: dict[str, Any]) -> str:
    passages = list(map(read_passage, inputs.get("passages", ())))
    return _Reasoner(passages, set(), can_search=False).answer(inputs["question"]) if passages else ""


def _call(name: str, number: int, **arguments: str) -> Message:
    call = ToolCall(id=f"call{number:05d}", name=name, arguments=json.dumps(arguments, ensure_ascii=False))
    return Message(role="assistant", tool_calls=(call,))


def _query(arguments: str) -> str:
    try:
        return str(json.loads(arguments)["query"])
    except (ValueError, KeyError, TypeError):
        return ""
