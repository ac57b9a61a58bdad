"""`doppelganger`: the hop's topic in another edition: one value is changed, and the edition is named."""

import re
from collections.abc import Sequence

from pipeline.agents.site import Site
from pipeline.distractors import base
from pipeline.distractors.base import Aim, Writing
from pipeline.types import Draft, Kind

PIECES = 1
_MARK = re.compile(
    r"\b(?:edition|version|draft|revision|revised|survey|census|issue|reprint|release|report|series|season|volume|fiscal|"
    r"as of|dated|printing)\b|\b(?:1[4-9]|20)\d\d\b",
    re.IGNORECASE,
)


def ends(draft: Draft) -> Sequence[int]:
    return base.backwards(draft)


def marked(mark: str) -> bool:
    return bool(_MARK.search(mark))


async def write(aim: Aim, site: Site, sample: int) -> Writing:
    messages = site.prompt(
        "distractor/doppelganger",
        kind=Kind.DOPPELGANGER.value,
        query=aim.query,
        passage=aim.passage(),
        quote=aim.quote,
        asked=aim.asked,
        answer=aim.answer,
        rivals=aim.others(),
    )
    return await base.write(Kind.DOPPELGANGER, messages, aim, site, sample)
