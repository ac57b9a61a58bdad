"""Questions that another pair has already, in these words or others.

The same words once marks and case are gone; nearly the same words with the same answer; or, whatever the words ("in
what year", "in which year"), the same chain: the same answer from the same passages, or the same answers hop by hop.
Near means a Jaccard similarity of about 0.85 over single content words and pairs of them (MinHash, 10 bands of 12 rows:
half of the pairs at 0.8 and 96 % at 0.9 are found, at 0.6 two in a hundred). The answer must agree because questions
made in one frame about two subjects are about as near, and so are "born" and "died" of one long description.
"""

from itertools import pairwise

from rensa import RMinHash

from pipeline.gates.base import Settings, Weight
from pipeline.text import normalise, words
from pipeline.types import Draft, Record, sha256

BANDS, ROWS = 10, 12
FRAME = frozenset(
    "a an the of in on at by to for from with as that which who whom whose what where when how did do does is are was "
    "were be been has had have it its this these those and or also year day month date name".split()
)
"""Words that a question is framed with: they tell no two questions apart."""


def weigh(draft: Draft, record: Record, settings: Settings) -> list[Weight]:
    answer = normalise(draft.answer)
    near = tuple(f"{number} {band} {answer}" for number, band in enumerate(bands(draft.question)))
    found = [
        Weight(marks=(f"words {normalise(draft.question)}",), full="another pair asks the same"),
        Weight(marks=near, full="another pair with this answer asks nearly the same"),
    ]
    # A single passage answers many questions with one answer; only a chain is as good as the question.
    if len(draft.hops) > 1:
        passages = f"passages {answer} {sorted({hop.passage_id for hop in draft.hops})}"
        chain = f"chain {[normalise(hop.answer) for hop in draft.hops]}"
        found.append(Weight(marks=(passages, chain), full="another pair has the same chain"))
    return found


def bands(question: str) -> list[str]:
    """Two questions are near where one of their bands is equal."""
    content = [word for word in words(question) if word not in FRAME]
    pairs = [f"{a} {b}" for a, b in pairwise(content)]
    minhash = RMinHash(num_perm=BANDS * ROWS, seed=1)
    minhash.update([*content, *pairs] or [question])
    digest = minhash.digest()
    return [sha256(str(digest[n * ROWS : (n + 1) * ROWS]))[:16] for n in range(BANDS)]
