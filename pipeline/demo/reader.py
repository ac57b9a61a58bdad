"""The demo model as a reader of questions and styles, of which it has hardly an idea."""

import re
from typing import Any

from pipeline import prompts
from pipeline.demo.chain_solver import said
from pipeline.demo.writer_values import rival
from pipeline.llm.base import Request
from pipeline.text import contains
from pipeline.types import Message

_CLAUSES = frozenset(("that", "which", "who", "whose", "whom", "of"))


def _grade(question: str) -> tuple[int, str]:
    length, clauses = _measure(question)
    return max(1, 5 - clauses // 3 - length // 30), f"{length} words and {clauses} clauses in one part"


def _measure(question: str) -> tuple[int, int]:
    """Return the words and clauses of the longest part: sentences, and things of a list, are read one by one."""
    parts = [part.lower().split() for part in re.split(r"[.:,] ", question)]
    return max(map(len, parts)), max(sum(word in _CLAUSES for word in part) for part in parts)


def _cited(passage: dict[str, str], step: dict[str, Any]) -> str:
    lines = passage["text"].split("\n")
    return " | ".join([passage["title"], *(lines[number - 1] for number in step["sentences"])])


def check_steps(request: Request) -> Message:
    """Answer `steps`: an answer is stated if the title or the cited sentences hold it."""
    inputs = _inputs(request)
    passages = {passage["id"]: passage for passage in inputs["passages"]}
    steps = [step for step in inputs["steps"] if "sentences" in step]
    unstated = [step for step in steps if not contains(_cited(passages[step["passage"]], step), step["answer"])]
    faults = [{"step": step["id"], "fault": "unstated", "reason": "the sentences do not hold it"} for step in unstated]
    return said({"reason": f"{len(faults)} of {len(steps)} are unstated", "faults": faults})


def detect(request: Request) -> Message:
    """A `detect`: it knows nothing of style, and names the first passage."""
    return said({"reason": "the first one", "passage_id": _inputs(request)["passages"][0]["id"]})


def choose(request: Request) -> Message:
    """Answer a `choose`: of wordings, or of passages that may mislead."""
    inputs = _inputs(request)
    return _choose_wording(inputs["wordings"]) if "wordings" in inputs else _choose_passage(inputs)


def _choose_wording(wordings: list[str]) -> Message:
    graded = [_grade(wording) for wording in wordings]
    best = max(range(len(graded)), key=lambda index: (graded[index][0], -_measure(wordings[index])[1]))
    faults, grades = [fault for _, fault in graded], [grade for grade, _ in graded]
    return said({"faults": faults, "grades": grades, "best": best + 1})


def _choose_passage(inputs: dict[str, Any]) -> Message:
    """Take the first passage with another date or number than the answer; of names, one that its title names."""
    for passage in inputs["passages"]:
        if claim := rival(inputs["answer"], passage["title"], passage["text"]):
            return said({"reason": "", "passage_id": passage["id"], "claim": claim})
    return said({"reason": "", "passage_id": "", "claim": ""})


def alter(request: Request) -> Message:
    """An `alter`: it cannot, and takes no passage."""
    return said({"passage_id": "", "span": "", "replacement": "", "claim": "", "mark": ""})


def _inputs(request: Request) -> dict[str, Any]:
    return prompts.unfence(request.messages[-1].content) or {}
