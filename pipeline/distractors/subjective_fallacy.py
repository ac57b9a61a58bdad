"""`subjective_fallacy`: an opinion, in tone and in words, with one objective error."""

import re
from collections.abc import Sequence

from pipeline.agents.site import Site
from pipeline.distractors import base
from pipeline.distractors.base import Aim, Writing
from pipeline.types import Draft, Kind

PIECES = 1
_MARK = re.compile(
    r"\b(?:I|my|me|we|our|opinion|feel|felt|believe|view|personally|honestly|frankly|favou?rite|love|hate)\b",
    re.IGNORECASE,
)


def ends(draft: Draft) -> Sequence[int]:
    return base.backwards(draft)


def marked(mark: str) -> bool:
    return bool(_MARK.search(mark))


async def write(aim: Aim, site: Site, sample: int) -> Writing:
    messages = site.prompt(
        "distractor/subjective_fallacy",
        kind=Kind.SUBJECTIVE_FALLACY.value,
        query=aim.query,
        passage=aim.passage(),
        quote=aim.quote,
        asked=aim.asked,
        answer=aim.answer,
        rivals=aim.others(),
    )
    return await base.write(Kind.SUBJECTIVE_FALLACY, messages, aim, site, sample)
