"""The demo model as writer of questions: it words the steps of an evidence graph, whose answers are masked."""

from typing import Any

from pipeline import prompts
from pipeline.demo.chain_solver import said
from pipeline.demo.comparisons import Asked, ComputedQuestion, read, tell_in_order
from pipeline.demo.question_wording import Described, Named, Phrase, RelationOf, read_question
from pipeline.llm.base import Request
from pipeline.types import Message


def word(request: Request) -> Message:
    """Answer `wordings`: those that are read again as they are meant."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    asked = _understand(inputs["steps"])
    if asked is None:
        return said({"wordings": []})
    wordings = [asked.question(), *tell_in_order(asked)]
    return said({"wordings": [wording for wording in wordings if read(wording) == asked][:4]})


def _understand(steps: list[dict[str, Any]]) -> Asked | None:
    """Return what the last step asks, with what the steps before it ask for in the place of their answers."""
    phrases: dict[str, RelationOf] = {}
    for step in steps:
        if "operation" in step:
            settings = {name: step[name] for name in ("which", "condition", "bound", "unit") if name in step}
            parts = tuple(phrases[part] for part in step["of"] if part in phrases)
            return ComputedQuestion(step["operation"], parts, **settings) if len(parts) == len(step["of"]) else None
        asked = read_question(step["asks"])
        if asked is None:
            return None
        phrases[step["id"]] = asked._replace(of=_unmask(asked.of, phrases))
    return phrases[steps[-1]["id"]]


def _unmask(phrase: Phrase, phrases: dict[str, RelationOf]) -> Phrase:
    if isinstance(phrase, Named):
        return phrases.get(phrase.name.removeprefix("the ").strip("[]"), phrase)
    if isinstance(phrase, Described):
        return phrase._replace(by=_unmask(phrase.by, phrases))
    return phrase._replace(of=_unmask(phrase.of, phrases))
