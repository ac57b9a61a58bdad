"""Faults planted into good questions, one kind a function; none of this knows a gate or the audit.

A plant has its own fault and no other: what catches a near duplicate must read the question, since the evidence that it
cites is no longer the same, and so on.
"""

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.types import Draft, Hop, Passage, sha256

REWORDED = {
    "what": "which", "which": "what", "film": "movie", "died": "passed away", "die": "pass away", "country": "nation",
    "spouse": "partner", "birthplace": "place of birth", "movie": "film", "song": "track", "father": "dad",
    "mother": "mum", "graduate": "get a degree", "award": "prize", "born": "brought into the world",
}  # fmt: skip
FUNCTION = frozenset("the a an of in is was did does that".split())
FRAMES = ("{}", "Please answer: {}", "{} Think step by step.", "QUESTION: {}")
LEAKS = (
    "{question} (It is {answer}.)",
    "{question} Hint: {lower}",
    "Some say {answer}; {decapitalised}",
    "{stem}, given that it begins with {answer}?",
)


class Rival(NamedTuple):
    """A passage that says what the last quote says, with another answer."""

    draft: Draft
    passage: Passage


def swapped_answer(draft: Draft, others: Sequence[Draft], chance: random.Random) -> Draft:
    """The answer of another question of the same type, in the question and in its last hop."""
    other = _other_answer(draft, others, chance)
    last = draft.hops[-1].model_copy(update={"answer": other})
    return draft.model_copy(update={"answer": other, "answer_aliases": (), "hops": (*draft.hops[:-1], last)})


def dropped_hop(draft: Draft, chance: random.Random) -> Draft:
    """The evidence without one of its passages."""
    gone = chance.randrange(len(draft.hops))
    return draft.model_copy(update={"hops": tuple(hop for n, hop in enumerate(draft.hops) if n != gone)})


def rival(draft: Draft, others: Sequence[Draft], chance: random.Random) -> Rival:
    """Another page about the subject of the last hop, which answers it otherwise."""
    last, other = draft.hops[-1], _other_answer(draft, others, chance)
    text = re.sub(re.escape(draft.answer), lambda _: other, last.quote, flags=re.IGNORECASE)
    document = "planted" + sha256(draft.question)[:8]
    start = len(last.title) + 1
    passage = Passage(
        id=f"{document}#0", document_id=document, title=last.title, text=text, start=start, end=start + len(text)
    )
    return Rival(draft, passage)


def benchmark_question(draft: Draft, question: str, number: int, chance: random.Random) -> Draft:
    """The words of a benchmark's question over evidence and an answer that no benchmark has."""
    asked = chance.choice(FRAMES[:1] * 2 + FRAMES[1:] if len(question.split()) > 13 else FRAMES[:1]).format(question)
    asked = chance.choice((asked, asked.upper(), asked.replace("?", " ?"), asked.replace(" ", "  ")))
    return _elsewhere(draft, number).model_copy(update={"question": asked, "answer": f"Planted answer {number}"})


def near_duplicate(draft: Draft, number: int, chance: random.Random) -> Draft:
    """Two small changes of the wording; other evidence, the same answer."""
    words = draft.question.rstrip(" ?").split()
    for change in chance.sample((_synonym, _without_function_word, _swapped, _filled), 2):
        words = change(words, chance)
    asked = " ".join(words) + "?"
    return _elsewhere(draft, number).model_copy(update={"question": asked})


def leaked_answer(draft: Draft, chance: random.Random) -> Draft:
    question = draft.question
    asked = chance.choice(LEAKS).format(
        question=question, stem=question.rstrip(" ?"), answer=draft.answer, lower=draft.answer.lower(),
        decapitalised=question[:1].lower() + question[1:],
    )  # fmt: skip
    return draft.model_copy(update={"question": asked})


def _other_answer(draft: Draft, others: Sequence[Draft], chance: random.Random) -> str:
    alike = [other.answer for other in others if other.answer_type is draft.answer_type]
    own = draft.answer.lower()
    return chance.choice([answer for answer in alike if answer.lower() not in own and own not in answer.lower()])


def _elsewhere(draft: Draft, number: int) -> Draft:
    hops = [_moved(hop, number) for hop in draft.hops]
    last = hops[-1].model_copy(update={"answer": draft.hops[-1].answer})
    return draft.model_copy(update={"hops": (*hops[:-1], last)})


def _moved(hop: Hop, number: int) -> Hop:
    moved = {"passage_id": f"planted{number}-{hop.passage_id}", "title": f"Planted {number}", "answer": f"P{number}"}
    return hop.model_copy(update=moved)


def _synonym(words: list[str], chance: random.Random) -> list[str]:
    known = [n for n, word in enumerate(words) if word.lower() in REWORDED]
    at = chance.choice(known) if known else None
    return [REWORDED[word.lower()] if n == at else word for n, word in enumerate(words)]


def _without_function_word(words: list[str], chance: random.Random) -> list[str]:
    known = [n for n, word in enumerate(words) if word.lower() in FUNCTION]
    at = chance.choice(known) if known else None
    return [word for n, word in enumerate(words) if n != at]


def _swapped(words: list[str], chance: random.Random) -> list[str]:
    at = chance.randrange(len(words) - 1)
    return [*words[:at], words[at + 1], words[at], *words[at + 2 :]]


def _filled(words: list[str], chance: random.Random) -> list[str]:
    at = chance.randrange(1, len(words))
    return [*words[:at], chance.choice(("actually", "exactly", "in fact")), *words[at:]]
