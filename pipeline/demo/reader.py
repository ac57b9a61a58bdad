"""The demo model as a reader of questions and styles, which it hardly understands."""

import re
from typing import Any

from pipeline import prompts
from pipeline.demo.chain_solver import reply
from pipeline.demo.writer_values import rival
from pipeline.llm.base import Request
from pipeline.text import contains
from pipeline.types import Message

_CLAUSES = frozenset(("that", "which", "who", "whose", "whom", "of"))


def _grade(question: str) -> tuple[int, str]:
    length, clauses = _measure(question)
    return max(1, 5 - clauses // 3 - length // 30), f"{length} words and {clauses} clauses in one part"


def _measure(question: str) -> tuple[int, int]:
    """Return the numbers of words and clauses of the longest part. A sentence or an item of a list is a part."""
    parts = [part.lower().split() for part in re.split(r"[.:,] ", question)]
    return max(map(len, parts)), max(sum(word in _CLAUSES for word in part) for part in parts)


def _cited_text(passage: dict[str, str], step: dict[str, Any]) -> str:
    lines = passage["text"].split("\n")
    return " | ".join([passage["title"], *(lines[number - 1] for number in step["sentences"])])


def check_steps(request: Request) -> Message:
    """Answer `steps`: an answer is stated if the title or the cited sentences contain it."""
    inputs = _inputs(request)
    passages = {passage["id"]: passage for passage in inputs["passages"]}
    steps = [step for step in inputs["steps"] if "sentences" in step]
    unstated = [step for step in steps if not contains(_cited_text(passages[step["passage"]], step), step["answer"])]
    faults = [{"step": step["id"], "fault": "unstated", "reason": "the sentences do not hold it"} for step in unstated]
    return reply({"reason": f"{len(faults)} of {len(steps)} are unstated", "faults": faults})


def detect(request: Request) -> Message:
    """Answer `detect` with the first passage, since rules cannot judge style."""
    return reply({"reason": "the first one", "passage_id": _inputs(request)["passages"][0]["id"]})


def choose(request: Request) -> Message:
    inputs = _inputs(request)
    return _choose_wording(inputs["wordings"]) if "wordings" in inputs else _choose_passage(inputs)


def _choose_wording(wordings: list[str]) -> Message:
    graded = [_grade(wording) for wording in wordings]
    best = max(range(len(graded)), key=lambda index: (graded[index][0], -_measure(wordings[index])[1]))
    faults, grades = [fault for _, fault in graded], [grade for grade, _ in graded]
    return reply({"faults": faults, "grades": grades, "best": best + 1})


def _choose_passage(inputs: dict[str, Any]) -> Message:
    """Take the first passage with another date or number than the answer, or for a name with another title."""
    for passage in inputs["passages"]:
        if claim := rival(inputs["answer"], passage["title"], passage["text"]):
            return reply({"reason": "", "passage_id": passage["id"], "claim": claim})
    return reply({"reason": "", "passage_id": "", "claim": ""})


def alter(request: Request) -> Message:
    """Answer `alter` with no passage, since rules cannot alter one."""
    return reply({"passage_id": "", "span": "", "replacement": "", "claim": "", "mark": ""})


def _inputs(request: Request) -> dict[str, Any]:
    return prompts.unfence(request.messages[-1].content) or {}
