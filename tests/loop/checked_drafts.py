"""Drafts for the `check` tool, and a generator that uses it."""

from pipeline import config
from pipeline.context import RunContext
from pipeline.types import Draft, Message, Passage
from tests.graph_drafts import drafted
from tests.loop.cast import FILM, HOLM, LINEAGE, QUESTION, SHELF, TOWN, Cast, call, make_proposal
from tests.passages import Shelf
from tests.scripted_llm import ScriptedLLM

LEADING = f"{QUESTION[:-1]}, in 1641?"
"""A wording that the audit rejects: it contains the answer."""
SHOWN = {p.shown_id: p for p in (FILM, HOLM, TOWN)}


def make_context(cast: object, *sets: str, shelf: Shelf = SHELF) -> RunContext:
    usual = [
        "strategy='sage'",
        "difficulty.adversarial=false",
        "retrieval.k=1",
        "checks.enabled=[]",
        "checks.naturalness=4",
    ]
    settings = config.build(sets=[*usual, *sets])
    return RunContext(config=settings, llm=ScriptedLLM(cast), retriever=shelf, lineage=LINEAGE)  # type: ignore[arg-type]


def make_draft(question: str = QUESTION, shown: dict[str, Passage] = SHOWN) -> Draft:
    return drafted(question, make_proposal()["steps"], list(shown.values()))


class Checking(Cast):
    """Checks a draft `times` times before it proposes it, with the wordings of `checked` first."""

    times = 2
    checked: tuple[str, ...] = ()

    def __call__(self, request: object) -> Message:
        output = super().__call__(request)  # type: ignore[arg-type]
        turns = sum(message.role == "assistant" for message in request.messages) - 2  # type: ignore[attr-defined]
        if output.tool_calls and output.tool_calls[0].name == "propose" and turns < self.times:
            question = self.checked[turns] if turns < len(self.checked) else self.first["question"]
            return call("check", draft={**self.first, "question": question})
        return output


READERS = 'checks.enabled=["closed_book", "oracle"]'


def count_requests(llm: ScriptedLLM, role: str) -> int:
    return sum(request.output is not None and request.output.name == role for request in llm.requests)
