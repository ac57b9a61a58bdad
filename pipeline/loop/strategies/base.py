"""The contract of a strategy, and the one way from a model's proposal to a draft."""

import re
from collections.abc import Sequence
from typing import Protocol

from pydantic import ValidationError

from pipeline.agents.calls import AgentState
from pipeline.agents.parse import parse
from pipeline.agents.tools import ProposeArguments
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.types import Data, Draft, Hop, Passage, Probe, Round, Seed, Trajectory, Tree


class Proposal(Data):
    """What the generator or refiner came back with; no draft where it found nothing to ask or never said it well."""

    trajectory: Trajectory
    draft: Draft | None
    tree: Tree | None = None
    checked: tuple[Probe, ...] = ()
    """What readers said of the drafts that the agent had checked."""


class Strategy(Protocol):
    async def propose(self, seed: Seed, context: RunContext) -> Proposal:
        """Round 0: a draft from the seed passage, by searching."""
        ...

    async def revise(self, seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
        """A new draft from all that has been found out, `rounds[-1].feedback` first: the only edge back."""
        ...


def to_draft(arguments: str, state: AgentState, form: type[ProposeArguments] = ProposeArguments) -> Draft | None:
    """A proposal's arguments as a draft: shown ids become passages. None = nothing can be asked.

    Raises FormatError, which goes back to the model, on an unknown passage id or an unknown answer type.
    """
    proposed = parse(form, arguments)
    if not proposed.question.strip() or not proposed.hops:
        return None
    hops = []
    for hop in proposed.hops:
        passage = _cited(hop.passage_id, state)
        hops.append(
            Hop(
                sub_question=hop.sub_question,
                answer=hop.answer,
                passage_id=passage.id,
                title=passage.title,
                quote=_verbatim(hop.quote, passage.text),
                passage_sha256=passage.sha256,
                relation=hop.relation,
            )
        )
    try:
        return Draft.model_validate({**proposed.model_dump(), "hops": tuple(hops)})
    except ValidationError as error:
        raise FormatError(str(error.errors()[0]["msg"])) from error


def _verbatim(quote: str, text: str) -> str:
    """The slice of the text that the quote is but for blanks: agents see fewer. Else the quote as it came."""
    if quote in text:
        return quote
    found = re.search(r"\s+".join(map(re.escape, quote.split())), text)
    return found[0] if found else quote


def _cited(shown_id: str, state: AgentState) -> Passage:
    if shown_id not in state.passages:
        raise FormatError(f"No passage '{shown_id[:40]}' has been read; cite the ids in the search results.")
    return state.passages[shown_id]
