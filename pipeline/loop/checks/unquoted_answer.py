"""A hop's quote does not contain the hop's answer."""

from collections.abc import Sequence

from pipeline.agents.naming import mentions
from pipeline.loop.checks.base import Case, DraftCheck, Found, Stage, quoted
from pipeline.text import untagged
from pipeline.text.names import normalise
from pipeline.types import Cause

ADVICE = "Quote a sentence that holds the answer."


async def unquoted_answer(case: Case) -> Found | None:
    """Every hop's answer stands in its quote, or is the title of its passage (a hop that is walked backwards).

    Every item of a list stands in its own quote, or else in the last hop's.
    """
    draft, last, end = case.draft, len(case.draft.hops) - 1, case.draft.hops[-1]
    hops = enumerate(draft.hops[:-1] if draft.listed else draft.hops)
    bare = [number for number, hop in hops if not _stated((hop.answer,), hop.quote, hop.title)]
    items = draft.answer_items if draft.listed else ()
    if not all(_stated(item.spellings, item.quote or end.quote, item.title or end.title) for item in items):
        bare.append(last)
    if not draft.decided and normalise(draft.hops[last].answer) != normalise(draft.answer):
        bare.append(last)
    told = quoted([draft.hops[number].answer for number in bare])
    return Found(f"the quotes of these hops do not hold {told}", (*bare,)) if bare else None


def _stated(names: Sequence[str], quote: str, title: str) -> bool:
    titles = {normalise(title), normalise(untagged(title))}
    return any(mentions(quote, name) or normalise(name) in titles for name in names)


CHECK = DraftCheck(Stage.SOUND, 5, Cause.GENERATOR_ERROR, advice=ADVICE, look=unquoted_answer)
