"""The contract of a strategy, and the one way from a model's proposal to a draft."""

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any, Protocol

from pydantic import ValidationError

from pipeline.agents.calls import AgentState
from pipeline.agents.parse import parse
from pipeline.agents.proposals import ProposeArguments, ProposedHop, ProposedItem
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.checks.base import CheckResult
from pipeline.reward.answers import side
from pipeline.text.names import normalise
from pipeline.types import AnswerItem, AnswerType, Data, Draft, Probe, Round, Seed, Trajectory, Tree

FEWEST, MOST = 2, 10
"""Items of a list."""


class Proposal(Data):
    """What the generator or refiner came back with; no draft where it found nothing to ask or never said it well."""

    trajectory: Trajectory
    draft: Draft | None
    tree: Tree | None = None
    checked: tuple[Probe, ...] = ()
    """What readers said of the drafts that the agent had checked."""
    review: CheckResult | None = None
    """What the reviews of graph and wording gave while the draft was composed; None if they are still to be made."""


class Strategy(Protocol):
    """A module with these functions."""

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
    hops = [hop.model_dump() | _evidence(hop, state) for hop in proposed.hops]
    for hop in hops:
        hop["answer_aliases"] = tuple(name for name in hop["answer_aliases"] if normalise(name))
        hop["answer_kind"] = " ".join(hop["answer_kind"].split())
    stated = proposed.model_dump() | {"hops": hops, "answer_items": ()}
    if stated.get("program"):
        stated["family"] = "aggregate"
    if proposed.answer_type == AnswerType.LIST:
        stated |= _as_list(proposed, hops, state)
    if proposed.answer_type == AnswerType.BOOLEAN and not side(proposed.answer):
        raise FormatError("The answer is yes or no.")
    try:
        return Draft.model_validate(stated)
    except ValidationError as error:
        raise FormatError(str(error.errors()[0]["msg"])) from error


def _as_list(proposed: ProposeArguments, hops: list[dict[str, Any]], state: AgentState) -> dict[str, object]:
    """The fields of a draft whose answer is a list. Raises FormatError where it is none."""
    if not FEWEST <= len(proposed.answer_items) <= MOST:
        raise FormatError(f"A list has {FEWEST} to {MOST} `answer_items`.")
    if not all(normalise(item.answer) for item in proposed.answer_items):
        raise FormatError("Each of the `answer_items` has a name.")
    if any(";" in item.answer for item in proposed.answer_items):
        raise FormatError("An item is one thing, without a semicolon.")
    items = tuple(_item(item, state) for item in proposed.answer_items)
    for one, other in combinations(items, 2):
        taken = {*map(normalise, other.spellings)}
        if same := next((name for name in one.spellings if normalise(name) in taken), ""):
            told = f"The items '{one.answer[:40]}' and '{other.answer[:40]}' have the same name, '{same[:40]}'. "
            raise FormatError(f"{told}Give each thing once, with names that are its own.")
    answer = "; ".join(item.answer for item in items)
    hops[-1]["answer"] = answer
    return {"answer": answer, "answer_aliases": (), "answer_items": items}


def _item(item: ProposedItem, state: AgentState) -> AnswerItem:
    """The item without the aliases that say no more than another of its names: "Chemics" beside "The Chemics"."""
    names: dict[str, str] = {}
    for name in item.answer, *item.aliases:
        names.setdefault(normalise(name), name)
    aliases = tuple(name for said, name in names.items() if said)[1:]
    cited = _evidence(item, state) if item.passage_id else {}
    if cited and (not cited["quote"] or cited["quote"] not in state.passages[item.passage_id].text):
        raise FormatError(f"The quote of the item '{item.answer[:40]}' is not in the passage that it cites.")
    return AnswerItem(answer=item.answer, aliases=aliases, **cited)


def _evidence(one: ProposedHop | ProposedItem, state: AgentState) -> dict[str, str]:
    """The passage that it cites, with the slice of its text that the quote is but for blanks: agents see fewer. Else
    the quote as it came."""
    if one.passage_id not in state.passages:
        raise FormatError(f"No passage '{one.passage_id[:40]}' has been read; cite the ids in the search results.")
    passage, quote = state.passages[one.passage_id], one.quote
    if quote not in passage.text:
        found = re.search(r"\s+".join(map(re.escape, quote.split())), passage.text)
        quote = found[0] if found else quote
    return {"passage_id": passage.id, "title": passage.title, "quote": quote, "passage_sha256": passage.sha256}
