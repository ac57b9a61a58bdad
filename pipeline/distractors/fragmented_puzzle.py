"""`fragmented_puzzle`: several passages that each hold a part of the answer, locally plausible, and say so."""

import re
from collections.abc import Sequence

from pipeline.agents.site import Site
from pipeline.distractors import base
from pipeline.distractors.base import Aim, Writing
from pipeline.types import Draft, Kind

PIECES = 2
_MARK = re.compile(
    r"\b(?:part|portion|half|third|only|alone|section|stage|phase|excerpt|incomplete|partial\w*|remainder|the rest)\b",
    re.IGNORECASE,
)


def ends(draft: Draft) -> Sequence[int]:
    return base.backwards(draft)


def marked(mark: str) -> bool:
    return bool(_MARK.search(mark))


async def write(aim: Aim, site: Site, sample: int) -> Writing:
    messages = site.prompt(
        "distractor/fragmented_puzzle",
        kind=Kind.FRAGMENTED_PUZZLE.value,
        query=aim.query,
        passage=aim.passage(),
        quote=aim.quote,
        asked=aim.asked,
        answer=aim.answer,
        rivals=aim.others(),
    )
    return await base.write(Kind.FRAGMENTED_PUZZLE, messages, aim, site, sample)
