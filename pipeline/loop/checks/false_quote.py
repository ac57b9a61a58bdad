"""A quote does not stand in the passage that it cites."""

from pipeline.loop.checks.base import ALL_STAY, Case, DraftCheck, Found, Stage, short
from pipeline.types import Cause

ADVICE = f"Copy these quotes again, letter by letter. {ALL_STAY}"


async def false_quote(case: Case) -> Found | None:
    """Every quote is a verbatim slice of the passage that it cites, as that passage was when it was read."""
    false = [
        number
        for number, (hop, passage) in enumerate(zip(case.draft.hops, case.evidence, strict=True))
        if passage is None or passage.sha256 != hop.passage_sha256 or not hop.quote or hop.quote not in passage.text
    ]
    told = [f"'{short(case.draft.hops[number].quote)}' is not in '{case.draft.hops[number].title}'" for number in false]
    return Found("; ".join(told), (*false,)) if false else None


CHECK = DraftCheck(Stage.SOUND, 4, Cause.GENERATOR_ERROR, advice=ADVICE, look=false_quote)
