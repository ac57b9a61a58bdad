"""The generator as the tool loop sees it: turns of searches, then one proposal that its passages bear out."""

import re
from collections.abc import Callable, Sequence

import orjson
import pytest

from pipeline.agents.tools import GENERATOR_TOOLS, ProposeArguments, render
from pipeline.embedded.generator import propose
from pipeline.embedded.generator_chain import finals
from pipeline.embedded.generator_graph import build
from pipeline.embedded.observed import Seen
from pipeline.llm.base import Request, Tool
from pipeline.prompts import fence
from pipeline.text import contains, words
from pipeline.types import Message, Passage

TEXTS = {
    "Harbour Lights": (
        "Harbour Lights is a 2004 Canadian drama film directed by Mira Tollund. It received mixed reviews from critics."
    ),
    "Mira Tollund": (
        "Mira Tollund (born 4 May 1961) is a Canadian film director. She was born in Ostrava Bay and "
        "studied at Carleton "
        "Polytechnic. Her work has been shown at many festivals."
    ),
    "Ostrava Bay": (
        "Ostrava Bay is a town in the east of the island. The town is located in Merrick County. It was "
        "founded in 1823. "
        "At the 2011 census, the population was 14,207."
    ),
    "Merrick County": (
        "Merrick County is a rural county in the Atlantic region. It was named after Josiah Merrick. It "
        "was established in 1790."
    ),
    "Josiah Merrick": (
        "Josiah Merrick (12 March 1741 - 9 July 1802) was a British army officer. He served in many campaigns abroad."
    ),
    "Carleton Polytechnic": (
        "Carleton Polytechnic is a public university in the capital. It was established in 1911 and has 9,450 students."
    ),
    "Green Fields": (
        "Green Fields is a 1999 Canadian comedy film produced by Anton Weiss. The film was released on 3 June 1999."
    ),
    "The Weather": "The weather of the coast is mild, with rain in most months and little snow on the hills.",
}
PASSAGES = [
    Passage(id=f"d{n}#0", document_id=f"d{n}", title=title, text=text, start=0, end=len(text))
    for n, (title, text) in enumerate(TEXTS.items())
]
BY_ID = {passage.shown_id: passage for passage in PASSAGES}


def search(query: str, k: int = 5) -> list[Passage]:
    """By shared words, titles counting twice; no passage without one."""
    asked = set(words(query)) - {"the", "in", "of", "was", "what", "which", "that", "a", "is", "by", "on", "did"}
    scored = [(2 * len(asked & set(words(p.title))) + len(asked & set(words(p.text))), p) for p in PASSAGES]
    return [p for score, p in sorted(scored, key=lambda it: (-it[0], it[1].id)) if score][:k]


TYPES = ["entity", "date", "number"]


def start(title: str, *, kind: str = "date", steps: int = 3, budget: int = 20) -> Message:
    passage = next(p for p in PASSAGES if p.title == title)
    shown = {"id": passage.shown_id, "title": passage.title, "text": passage.text}
    inputs = {
        "passage": shown,
        "answer_types": [kind, *(other for other in TYPES if other != kind)],
        "target_steps": steps,
        "search_budget": budget,
    }
    return Message(role="user", content=fence(inputs, "0" * 16))


def converse(
    agent: Callable[[Request], Message], first: Message, tools: Sequence[Tool], budget: int, sample: int = 0
) -> tuple[ProposeArguments, list[str]]:
    """The loop of agents.loop, over `search` above; the final arguments and all queries."""
    messages, queries = [first], []
    for _ in range(30):
        forced = tools[-1].name if len(queries) >= budget else "auto"
        said = agent(
            Request(model="m", messages=tuple(messages), tools=tuple(tools), tool_choice=forced, sample=sample)
        )
        messages.append(said)
        assert 1 <= len(said.tool_calls) <= 16
        if said.tool_calls[0].name == tools[-1].name:
            assert len(said.tool_calls) == 1
            return ProposeArguments.model_validate_json(said.tool_calls[0].arguments), queries
        for call in said.tool_calls:
            assert call.name == "search"
            queries.append(orjson.loads(call.arguments)["query"])
            found = render(search(queries[-1]))
            messages.append(Message(role="tool", content=found, tool_call_id=call.id, name="search"))
    raise AssertionError("it never came to an end")


def check(draft: ProposeArguments) -> None:
    """What the audit will ask of any draft, and that no name in between is given away."""
    assert draft.question.endswith("?")
    assert draft.hops[-1].answer == draft.answer
    assert not contains(draft.question, draft.answer)
    assert len({hop.passage_id for hop in draft.hops}) == len(draft.hops)
    for before, hop in zip([None, *draft.hops], draft.hops, strict=False):
        passage = BY_ID[hop.passage_id]
        assert hop.quote
        assert hop.quote in passage.text
        assert contains(hop.quote, hop.answer) or passage.title == hop.answer
        assert hop.relation
        assert hop.sub_question.endswith("?")
        if before:
            assert contains(f"{passage.title} {hop.quote}", before.answer)
            assert not contains(draft.question, before.answer)


