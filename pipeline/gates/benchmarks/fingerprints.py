"""Fingerprints of questions, which recognise the same question without its text.

Marks are hashes of exact wordings: two questions that share a mark are the same. Rewordings, and other ways to ask for
the same chain, are recognised by the words that two questions have in common. A fingerprint keeps 12 bits of each word
of a question: each of the 4,096 numbers stands for hundreds of words and names, so that a list shows how much two
questions have in common, but not what they ask. It keeps 20 bits of each word of the answers. The weight of a word
depends on its rarity among all listed questions.
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
"""Hexadecimal digits. Marks have 40 bits: the chance that one of ten thousand marks is equal to one of a million others
is one in a hundred."""
SHARE, EVIDENCE, PER_RARITY = 0.45, 110.0, 8.0
"""Questions with the same answer are the same from this share of the listed question's weight and this evidence on. The
answer's rarity is part of the evidence, since "American" answers hundreds of questions. Set on 140 rewordings by hand
and 729 questions of other splits."""
ALIKE, UNANSWERED = 0.6, 0.7
"""The least common share of the weight of both questions (Dice), if the answer is the same and if the list has no
answers."""
BARE = 0.75
"""The least share of the listed question's weight, or of both, if the answer is yes or no."""
_FEW = 4


class Fingerprint(NamedTuple):
    marks: tuple[str, ...]
    answers: frozenset[int]
    words: frozenset[int]

    def __str__(self) -> str:
        """Return the question's line of a `.hashes` file."""
        return " ".join(("".join(self.marks), _join(self.answers, ANSWER), _join(self.words, WORD)))


def fingerprint(question: str, answers: Sequence[str] = (), titles: Iterable[str] = ()) -> Fingerprint:
    """Build the fingerprint of a question. `titles` are those of its evidence."""
    distinct_marks = tuple(dict.fromkeys(marks(question, answers, titles)))
    return Fingerprint(distinct_marks, frozenset().union(*_answers(answers)), _question_words(question, answers))


def parse_line(line: str) -> Fingerprint:
    """Parse a line of a `.hashes` file. Raises ValueError for any other line."""
    joined, answers, question_words = line.split(" ")
    if not joined or len(joined) % MARK or len(answers) % ANSWER or len(question_words) % WORD:
        raise ValueError(line)
    int(joined, 16)
    return Fingerprint(
        tuple(_split(joined, MARK)), _parse_numbers(answers, ANSWER), _parse_numbers(question_words, WORD)
    )


def marks(question: str, answers: Iterable[str], titles: Iterable[str]) -> Iterator[str]:
    """Yield hashes of the words, of each thirteen words in a row, and of each answer with a title of the evidence.

    A title that is the answer itself says no more than the answer: many comparisons have the same winner.
    """
    yield _hash("question", normalise(question.lower()))
    for run in runs(words(question), GRAM):
        yield _hash("gram", " ".join(run))
    names = {normalise(title): normalise(strip_tag(title)) for title in titles}
    for answer in sorted({normalise(answer) for answer in answers} - YES_NO - {""}):
        for title in sorted(title for title, name in names.items() if answer not in (title, name)):
            yield _hash("answer", f"{answer}\n{title}")


