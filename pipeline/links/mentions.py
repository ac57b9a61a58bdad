"""Find the phrases of a text that may link it to others: titles of other documents, names, identifiers, rare words.

Names are found by their capital letters, and identifiers by their digits, capitals and marks. In scripts without
capitals, a rare word is one that few documents contain, and use more than once. There are no word lists and no rules
for single languages.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.links.sorted_tables import Columns, spread
from pipeline.links.survey import FEWEST, GRAMS, find_grams, hash_all_sentences
from pipeline.links.titles import KnownTitles, Titles
from pipeline.links.tokens import LONGEST, Bools, Ints, Words, mix_bits, phrases, sums, words

TITLE, NAME, IDENTIFIER, WORD, STATED = range(5)
KINDS = ("title", "name", "identifier", "word", "stated")
_TIE = 3
"""Most letters of a word that joins a name, as in "Duke of York". A name may have two in a row."""
_LETTERS = 3
"""Most letters of an abbreviation that is too ambiguous to link."""
_LISTED = 4
"""A sentence is a list if it has more than this many times the words that are no names or numbers."""
_WORD_LENGTH = 4


@dataclass(frozen=True)
class Knowledge:
    """What the survey learned about the corpus."""

    titles: Titles
    rare: KnownTitles
    """Hashes of words and character sequences, in scripts without capitals, that few documents repeat."""
    small: KnownTitles
    """Hashes of words that are mostly written in small letters, so they are no names."""
    common: KnownTitles
    """Hashes of words that many documents contain. A name needs a word that is not common."""
    beside: KnownTitles
    """Hashes of common words that are mostly capitalised, but rarely before another capitalised word, such as German
    nouns or "President". Before a name, they are not part of it."""
    boilerplate: KnownTitles
    """Hashes of sentences that several documents contain."""


@dataclass(frozen=True)
class _Candidates:
    """Phrases of one kind, as ranges of words."""

    first: Ints
    """Index of the first word."""
    count: Ints
    kind: int


def find_mentions(tokens: Words, knowledge: Knowledge, titles: Words) -> Columns:
    """Return `hash`, `text`, `start`, `end` (in code points) and `kind` of each phrase in the texts.

    A phrase that several rules match occurs once. `titles` are the words of each text's title.
    """
    if not len(tokens):
        return {name: np.empty(0, np.int64) for name in ("text", "start", "end", "kind")} | {"hash": tokens.hash}
    capitals = _Runs(tokens, knowledge)
    candidates = [
        *_find_titles(tokens, knowledge, capitals),
        *capitals.names(titles),
        _find_identifiers(tokens),
        *_find_rare_words(tokens, knowledge),
    ]
    first = np.concatenate([candidate.first for candidate in candidates])
    count = np.concatenate([candidate.count for candidate in candidates])
    kind = np.concatenate([np.full(len(candidate.first), candidate.kind, np.uint8) for candidate in candidates])
    distinctive = sums(tokens.capital & ~knowledge.common.holds(mix_bits(tokens.hash)))
    is_kept = (kind != NAME) | (distinctive[first + count] > distinctive[first])
    is_kept &= _says_more(tokens, first, count, knowledge) & ~_is_cut_off(tokens, first + count)
    first, count, kind = first[is_kept], count[is_kept], kind[is_kept]
    order = np.lexsort((kind, count, first))
    first, count, kind = first[order], count[order], kind[order]
    is_repeated = np.concatenate([[False], (first[1:] == first[:-1]) & (count[1:] == count[:-1])])[: len(first)]
    first, count, kind = first[~is_repeated], count[~is_repeated], kind[~is_repeated]
    last = first + count - 1
    return {
        "hash": phrases(tokens.hash, first, count), "text": tokens.text[first], "start": tokens.start[first],
        "end": tokens.end[last], "kind": kind,
    }  # fmt: skip


def _is_cut_off(tokens: Words, next_words: Ints) -> Bools:
    """Mark phrases that an apostrophe joins to the next word, as in "You Don't".

    A following s is fine: it is a genitive or "is".
    """
    next_word = np.minimum(next_words, len(tokens) - 1)
    is_joined = tokens.elided[next_word] & (tokens.hash[next_word] != words(["s"]).hash[0])
    is_cut: Bools = is_joined & (next_words < len(tokens))
    return is_cut


def _says_more(tokens: Words, first: Ints, count: Ints, knowledge: Knowledge) -> Bools:
    """Mark phrases in sentences that say more: with plain words beside the phrase, no list of names, no boilerplate."""
    begins = np.flatnonzero(tokens.first)
    hashes, word_count = hash_all_sentences(tokens, begins)
    plain_words = np.add.reduceat((tokens.capital | (tokens.digits > 0)).astype(np.int64) ^ 1, begins)
    is_telling = (plain_words >= FEWEST) & (_LISTED * plain_words >= word_count) & ~knowledge.boilerplate.holds(hashes)
    sentence = tokens.sentence[first] - 1
    plain = sums(~(tokens.capital | (tokens.digits > 0)))
    plain_outside = plain_words[sentence] - (plain[first + count] - plain[first])
    says_more: Bools = is_telling[sentence] & (plain_outside >= FEWEST) & (2 * count <= word_count[sentence])
    return says_more


def _find_titles(tokens: Words, knowledge: Knowledge, capitals: "_Runs") -> Iterator[_Candidates]:
    """Yield titles of documents that the texts mention.

    A mention needs as many capital letters as the title, and must not be part of a longer name.
    """
    upper = sums(tokens.capital)
    # Most words do not begin a title: filter by the first two words before longer phrases are hashed.
    near = np.flatnonzero(~tokens.first[1:])
    near = near[knowledge.titles.begins.holds(phrases(tokens.hash, near, np.full(len(near), 2)))]
    last = np.append(np.flatnonzero(tokens.first)[1:], len(tokens))[tokens.sentence - 1]
    for count in range(1, LONGEST + 1):
        starts = np.arange(len(tokens)) if count == 1 else near[near + count <= last[near]]
        title = knowledge.titles.names.find(phrases(tokens.hash, starts, np.full(len(starts), count)))
        first, title = starts[title >= 0], title[title >= 0]
        capitals_used = upper[first + count] - upper[first]
        is_mention = capitals_used >= knowledge.titles.capitals[title]
        if count == 1:
            # A capital at the start of a sentence is no evidence for a name.
            needed = knowledge.titles.capitals[title] > 0
            is_mention &= ~(needed & tokens.first[first] & knowledge.small.holds(mix_bits(tokens.hash[first])))
        is_mention &= (capitals_used == 0) | capitals.is_whole_name(first, count)
        first = first[is_mention]
        yield _Candidates(first, np.full(len(first), count), TITLE)


class _Runs:
    """Sequences of capitalised words, with numbers, and the short words that join two of them."""

    def __init__(self, tokens: Words, knowledge: Knowledge) -> None:
        self._tokens = tokens
        near = tokens.near
        # The first word of a sentence is not part of a name if it is mostly written small.
        self._small = knowledge.small.holds(mix_bits(tokens.hash))
        self._common = knowledge.common.holds(mix_bits(tokens.hash))
        self._beside = knowledge.beside.holds(mix_bits(tokens.hash))
        self.capital = tokens.capital & ~(tokens.first & self._small)
        number = tokens.digits > 0
        in_run = self.capital | number
        self.begins = np.flatnonzero(in_run & ~(near & _mark_after(in_run)))
        self.ends = np.flatnonzero(in_run & ~_mark_before(near & in_run)) + 1
        self._short = tokens.cased & ~tokens.capital & (tokens.end - tokens.start <= _TIE) & near

    def is_whole_name(self, first: Ints, count: Ints | int) -> Bools:
        tokens, last = self._tokens, first + count - 1
        next_word = np.minimum(last + 1, len(tokens) - 1)
        continues = (
            (last + 1 < len(tokens))
            & tokens.near[next_word]
            & (self.capital[next_word] | (tokens.digits[next_word] > 0))
        )
        previous_word = np.maximum(first - 1, 0)
        # "President Jane Roe" mentions Jane Roe. A single word or only common words could mean something else.
        distinctive = sums(tokens.capital & ~self._common)
        is_beside = self._beside[previous_word] & (count > 1) & (distinctive[first + count] > distinctive[first])
        is_preceded = tokens.near[first] & self.capital[previous_word] & ~is_beside
        is_whole: Bools = ~(continues & self.capital[last]) & ~(is_preceded & self.capital[first])
        return is_whole

    def names(self, titles: Words) -> Iterator[_Candidates]:
        """Yield the names.

        A name is a sequence without numbers at its ends, or several that short words join, or a single word. A single
        word counts only if neither the text nor its title uses it within a longer name. A word and a number are no
        name, since they may be a date.
        """
        tokens = self._tokens
        first, end, bare = self._trim_numbers()
        joined_first, joined_count = self._join_by_short_words(first[bare], end[bare])
        count = end - first
        is_valid = (count > 0) & (count <= LONGEST)
        # "63rd Infantry Division" is not the 64th, so "Infantry Division" is no name here.
        ordinal = _mark_after(tokens.numeral & (tokens.digits < tokens.end - tokens.start)) & tokens.near
        is_valid &= ~ordinal[first]
        several = is_valid & (count > 1)
        yield _Candidates(first[several], count[several], NAME)
        yield _Candidates(joined_first, joined_count, NAME)
        is_in_longer_name = np.zeros(len(tokens), np.bool_)
        for starts, counts in ((first[several], count[several]), (joined_first, joined_count)):
            is_in_longer_name[spread(starts, counts)] = True
        alone = first[is_valid & (count == 1) & bare]
        is_tied = tokens.tied | _mark_before(tokens.tied)
        short = (tokens.upper == tokens.end - tokens.start) & (tokens.upper <= _LETTERS)
        alone = alone[~tokens.first[alone] & ~self._small[alone] & ~is_tied[alone] & ~short[alone]]
        key, title_keys = (
            mix_bits(token_set.hash + mix_bits(token_set.text.astype(np.uint64))) for token_set in (tokens, titles)
        )
        joined_ahead = titles.near & titles.capital & _mark_after(titles.capital)
        title_keys = title_keys[joined_ahead | _mark_before(joined_ahead)]
        alone = alone[~KnownTitles(np.sort(np.concatenate([key[is_in_longer_name], title_keys]))).holds(key[alone])]
        yield _Candidates(alone, np.ones(len(alone), np.int64), NAME)

    def _trim_numbers(self) -> tuple[Ints, Ints, Bools]:
        """Return the sequences without numbers at their ends, and mark those that had none."""
        name = np.flatnonzero(self.capital)
        if not len(name):
            return name, name, np.empty(0, np.bool_)
        left, right = np.searchsorted(name, self.begins), np.searchsorted(name, self.ends) - 1
        has_name = left <= right
        first, end = name[left[has_name]], name[right[has_name]] + 1
        return first, end, (first == self.begins[has_name]) & (end == self.ends[has_name])

    def _join_by_short_words(self, first: Ints, end: Ints) -> tuple[Ints, Ints]:
        if len(first) < 2:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        gap = first[1:] - end[:-1]
        short = sums(self._short)
        is_joined = (gap >= 1) & (gap <= 2) & (short[first[1:]] - short[end[:-1]] == gap) & self._tokens.near[first[1:]]
        begins = np.flatnonzero(is_joined & ~_mark_after(is_joined))
        ends = np.flatnonzero(is_joined & ~_mark_before(is_joined)) + 1
        word_count = end[ends] - first[begins]
        fits = word_count <= LONGEST
        return first[begins][fits], word_count[fits]


def _mark_after(mask: Bools) -> Bools:
    return np.concatenate([[False], mask[:-1]])


def _mark_before(mask: Bools) -> Bools:
    return np.concatenate([mask[1:], [False]])


def _find_identifiers(tokens: Words) -> _Candidates:
    """Find identifiers.

    An identifier is one word, or several that marks join. Either it begins with a letter and contains a digit, and has
    a capital or a digit in its first part; or its first part begins small and contains capitals.
    """
    begins = np.flatnonzero(~tokens.tied)
    count = np.diff(np.append(begins, len(tokens)))
    digits = np.add.reduceat(tokens.digits, begins)
    capitals = np.add.reduceat(tokens.upper, begins)
    length = np.add.reduceat(tokens.end - tokens.start, begins)
    is_identifier = tokens.cased[begins] & ~tokens.numeral[begins] & (length > 2) & (count <= LONGEST)
    has_inner_capital = ~tokens.capital[begins] & (tokens.upper[begins] > 0)
    is_identifier &= has_inner_capital | ((digits > 0) & ((capitals > 0) | (tokens.digits[begins] > 0)))
    return _Candidates(begins[is_identifier], count[is_identifier], IDENTIFIER)


def _find_rare_words(tokens: Words, knowledge: Knowledge) -> Iterator[_Candidates]:
    is_long = tokens.single | (tokens.end - tokens.start >= _WORD_LENGTH)
    starts = np.flatnonzero(~tokens.cased & ~tokens.single & (tokens.digits == 0) & is_long)
    starts = starts[knowledge.rare.holds(mix_bits(tokens.hash[starts]))]
    yield _Candidates(starts, np.ones(len(starts), np.int64), WORD)
    for count in GRAMS:
        starts = find_grams(tokens, count)
        starts = starts[is_long[starts] & is_long[starts + count - 1]]
        starts = starts[knowledge.rare.holds(phrases(tokens.hash, starts, np.full(len(starts), count)))]
        yield _Candidates(starts, np.full(len(starts), count), WORD)
