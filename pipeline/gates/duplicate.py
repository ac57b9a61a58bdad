"""Questions that another pair already asks, in the same or in other words.

Two questions are duplicates if they have the same words apart from punctuation and case; if they have the same answer
and the same names and years, or nearly the same words; or if they have the same chain in any words: the same answer
from the same passages, or the same answers hop by hop. Nearly the same words means a Jaccard similarity of about 0.75
over the trigrams of content words (MinHash, 16 bands of 8 rows: this detects one pair in twenty at 0.5, six in ten at
0.7, all but one in a hundred at 0.85). Trigrams give long names more weight than the frame around them. The answer
must agree because questions with one frame about two subjects are about as similar, and so are "born" and "died" of
one long description.

Names are recognised by their capital letters, so only in scripts that have them; in German every noun counts as a
name. The list of frame words is English: in other languages the frame counts too.
"""

from rensa import RMinHash

from pipeline.config.exports import GateConfig
from pipeline.gates.base import Gate, GateResult
from pipeline.text import normalise, terms, words
from pipeline.text.scripts import has_case
from pipeline.types import Draft, Record, sha256

BANDS, ROWS = 16, 8
FRAME = frozenset(
    "a an the of in on at by to for from with as that which who whom whose what where when how did do does is are was "
    "were be been has had have it its this these those and or also year day month date name please exactly actually "
    "fact ones".split()
)
"""English words of the frame of a question, which do not tell questions apart."""


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    answer = normalise(draft.answer)
    near = tuple(f"{number} {band} {answer}" for number, band in enumerate(bands(draft.question)))
    results = [
        GateResult(marks=(f"words {normalise(draft.question)}",), full="another pair asks the same"),
        GateResult(marks=near, full="another pair with this answer asks nearly the same"),
    ]
    if question_names := names(draft.question):
        full = "another pair with this answer names the same"
        results.append(GateResult(marks=(f"names {question_names} {answer}",), full=full))
    # One passage answers many questions with the same answer, and the hops of a comparison are not a chain.
    answers = [normalise(hop.answer) for hop in draft.hops]
    if len(answers) > 1 and not draft.graph.is_computed:
        passages = f"passages {answer} {sorted({hop.passage_id for hop in draft.hops})}"
        results.append(GateResult(marks=(passages, f"chain {answers}"), full="another pair has the same chain"))
    return results


def names(question: str) -> list[str]:
    """Return the words that name what a question is about: numbers, and capitalised words other than the first.

    Return none for a script without capitals: its numbers alone do not identify a subject.
    """
    if not has_case(question):
        return []
    first, *later = question.split() or [""]
    name_words = [first] if any(c.isdigit() for c in first) else []
    name_words += [word for word in later if any(c.isupper() or c.isdigit() for c in word)]
    return sorted({name for word in name_words for name in words(word)} - FRAME)


def bands(question: str) -> list[str]:
    """Return the MinHash bands of a question. Two questions are near if they share a band."""
    content = [f" {word} " for word in terms(question) if word not in FRAME]
    minhash = RMinHash(num_perm=BANDS * ROWS, seed=1)
    minhash.update([word[n : n + 3] for word in content for n in range(len(word) - 2)] or [question])
    digest = minhash.digest()
    return [sha256(str(digest[n * ROWS : (n + 1) * ROWS]))[:16] for n in range(BANDS)]


GATE = Gate(check)