@pytest.mark.parametrize("seed", ["Harbour Lights", "Mira Tollund", "Ostrava Bay", "Merrick County"])
@pytest.mark.parametrize("steps", [2, 3])
def test_any_member_of_a_chain_may_be_the_seed(seed: str, steps: int) -> None:
    draft, queries = converse(propose, start(seed, steps=steps), GENERATOR_TOOLS, 20)
    check(draft)
    assert len(draft.hops) == steps
    assert draft.family == "chain"
    assert draft.answer_type == "date"
    assert len(queries) == len(set(queries)) <= 20


def test_four_steps_from_the_film_to_a_fact_of_the_last() -> None:
    draft, _ = converse(propose, start("Harbour Lights", steps=4), GENERATOR_TOOLS, 20)
    check(draft)
    titles = [BY_ID[hop.passage_id].title for hop in draft.hops]
    assert len(titles) == 4
    assert titles[:3] in (
        ["Harbour Lights", "Mira Tollund", "Ostrava Bay"],
        ["Mira Tollund", "Ostrava Bay", "Merrick County"],
    )


def test_the_type_asked_for_is_given_where_the_corpus_has_it() -> None:
    draft, _ = converse(propose, start("Harbour Lights", kind="number", steps=3), GENERATOR_TOOLS, 20)
    check(draft)
    assert (draft.answer_type, draft.answer) in (("number", "14,207"), ("number", "9,450"))
    assert re.search("population|students", draft.question)


def test_dates_say_how_exact_they_are() -> None:
    asked = [("Harbour Lights", 2), ("Josiah Merrick", 1)]
    drafts = [converse(propose, start(seed, steps=steps), GENERATOR_TOOLS, 20)[0] for seed, steps in asked]
    assert [(draft.answer, draft.answer_precision) for draft in drafts] == [("1823", "year"), ("9 July 1802", "day")]
    assert ["year" in draft.question for draft in drafts] == [True, False]


def test_one_step_is_a_control_from_the_seed_alone() -> None:
    draft, queries = converse(propose, start("Carleton Polytechnic", steps=1), GENERATOR_TOOLS, 20)
    check(draft)
    assert (draft.family, len(draft.hops), draft.answer, queries) == ("control", 1, "1911", [])


def test_without_budget_it_proposes_from_the_seed_alone() -> None:
    draft, queries = converse(propose, start("Mira Tollund", budget=0), GENERATOR_TOOLS, 0)
    assert queries == []
    check(draft)


def test_nothing_to_ask_is_an_empty_question() -> None:
    draft, _ = converse(propose, start("The Weather", budget=0), GENERATOR_TOOLS, 0)
    assert (draft.question, draft.hops) == ("", ())


def test_it_is_a_function_of_inputs_and_sample() -> None:
    first = start("Mira Tollund")
    assert converse(propose, first, GENERATOR_TOOLS, 20) == converse(propose, first, GENERATOR_TOOLS, 20)
    wordings = {converse(propose, first, GENERATOR_TOOLS, 20, sample)[0].question for sample in range(8)}
    assert len(wordings) > 1


@pytest.mark.parametrize(
    "text", ["", "x", "(" * 500, "12,000 " * 300, "A is a a a a, a. " * 50, "Doc 1 [p000000000000] x\ny"]
)
def test_junk_ends_in_a_proposal(text: str) -> None:
    shown = {"id": "p" + "0" * 12, "title": text[:20] or "?", "text": text}
    inputs = {"passage": shown, "answer_types": TYPES, "target_steps": 3, "search_budget": 3}
    draft, _ = converse(propose, Message(role="user", content=fence(inputs, "0" * 16)), GENERATOR_TOOLS, 3)
    assert isinstance(draft, ProposeArguments)


@pytest.mark.parametrize(
    ("title", "text", "kind", "asked"),
    [
        (
            "Nina Holm",
            "Nina Holm is an actress. She was nominated for the Prize in 2006, 2018 and 2019. She was married in 1990.",
            "date",
            ["1990"],
        ),
        (
            "Port Saxe",
            "Port Saxe is a town. Port Saxe had a population of 4,031 in 2016. It was founded in 1702.",
            "date",
            ["1702"],
        ),
        (
            "Hill University",
            "Hill University is a public university. It consists of 14 schools and colleges. It has 9,450 students.",
            "number",
            ["9,450"],
        ),
        (
            "Port Saxe",
            "Port Saxe is a town located in North Ostra's Kell County. It was named for the novel Ada's Hill.",
            "entity",
            ["Ada's Hill"],
        ),
    ],
)
def test_only_a_fact_that_stands_alone_is_asked_for(title: str, text: str, kind: str, asked: list[str]) -> None:
    graph = build([Seen("p", title, text)], {})
    assert [final.answer for final in finals(graph, title, kind)] == asked


def test_a_division_is_asked_for_as_one() -> None:
    for place, sort in (("Kell County", "county"), ("Kell", "")):
        graph = build([Seen("p", "Port Saxe", f"Port Saxe is a town in {place}. It is known for the novel Kell.")], {})
        assert [(final.answer, final.sort) for final in finals(graph, "Port Saxe", "entity")] == [(place, sort)]
