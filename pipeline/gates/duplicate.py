"""Questions that another pair already asks, in the same or in other words.

The same words once marks and case are gone; with the same answer, the same names and years or nearly the same words;
or the same chain in any words: the same answer from the same passages, or the same answers hop by hop. Near
is a Jaccard similarity of about 0.75 over the trigrams of content words (MinHash, 16 bands of 8 rows: at 0.5 one pair
in twenty is found, at 0.7 six in ten, at 0.85 all but one in a hundred); trigrams, because long names then weigh more
than the frame around them. The answer must agree because questions made in one frame about two subjects are about as
near, and so are "born" and "died" of one long description.

Names are told by their capital letters, so only where the script has them; in German every noun is one. The words of
the frame that are left out are English ones: in other languages the frame counts too.
"""

from rensa import RMinHash

from pipeline.config.gates import GateConfig
from pipeline.gates.base import GateResult
from pipeline.text import normalise, terms, words
from pipeline.text.scripts import has_case
from pipeline.types import Draft, Record, sha256

BANDS, ROWS = 16, 8
FRAME = frozenset(
    "a an the of in on at by to for from with as that which who whom whose what where when how did do does is are was "
    "were be been has had have it its this these those and or also year day month date name please exactly actually "
    "fact ones".split()
)
"""English words that a question is framed with: they tell no two questions apart."""


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    answer = normalise(draft.answer)
    near = tuple(f"{number} {band} {answer}" for number, band in enumerate(bands(draft.question)))
    found = [
        GateResult(marks=(f"words {normalise(draft.question)}",), full="another pair asks the same"),
        GateResult(marks=near, full="another pair with this answer asks nearly the same"),
    ]
    if named := names(draft.question):
        full = "another pair with this answer names the same"
        found.append(GateResult(marks=(f"names {named} {answer}",), full=full))
    # One passage answers many questions with one answer, and the hops of a comparison are no chain.
    answers = [normalise(hop.answer) for hop in draft.hops]
    if len(answers) > 1 and not draft.graph.is_computed:
        passages = f"passages {answer} {sorted({hop.passage_id for hop in draft.hops})}"
        found.append(GateResult(marks=(passages, f"chain {answers}"), full="another pair has the same chain"))
    return found


def names(question: str) -> list[str]:
    """The words that name what a question is about: capitalised ones, but not its first, and figures. None in a script
    without capitals, where figures alone would have to do for names."""
    if not has_case(question):
        return []
    first, *rest = question.split() or [""]
    named = [first] if any(c.isdigit() for c in first) else []
    named += [word for word in rest if any(c.isupper() or c.isdigit() for c in word)]
    return sorted({name for word in named for name in words(word)} - FRAME)


def bands(question: str) -> list[str]:
    """Two questions are near where one of their bands is equal."""
    content = [f" {word} " for word in terms(question) if word not in FRAME]
    minhash = RMinHash(num_perm=BANDS * ROWS, seed=1)
    minhash.update([word[n : n + 3] for word in content for n in range(len(word) - 2)] or [question])
    digest = minhash.digest()
    return [sha256(str(digest[n * ROWS : (n + 1) * ROWS]))[:16] for n in range(BANDS)]
