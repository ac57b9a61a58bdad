"""The embedded reader: the solver's own reading, with all passages seen beforehand and no search to make.

Each hop of the question is looked for in all of them, so a chain over several passages is followed as in a rollout. It
knows nothing by heart, so without passages it has no answer.
"""

import random
from typing import Any

import orjson

from pipeline import prompts
from pipeline.embedded.observed import Seen
from pipeline.embedded.solver_mind import Mind
from pipeline.embedded.solver_steps import pursue
from pipeline.llm.base import Request
from pipeline.names import contains
from pipeline.text import normalise, trimmed
from pipeline.types import Message, sha256


def read(request: Request) -> Message:
    """A `read` on the fenced inputs of the last message; an empty answer where the passages give none."""
    answer = _answer(prompts.unfence(request.messages[-1].content) or {}, request)
    content = orjson.dumps({"reason": "read in the passages" if answer else "not in the passages", "answer": answer})
    return Message(role="assistant", content=content.decode())


def trace(request: Request) -> Message:
    """A `trace`: every question read over its own passage alone."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    parts = [{"question": part["question"], "passages": [part["passage"]]} for part in inputs["parts"]]
    content = {"reason": "", "answers": [_answer(part, request) for part in parts]}
    return Message(role="assistant", content=orjson.dumps(content).decode())


def weigh(request: Request) -> Message:
    """A `weigh`: does its own reading of the passages give the very answer that it is asked about?

    Whether a text may be about someone alive it cannot tell, and says that it may not.
    """
    inputs = prompts.unfence(request.messages[-1].content) or {}
    if "question" not in inputs:
        return Message(role="assistant", content='{"reason": "", "fits": false}')
    own = _answer(inputs, request)
    fits = bool(own) and normalise(own) == normalise(inputs["answer"])
    return Message(role="assistant", content=orjson.dumps({"reason": f"read: {own}", "fits": fits}).decode())


def grade(request: Request) -> Message:
    """A `grade`: long questions and stacked clauses read badly; of anything else it has no idea."""
    question = (prompts.unfence(request.messages[-1].content) or {})["question"]
    said = question.lower().split()
    clauses = sum(word in ("that", "which", "who", "whose", "whom") for word in said)
    content = {"reason": f"{len(said)} words, {clauses} clauses", "grade": max(1, 5 - clauses // 2 - len(said) // 30)}
    return Message(role="assistant", content=orjson.dumps(content).decode())


def detect(request: Request) -> Message:
    """A `detect`: it knows nothing of style, and names the first passage."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    content = {"reason": "the first one", "passage_id": inputs["passages"][0]["id"]}
    return Message(role="assistant", content=orjson.dumps(content).decode())


def skip(request: Request) -> Message:
    """A `skip`: the words of each part as they stand."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    return Message(role="assistant", content=orjson.dumps({"queries": inputs["parts"]}).decode())


def commit(request: Request) -> Message:
    """A `commit`: to the first passage that holds what it reads in all of them."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    answer = _answer(inputs, request)
    fits = [passage["id"] for passage in inputs["passages"] if answer and contains(passage["text"], answer)]
    content = {"fits": fits, "reason": "", "passage": fits[0] if fits else "", "answer": answer}
    return Message(role="assistant", content=orjson.dumps(content).decode())


def _answer(inputs: dict[str, Any], request: Request) -> str:
    question = inputs["question"].strip()
    chance = random.Random(sha256(f"{question}\n{request.sample}"))
    mind = Mind({}, chance, request.sampling.temperature, forced=True)
    mind.passages = {passage.id: passage for passage in map(_seen, inputs.get("passages", ()))}
    return pursue(question, mind) if mind.passages else ""


def _seen(passage: dict[str, Any]) -> Seen:
    """As a search would have shown it."""
    return Seen(passage["id"], " ".join(passage["title"].split()), trimmed(passage["text"]))
