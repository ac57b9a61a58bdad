"""Which words of a query stand nowhere in a corpus, so that nobody searches on for what it does not hold."""

import re

from pipeline.retrieval.base import Retriever
from pipeline.text.scripts import is_spaceless

_MOST, _LONGEST = 32, 40
_ENDS = re.compile(r"^[\W_]+|[\W_]+$")


async def occur_nowhere(retriever: Retriever, query: str) -> list[str]:
    """Words as the query has them, each once; none where the retriever does not know, or nothing parts the words."""
    words = {word.casefold(): word for part in reversed(query.split()) if (word := _ENDS.sub("", part))}
    asked = [word for word in reversed(words.values()) if len(word) <= _LONGEST and not is_spaceless(word)][:_MOST]
    found = await retriever.held(asked) if retriever.held and asked else [True] * len(asked)
    return [word for word, is_held in zip(asked, found, strict=True) if not is_held]
