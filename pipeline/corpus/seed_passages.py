"""Select the passages at which a question may start."""

import re
from collections.abc import Mapping

from pipeline import text
from pipeline.corpus.language import UNKNOWN, language_of
from pipeline.text.scripts import has_case, is_foreign, length
from pipeline.types import Passage

_MIN_WORDS = 25
_DISAMBIGUATION = re.compile(
    r"^[^.\n]{0,80} (?:may|can|might|could) (?:also |either )?refer to\b|^[^。\n]{0,40}(?:可以指|可能指|可能是指)"
    r"|^[^。\n]{0,40}(?:以下のものを指す|以下を指す)|^[^.\n]{0,80} (?:steht für|bezeichnet):"
    r"|^[^.\n]{0,80} (?:peut (?:désigner|faire référence)|puede referirse a|può riferirsi a|kan verwijzen naar)\b"
    r"|^[^.\n]{0,80} (?:может означать|قد (?:يشير|تشير|يعني|تعني))\b",
    re.IGNORECASE,
)
_TAGGED = re.compile(
    r"[(（](?:disambiguation|Begriffsklärung|homonymie|desambiguación|desambiguação|disambigua|значения|消歧义|消歧義"
    r"|曖昧さ回避|동음이의|توضيح)[)）]"
)
_LIST_TITLE = re.compile(
    r"^(?:(?:lists? of|index of|outline of|glossary of|timeline of|liste (?:der|des|von|de)|lista de|elenco|список)\b"
    r"|liste d['’]|قائمة )|(?:列表|一覧|목록)$",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w'’.-]+")
_CAPITAL = r"(?![\d_])[A-Z\u00c0-\u00de\u0370-\u03ab\u0400-\u042f\u0531-\u0556]"
_INSIDE = r"(?:(?<=\w[ ’'])|(?<=[,;:«„“(] )|(?<=[«„“(]))"
_NAMES = {
    # Every noun has a capital. A name is what has several, as GNU and IPv6, stands beside another, Ada Höhn, or after
    # a preposition without an article, as in Berlin: plurals (-en, -er, -e) and abstract nouns do that too.
    "de": re.compile(
        rf"{_INSIDE}(?!(?:Sie|Ihr\w*)\b){_CAPITAL}[\w’-]+ (?!(?:Sie|Ihr\w*)\b){_CAPITAL}[\w’-]+"
        r"|[A-ZÄÖÜ]{2,}|[a-zäöüß][A-ZÄÖÜ]"
        rf"|(?<=[ (])(?:in|aus|nach|bei|von|für|mit|unter|durch|an|gegen|zu) (?!Sie\b|Ihn|Ihr){_CAPITAL}[\w’-]*"
        r"(?<!en)(?<!er)(?<!e)(?<!ung)(?<!heit)(?<!keit)(?<!ion)(?=[ .,;:!?)])"
    ),
}
_ANY_NAME = re.compile(rf"{_INSIDE}{_CAPITAL}[\w'’.-]+")
"""Patterns of names by language. Languages without an entry use `_ANY_NAME`, English uses `_NAME`."""
_STOPS = (".", "!", "?", '"', "。", "！", "？", "」", "”", "؟", "۔", "।", "»", "“", "』")


REFUSALS = {
    "too_short": f"fewer than {_MIN_WORDS} words; join what belongs together into longer texts",
    "disambiguation": "it only says what a name may refer to; leave such pages out",
    "list": "most of its lines are short and end without a full stop, as in lists, tables and verse, or its title says "
    "'List of'; write full sentences, one paragraph a line (wrapped lines look like a list too)",
    "no_fact": "no name inside a sentence, no date, no number: nothing that an answer could be",
}
"""The meaning of each reason of `quality`, and what to do about it."""


def explain_refusals(refused: Mapping[str, int]) -> str:
    """Explain why passages cannot start a question, the most frequent reason first."""
    by_frequency = sorted(refused.items(), key=lambda reason_count: -reason_count[1])
    return ". ".join(f"{reason} {count:,}: {REFUSALS.get(reason, reason)}" for reason, count in by_frequency)


def quality(passage: Passage, language: str = "en") -> str | None:
    """Return why no question should start at a passage, or None if one may.

    The reasons are `too_short`, `disambiguation`, `list` and `no_fact`. `language` is that of the corpus.
    """
    body = passage.text
    if length(body) < _MIN_WORDS:
        return "too_short"
    if _TAGGED.search(passage.title) or _DISAMBIGUATION.match(body):
        return "disambiguation"
    if _LIST_TITLE.search(passage.title) or _is_list(body):
        return "list"
    return None if _has_fact(body, language.partition("-")[0]) else "no_fact"


def _is_list(body: str) -> bool:
    lines = [line.strip() for line in body.split("\n") if line.strip()]
    short = [line for line in lines if length(line) < 12 and not line.endswith(_STOPS)]
    return len(lines) >= 4 and len(short) > 0.7 * len(lines)


def _has_fact(body: str, language: str) -> bool:
    """Return whether a passage has a name inside a sentence, a date or a number, which an answer could be.

    Names cannot be recognised in scripts without capitals, so there every passage counts.
    """
    if text.dates(body) or text.numbers(body):
        return True
    if language in ("en", UNKNOWN):
        return bool(is_foreign(body) or _NAME.search(body))
    if not has_case(body):
        return True
    spoken = language_of(body)  # A corpus of one language has passages of others.
    name = _NAME if spoken == "en" else _NAMES.get(language if spoken == UNKNOWN else spoken, _ANY_NAME)
    return name.search(body) is not None
