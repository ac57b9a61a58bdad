"""Find the query words that no passage contains, so that an agent stops searching for them."""

import re

from pipeline.retrieval.base import Retriever
from pipeline.text.scripts import is_spaceless

_MOST, _LONGEST = 32, 40
_ENDS = re.compile(r"^[\W_]+|[\W_]+$")


async def find_absent_words(retriever: Retriever, query: str) -> list[str]:
    """Return the words of a query that no passage contains, as the query writes them, each once.

    Returns an empty list if the retriever does not know its terms. Skips words of scripts without spaces.
    """
    words = {word.casefold(): word for part in reversed(query.split()) if (word := _ENDS.sub("", part))}
    candidates = [word for word in reversed(words.values()) if len(word) <= _LONGEST and not is_spaceless(word)][:_MOST]
    contained = (
        await retriever.contain_words(candidates)
        if retriever.contain_words and candidates
        else [True] * len(candidates)
    )
    return [word for word, is_contained in zip(candidates, contained, strict=True) if not is_contained]
