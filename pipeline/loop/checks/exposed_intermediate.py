"""The question names the answer of an intermediate hop."""

from pipeline.agents.cited import start
from pipeline.agents.naming import mentions
from pipeline.loop.checks.base import ALL_STAY, Case, DraftCheck, Found, Stage
from pipeline.types import Cause

ADVICE = f"Describe what the question names. {ALL_STAY}"


async def exposed_intermediate(case: Case) -> Found | None:
    """It saves all hops up to that one. "Nashville" is "Nashville, Tennessee"."""
    draft = case.draft
    spelt = [[name.split(", ")[0] for name in hop.spellings] for hop in draft.hops[:-1]]
    named = [n for n, names in enumerate(spelt) if any(mentions(draft.question, name) for name in names)]
    hops = sorted({hop for number in named for hop in range(start(draft, number), number + 1)})
    names = " and ".join(f"'{draft.hops[number].answer}'" for number in named)
    return Found(f"the question names {names}", (*hops,)) if hops else None


CHECK = DraftCheck(Stage.SHORT, 1, Cause.OVER_SPECIFIED, advice=ADVICE, look=exposed_intermediate)
