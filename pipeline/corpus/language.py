"""Whether a text or a corpus is in English, which is all that the demo model and some rules read."""

from collections.abc import Sequence

from pipeline.text import words
from pipeline.types import Passage

_COMMON = frozenset("the of and to with by from which that were are his its their this has been".split())
"""Every fifth or sixth word of English prose, and few of any other language."""
_SHARE = 0.06
_SAMPLE = 200


def english(passages: Sequence[Passage]) -> bool:
    """Are most passages of a sample in English, to judge by its commonest words and not by what a manifest says?"""
    sample = passages[:: len(passages) // _SAMPLE + 1]
    return 2 * sum(is_english(passage.text) for passage in sample) > len(sample)


def is_english(text: str) -> bool:
    """Is this passage? Of a few words only nobody knows."""
    said = words(text)
    return sum(word in _COMMON for word in said) > _SHARE * len(said)
