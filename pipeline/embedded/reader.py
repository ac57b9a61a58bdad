"""The embedded oracle reader: the solver's own reading, with all passages seen beforehand and no search to make.

Each hop of the question is looked for in all of them, so a chain over several passages is followed as in a rollout.
"""

import random
from typing import Any

import orjson

from pipeline import prompts
from pipeline.embedded.observed import Seen
from pipeline.embedded.solver_compare import compare
from pipeline.embedded.solver_mind import Mind
from pipeline.embedded.solver_steps import pursue
from pipeline.llm.base import Request
from pipeline.types import Message, sha256


def read(request: Request) -> Message:
    """A `read` on the fenced inputs of the last message; an empty answer where the passages give none."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    question = inputs["question"].strip()
    chance = random.Random(sha256(f"{question}\n{request.sample}"))
    mind = Mind({}, chance, request.sampling.temperature, forced=True)
    mind.passages = {passage.id: passage for passage in map(_seen, inputs["passages"])}
    answer = compare(question, mind) or pursue(question, mind) if mind.passages else ""
    content = orjson.dumps({"reason": "read in the passages" if answer else "not in the passages", "answer": answer})
    return Message(role="assistant", content=content.decode())


def _seen(passage: dict[str, Any]) -> Seen:
    """As a search would have shown it: blanks collapsed."""
    return Seen(passage["id"], *(" ".join(passage[part].split()) for part in ("title", "text")))
