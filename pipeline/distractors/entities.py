"""Recognises by rules what kind of thing a document is about, and whether that may be a living person.

A false statement about a work or a town misleads a reader; one about a living person defames someone. So a person who
is not known to be dead counts as alive.

The rules are English: they look for the forms of biographies ("(born 1941)", "who died") and the nouns of professions.
A thing whose noun ends like a profession counts as a person; if the reader is a model, `check_no_living_person` asks it
instead.
"""

import re
from functools import lru_cache

from pipeline.text import sentences

_IS_A = re.compile(
    r"\b(?:is|was|are|were) (?:an?|the|one of the) (.+?)(?=[,.;(]| (?:and|or|of|in|on|at|by|to|for|from|with|as|who"
    r"|which|that|where|whose|known|based|located|directed|written|produced|released|starring|featuring|set|founded|best"
    r"|developed|manufactured|created|designed|published|built|formed|established|owned|operated|held|played|used)\b|$)"
)
_LIFE = re.compile(r"\((?:(?>[^()]*?\d{3})(?>[^()]*?\s[-–—])|(?>[^()]*?\d{3}[-–—]))(?>[^()]*?\d{2})[^()]*+\)")
_BORN = re.compile(r"\b(?:né|née|born)\b|\(b\. ", re.IGNORECASE)
_LIFE_BEGINS = re.compile(r"\((?:[^()]*[,;] )?(?:né|née|born|b\.) ", re.IGNORECASE)
"""A form that only people have: "(born 1941)"."""
_DIED = re.compile(
    r"\b(?:[Hh]e|[Ss]he|who|(?P<name>[A-Z]\w+)) "
    r"(?:died|drowned|was (?:killed|assassinated|executed|murdered|beheaded))\b"
    r"|\b(?:his|her) (?:own )?(?:death|assassination|execution|murder)\b|\bposthumous(?:ly)?\b|\((?:d|died)\.? "
)
_IS = re.compile(r"\b(?:is|was|are|were)\b")
_YEAR = re.compile(r"\b(\d{3,4})\b")
_OLDEST = 1905
"""Nobody born in this year or earlier is alive."""
_OF_SOMEONE = re.compile(r"^(?:He|She)\b|\b(?:his|her) (?:career|life|work|family|wife|husband|father|mother)\b")
_CALLING = re.compile(
    r"(?:er|or|ist|ian|ess|man|woman|ete|eer|king|queen|poet|judge|nun|pope|spy|wife|boy|girl|prince|chef|coach|host|model"
    r"|star|figure|person|people|duo|twin|celebrity|personality)s?$"
)
_NO_CALLING = frozenset(
    """river theater center character number chapter tower order container computer newspaper thriller chamber quarter
    border cover summer winter master matter paper power water manor sector motor cruiser carrier destroyer bomber
    fighter steamer corridor reactor harbor trailer sensor error mirror elevator""".split()
)
_THING = re.compile(
    r"\b(?:film|biopic|movie|song|single|album|ep|novel|book|series|sitcom|show|play|musical|game|opera|story|poem|episode|drama|"
    r"comedy|thriller|soundtrack|magazine|newspaper|company|label|university|college|school|city|town|village|county|state"
    r"|country|river|lake|island|mountain|stadium|arena|station|airport|church|museum|team|club|franchise|league|season|"
    r"war|battle|building|bridge|road|highway|district|municipality|organization|agency|species|language)s?$"
)
_ASIDE = re.compile(r"(?<!\s)\s*+\([^()]*+\)")
_ASKED = re.compile(
    r"\b(?:which|what) ((?:[a-z-]++ ){0,20}?[a-z-]++)(?= (?:is|was|are|were|did|does|do|has|have|had|can)\b|\?)"
)
_PLACES = frozenset("city town village county state country province district municipality borough".split())
_NO_NOUN = re.compile(
    r"^(?:(?:larg|small|bigg|great|old|new|young|long|short|high|low|tall|deep|wid|busi|earli|lat)est|\w*most|(?:four|fif|six|seven|eigh|nin|ten)th|one|"
    r"first|second|third|name|part|member|type|kind|form|home)$"
)
_DOERS = {
    "directed": frozenset(("director", "filmmaker")),
    "written": frozenset(("writer", "screenwriter", "author", "novelist", "playwright")),
    "produced": frozenset(("producer",)),
    "composed": frozenset(("composer",)),
}
"""The professions that a question with "by whom" asks for, by its verb."""


def noun_phrase(text: str) -> str:
    """Return the noun phrase of "... is a <phrase>" in the first sentence, or an empty string."""
    match = _IS_A.search(_ASIDE.sub("", first_sentence(text)))
    return match.group(1).lower() if match else ""


def head_nouns(text: str) -> frozenset[str]:
    """Return the head noun of the subject's description in an opening, if there is one: "the largest of" has none."""
    return frozenset(noun for noun in noun_phrase(text).split()[-1:] if not _NO_NOUN.search(noun))


def asked_nouns(question: str) -> frozenset[str]:
    """Return the head nouns of what a question asks for: "In which capital city" → city; "Where" → all of `_PLACES`."""
    if match := _ASKED.search(question):
        return frozenset(match.group(1).split()[-1:])
    if question.startswith("Where "):
        return _PLACES
    return next((professions for verb, professions in _DOERS.items() if f" {verb}" in question), frozenset())


def may_live(text: str) -> bool:
    return is_person(text) and not is_dead(text)


@lru_cache(maxsize=1024)
def is_person(text: str) -> bool:
    """Return whether the opening may be about a person, and rather too often than too seldom."""
    parts = [text[span.start : span.end] for span in sentences(text)]
    if parts and _LIFE_BEGINS.search(parts[0][:160]):
        return True
    if not parts or _THING.search(noun_phrase(text)):
        return False
    if _BORN.search(parts[0][:160]) or any(_OF_SOMEONE.search(part) for part in parts[1:]):
        return True
    calling = noun_phrase(text).split()[-1:]
    return bool(calling) and bool(_CALLING.search(calling[0])) and calling[0].removesuffix("s") not in _NO_CALLING


def is_dated(text: str) -> bool:
    """Return whether the opening says when its subject was born or lived, so that it is certainly a person."""
    first = first_sentence(text)[:240]
    return is_person(text) and bool(_BORN.search(first) or _LIFE.search(_IS.split(first, maxsplit=1)[0]))


def is_dead(text: str) -> bool:
    first = first_sentence(text)[:240]
    head = _IS.split(first, maxsplit=1)[0]
    if _LIFE.search(head) or any(not death["name"] or death["name"] in head for death in _DIED.finditer(text)):
        return True
    born = _BORN.search(first)
    year = _YEAR.search(first, born.end()) if born else None
    return year is not None and int(year.group()) <= _OLDEST


@lru_cache(maxsize=1024)
def first_sentence(text: str) -> str:
    parts = sentences(text)
    return text[parts[0].start : parts[0].end] if parts else ""
