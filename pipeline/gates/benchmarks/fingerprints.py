"""Fingerprints of questions: what tells that another question is the same one, without its text.

Marks tell the same words from hashes: two questions that share one are the same. Rewordings and other ways to ask for
one chain are told by the words that two questions have in common. Of a question's words 12 bits each are kept, one of
4,096 numbers that hundreds of words and names share, so that a list shows how much two questions have in common and not
what was asked; of its answers' words 20 bits. A word weighs what its rarity among all listed questions says.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.gates.base import YES_NO
from pipeline.gates.duplicate import FRAME
from pipeline.text import contains, normalise, strip_tag, terms, words
from pipeline.text.scripts import runs
from pipeline.types import Hop

GRAM = 13
NUMBERS = 1 << 12
MARK, WORD, ANSWER = 10, 3, 5
"""Hexadecimal digits. With marks of 40 bits, one of ten thousand pairs of ten thousand marks in all meets one of a
million by chance with one in a hundred."""
SHARE, EVIDENCE, PER_RARITY = 0.45, 110.0, 8.0
"""With the same answer: so much of the listed question's weight, and so much evidence, of which the answer's rarity is
a part: "American" answers hundreds of questions. Set on 140 rewordings by hand and 729 questions of other splits."""
ALIKE, UNANSWERED = 0.6, 0.7
"""Share of the weight of both questions that they have in common (Dice), where the answer is the same and where the
list has no answers."""
BARE = 0.75
"""Share of the listed question's weight, or of both, where the answer is yes or no."""
_FEW = 4


class Fingerprint(NamedTuple):
    """What is kept of a question."""

    marks: tuple[str, ...]
    answers: frozenset[int]
    words: frozenset[int]

    def __str__(self) -> str:
        """A line of a `.hashes` file."""
        return " ".join(("".join(self.marks), _joined(self.answers, ANSWER), _joined(self.words, WORD)))


def fingerprint(question: str, answers: Sequence[str] = (), titles: Iterable[str] = ()) -> Fingerprint:
    """`titles` are those of the evidence."""
    found = tuple(dict.fromkeys(marks(question, answers, titles)))
    return Fingerprint(found, frozenset().union(*_answers(answers)), _asked(question, answers))


def parsed(line: str) -> Fingerprint:
    """A line of a `.hashes` file. Raises ValueError for any other."""
    joined, answers, asked = line.split(" ")
    if not joined or len(joined) % MARK or len(answers) % ANSWER or len(asked) % WORD:
        raise ValueError(line)
    int(joined, 16)
    return Fingerprint(tuple(_cut(joined, MARK)), _numbers(answers, ANSWER), _numbers(asked, WORD))


def marks(question: str, answers: Iterable[str], titles: Iterable[str]) -> Iterator[str]:
    """The same words; thirteen words in a row; the same answer with a title of the evidence."""
    yield _hashed("question", normalise(question.lower()))
    for run in runs(words(question), GRAM):
        yield _hashed("gram", " ".join(run))
    titled = {normalise(title) for title in titles}
    for answer in sorted({normalise(answer) for answer in answers} - YES_NO - {""}):
        for title in sorted(titled):
            yield _hashed("answer", f"{answer}\n{title}")