class Index:
    """The fingerprints of listed questions, searched for one that a draft is too similar to."""

    def __init__(self, listed: Sequence[Fingerprint]) -> None:
        self._size = len(listed)
        self._marks = {mark: index for index in reversed(range(len(listed))) for mark in listed[index].marks}
        self._answers = [question.answers for question in listed]
        self._common = Counter(number for question in listed for number in question.answers)
        lengths = [len(question.words) for question in listed]
        numbers = np.fromiter((number for question in listed for number in question.words), np.int64, sum(lengths))
        indices = np.repeat(np.arange(len(listed)), lengths)
        counts = np.bincount(numbers, minlength=NUMBERS)
        self._indices = indices[np.argsort(numbers, kind="stable")]
        self._starts = np.concatenate(([0], np.cumsum(counts)))
        self._weights = np.log((len(listed) + 1) / (counts + 1)) ** 2
        self._long = np.array(lengths) >= _FEW
        self._totals = np.bincount(indices, self._weights[numbers], minlength=len(listed)) + 1e-9

    def find(self, question: str, answers: Sequence[str], hops: Sequence[Hop] = ()) -> int | None:
        """Return the index of a listed question that asks the same, in the same or in other words."""
        shared = (self._marks.get(mark) for mark in marks(question, answers, [hop.title for hop in hops]))
        match = next((index for index in shared if index is not None), None)
        return self._find_rewording(question, answers, hops) if match is None else match

    def _find_rewording(self, question: str, answers: Sequence[str], hops: Sequence[Hop]) -> int | None:
        """Compare words with those of the question, and with those of each of its chains if the answer agrees.

        Branches that meet in an operation are chains of their own: the words of many branches together have enough in
        common with some question by chance.
        """
        numbers = _question_words(question, answers)
        matches = (self._find_chain(numbers, chain, answers) for chain in _chains(hops) or [()])
        return next((match for match in matches if match is not None), None)

    def _find_chain(self, question_words: frozenset[int], hops: Sequence[Hop], answers: Sequence[str]) -> int | None:
        # The winner of a comparison is the answer and the subject of its branch: it must not count twice.
        chain = _hash_words(text for hop in hops for text in (strip_tag(hop.title), hop.sub_question))
        chain -= _hash_words(answers)
        intermediate = frozenset().union(
            *(_hash_words([hop.answer]) - _hash_words([hop.sub_question]) for hop in hops[:-1])
        )
        common = self._common_weight(question_words | chain)
        share = np.where(self._long, common / self._totals, 0)
        alike = np.maximum(self._similarity(question_words), self._similarity(chain - intermediate))
        draft_answers, is_list = _answers(answers), ";" in answers[0]
        is_yes_no = normalise(answers[0]) in YES_NO
        for index in np.flatnonzero((share >= SHARE) | (alike >= ALIKE)):
            if not draft_answers or not self._answers[index]:
                is_same = alike[index] >= UNANSWERED
            elif rarity := max(self._rarity(answer, self._answers[index], is_list) for answer in draft_answers):
                if is_yes_no:
                    is_same = max(alike[index], share[index]) >= BARE
                else:
                    is_same = common[index] + PER_RARITY * rarity >= EVIDENCE or alike[index] >= ALIKE
            else:
                is_same = False
            if is_same:
                return int(index)
        return None

    def _similarity(self, numbers: frozenset[int]) -> npt.NDArray[np.float64]:
        total_weight = self._totals + self._weights[list(numbers)].sum()
        similarity: npt.NDArray[np.float64] = 2 * self._common_weight(numbers) / total_weight
        return similarity

    def _common_weight(self, numbers: frozenset[int]) -> npt.NDArray[np.float64]:
        """Return for each listed question the weight of its words that are among these."""
        total = np.zeros(self._size)
        for number in numbers:
            total[self._indices[self._starts[number] : self._starts[number + 1]]] += self._weights[number]
        return total

    def _rarity(self, answer: frozenset[int], listed: frozenset[int], is_list: bool) -> float:
        """Return the rarity of the rarest common word if one of the answers contains the other, else 0.

        One item of a list is another answer than the list.
        """
        if not (answer <= listed or (listed <= answer and not is_list)):
            return 0.0
        return log((self._size + 1) / (1 + min(self._common[number] for number in answer & listed)))


def _chains(hops: Sequence[Hop]) -> list[tuple[Hop, ...]]:
    """Return each hop that no other hop needs, after the hops that lead to it."""
    needed = {index for hop in hops for index in hop.needs}
    return [_chain_to(index, hops) for index in range(len(hops)) if index not in needed]


def _chain_to(index: int, hops: Sequence[Hop]) -> tuple[Hop, ...]:
    before = dict.fromkeys(hop for need in hops[index].needs for hop in _chain_to(need, hops))
    return (*before, hops[index])


def _answers(answers: Iterable[str]) -> list[frozenset[int]]:
    normalised = {answer for answer in map(normalise, answers) if answer}
    return [frozenset(map(_hash_word, _content_words(answer) or terms(answer))) for answer in sorted(normalised)]


def _question_words(question: str, answers: Iterable[str]) -> frozenset[int]:
    """Hash the words of a question, without an answer that it names: one of two films answers many other questions."""
    numbers = _hash_words([question])
    other_words = numbers - _hash_words(answer for answer in answers if contains(question, answer))
    return other_words if len(other_words) >= _FEW else numbers


def _hash_words(texts: Iterable[str]) -> frozenset[int]:
    return frozenset(_hash_word(word) % NUMBERS for text in texts for word in _content_words(text))


def _content_words(text: str) -> list[str]:
    return [
        word for word in terms(normalise(text.lower())) if word not in FRAME and (len(word) > 1 or not word.isalpha())
    ]


def _hash_word(word: str) -> int:
    # Five letters: "director", "directed" and "directs" are the same word.
    return int.from_bytes(blake2b(word[:5].encode(), digest_size=4).digest()) % (1 << 4 * ANSWER)


def _join(numbers: frozenset[int], digits: int) -> str:
    return "".join(f"{number:0{digits}x}" for number in sorted(numbers))


def _parse_numbers(joined: str, digits: int) -> frozenset[int]:
    return frozenset(int(number, 16) for number in _split(joined, digits))


def _split(joined: str, digits: int) -> list[str]:
    return [joined[start : start + digits] for start in range(0, len(joined), digits)]


def _hash(kind: str, text: str) -> str:
    return blake2b(f"{kind}\n{text}".encode(), digest_size=MARK // 2).hexdigest()
