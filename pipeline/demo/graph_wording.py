"""The demo model as writer of questions: it words the steps of an evidence graph, whose answers are masked."""

from typing import Any

from pipeline import prompts
from pipeline.demo.chain_solver import reply
from pipeline.demo.comparisons import Asked, ComputedQuestion, read, tell_in_order
from pipeline.demo.question_wording import Described, Named, Phrase, RelationOf, read_question
from pipeline.llm.base import Request
from pipeline.types import Message


def word(request: Request) -> Message:
    """Answer `wordings` with those that have only one reading."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    meaning = _understand(inputs["steps"])
    if meaning is None:
        return reply({"wordings": []})
    wordings = [meaning.question(), *tell_in_order(meaning)]
    return reply({"wordings": [wording for wording in wordings if read(wording) == meaning][:4]})


def _understand(steps: list[dict[str, Any]]) -> Asked | None:
    """Return the meaning of the last step, with the masked answers of earlier steps replaced by their questions."""
    phrases: dict[str, RelationOf] = {}
    for step in steps:
        if "operation" in step:
            settings = {name: step[name] for name in ("which", "condition", "bound", "unit") if name in step}
            parts = tuple(phrases[part] for part in step["of"] if part in phrases)
            return ComputedQuestion(step["operation"], parts, **settings) if len(parts) == len(step["of"]) else None
        question = read_question(step["asks"])
        if question is None:
            return None
        phrases[step["id"]] = question._replace(of=_unmask(question.of, phrases))
    return phrases[steps[-1]["id"]]


def _unmask(phrase: Phrase, phrases: dict[str, RelationOf]) -> Phrase:
    if isinstance(phrase, Named):
        return phrases.get(phrase.name.removeprefix("the ").strip("[]"), phrase)
    if isinstance(phrase, Described):
        return phrase._replace(by=_unmask(phrase.by, phrases))
    return phrase._replace(of=_unmask(phrase.of, phrases))