class Index:
    """Fingerprints, to find the one that a draft is too like."""

    def __init__(self, listed: Sequence[Fingerprint]) -> None:
        self._size = len(listed)
        self._marks = {mark: place for place in reversed(range(len(listed))) for mark in listed[place].marks}
        self._answers = [one.answers for one in listed]
        self._common = Counter(number for one in listed for number in one.answers)
        lengths = [len(one.words) for one in listed]
        asked = np.fromiter((number for one in listed for number in one.words), np.int64, sum(lengths))
        places = np.repeat(np.arange(len(listed)), lengths)
        counts = np.bincount(asked, minlength=NUMBERS)
        self._places = places[np.argsort(asked, kind="stable")]
        self._starts = np.concatenate(([0], np.cumsum(counts)))
        self._weights = np.log((len(listed) + 1) / (counts + 1)) ** 2
        self._long = np.array(lengths) >= _FEW
        self._totals = np.bincount(places, self._weights[asked], minlength=len(listed)) + 1e-9

    def find(self, question: str, answers: Sequence[str], hops: Sequence[Hop] = ()) -> int | None:
        """Return the place of a listed question that asks the same, in the same or in other words."""
        shared = (self._marks.get(mark) for mark in marks(question, answers, [hop.title for hop in hops]))
        place = next((place for place in shared if place is not None), None)
        return self._reworded(question, answers, hops) if place is None else place

    def _reworded(self, question: str, answers: Sequence[str], hops: Sequence[Hop]) -> int | None:
        """As `find`, by the words in common with the question, and with a whole chain where the answer agrees.

        Branches that meet in an operation are chains of their own: the words of many branches together have enough in
        common with some question by chance.
        """
        asked = _asked(question, answers)
        places = (self._place_of(asked, chain, answers) for chain in _chains(hops) or [()])
        return next((place for place in places if place is not None), None)

    def _place_of(self, asked: frozenset[int], hops: Sequence[Hop], answers: Sequence[str]) -> int | None:
        # The winner of a comparison is the answer and the subject of its branch: it must not count twice.
        chain = _short(text for hop in hops for text in (strip_tag(hop.title), hop.sub_question)) - _short(answers)
        met = frozenset().union(*(_short([hop.answer]) - _short([hop.sub_question]) for hop in hops[:-1]))
        common = self._common_weight(asked | chain)
        share = np.where(self._long, common / self._totals, 0)
        alike = np.maximum(self._alike(asked), self._alike(chain - met))
        said = _answers(answers)
        bare = normalise(answers[0]) in YES_NO
        for place in np.flatnonzero((share >= SHARE) | (alike >= ALIKE)):
            if not said or not self._answers[place]:
                found = alike[place] >= UNANSWERED
            elif rarity := max(self._rarity(one, self._answers[place]) for one in said):
                enough = common[place] + PER_RARITY * rarity >= EVIDENCE
                found = max(alike[place], share[place]) >= BARE if bare else enough or alike[place] >= ALIKE
            else:
                found = False
            if found:
                return int(place)
        return None

    def _alike(self, found: frozenset[int]) -> npt.NDArray[np.float64]:
        whole = self._totals + self._weights[list(found)].sum()
        alike: npt.NDArray[np.float64] = 2 * self._common_weight(found) / whole
        return alike

    def _common_weight(self, found: frozenset[int]) -> npt.NDArray[np.float64]:
        """For each listed question, the weight of its words that are among these."""
        total = np.zeros(self._size)
        for number in found:
            total[self._places[self._starts[number] : self._starts[number + 1]]] += self._weights[number]
        return total

    def _rarity(self, answer: frozenset[int], listed: frozenset[int]) -> float:
        """Of the rarest word that two answers share of which one is within the other; 0 for any other two."""
        if not (answer <= listed or listed <= answer):
            return 0.0
        return log((self._size + 1) / (1 + min(self._common[number] for number in answer & listed)))


def _chains(hops: Sequence[Hop]) -> list[tuple[Hop, ...]]:
    """Return each hop that no other one needs, after the hops that lead to it."""
    needed = {index for hop in hops for index in hop.needs}
    return [_chain_to(index, hops) for index in range(len(hops)) if index not in needed]


def _chain_to(index: int, hops: Sequence[Hop]) -> tuple[Hop, ...]:
    before = dict.fromkeys(hop for need in hops[index].needs for hop in _chain_to(need, hops))
    return (*before, hops[index])


def _answers(answers: Iterable[str]) -> list[frozenset[int]]:
    said = {answer for answer in map(normalise, answers) if answer}
    return [frozenset(map(_number, _content(answer) or terms(answer))) for answer in sorted(said)]


def _asked(question: str, answers: Iterable[str]) -> frozenset[int]:
    """A question's words. An answer that it names is left out: of two films, one is the answer to much else."""
    found = _short([question])
    named = _short(answer for answer in answers if contains(question, answer))
    return found - named if len(found - named) >= _FEW else found


def _short(texts: Iterable[str]) -> frozenset[int]:
    return frozenset(_number(word) % NUMBERS for text in texts for word in _content(text))


def _content(text: str) -> list[str]:
    """Words other than those that questions are framed with; single letters say nothing either."""
    return [
        word for word in terms(normalise(text.lower())) if word not in FRAME and (len(word) > 1 or not word.isalpha())
    ]


def _number(word: str) -> int:
    """Of the first five letters: "director", "directed" and "directs" are one."""
    return int.from_bytes(blake2b(word[:5].encode(), digest_size=4).digest()) % (1 << 4 * ANSWER)


def _joined(numbers: frozenset[int], digits: int) -> str:
    return "".join(f"{number:0{digits}x}" for number in sorted(numbers))


def _numbers(joined: str, digits: int) -> frozenset[int]:
    return frozenset(int(one, 16) for one in _cut(joined, digits))


def _cut(joined: str, digits: int) -> list[str]:
    return [joined[start : start + digits] for start in range(0, len(joined), digits)]


def _hashed(kind: str, text: str) -> str:
    return blake2b(f"{kind}\n{text}".encode(), digest_size=MARK // 2).hexdigest()
