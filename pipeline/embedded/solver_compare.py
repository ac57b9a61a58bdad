"""Questions that compare two named things: which was first, who is older, are both from one country."""

import re
from typing import NamedTuple

from pipeline.embedded.observed import Seen
from pipeline.embedded.solver_lexis import kind
from pipeline.embedded.solver_lines import bare, lead, same
from pipeline.embedded.solver_mind import Mind
from pipeline.embedded.solver_nations import country, nations, us_state
from pipeline.embedded.solver_reader import name_match
from pipeline.embedded.solver_steps import hop, simple
from pipeline.text import dates, sentences

_YES_NO = re.compile(r"^(?:are|were|do|did|does|is|was|have|has)\b", re.IGNORECASE)
_CHOICE = re.compile(r"[,:?]\s*(?P<a>[^,?]+(?:,[^,?]+)?|.+?),?\s+or\s+(?P<b>.+?)\s*\?*\s*$")
_BARE_CHOICE = re.compile(
    r"\s(?P<a>(?:The )?[A-Z0-9][^\s,]*(?:\s(?:of the|of|the|and|in|a|to|for)?\s?[A-Z0-9(][^\s,]*)*)"
    r",?\s+or\s+(?:the\s)?(?P<b>[A-Z0-9].*?)\s*\?*\s*$"
)
_SAME = re.compile(
    r"\s*,?\s*\b(?:both\s+)?(?:located|situated|from|have|has|share|shared|originate|originated|come|came|"
    r"based|of the same|the same|in the same|"
    r"the directors|directors|born|published|members? of|considered|American|British|film directors|"
    r"musicians|actors|writers)\b.*$"
)
_EITHER = re.compile(
    r"^(?:was|did|is|has|does)\s+(?P<a>.+?)\s+or\s+(?P<b>.+?)\s+"
    r"(?P<end>(?:born|die|died|released|founded|formed|live|come|came|the)\b.*)$",
    re.IGNORECASE,
)
_AS = re.compile(
    r"^(?:does|is|was|did)\s+(?P<a>.+?)\s+(?:have|share|from|of|born|in|hold|possess|come)\b"
    r".*?same (?P<what>\w+) as (?P<b>[^?]+)",
    re.IGNORECASE,
)
_BRIDGE = re.compile(r"\b(director|composer|performer|author|producer|writer|singer)s?\b", re.IGNORECASE)


class Order(NamedTuple):
    """What to compare by: the event, and whether the later one wins."""

    event: str
    later: bool


def compare(question: str, mind: Mind) -> str:
    """The answer, or nothing where the question is no comparison or a side could not be told."""
    question = " ".join(question.split())
    if either := _EITHER.match(question):
        return _choose(either["end"] + " ", either["a"], either["b"], mind)
    if _YES_NO.match(question):
        return _both(question, mind)
    match = _CHOICE.search(question) or _BARE_CHOICE.search(question)
    if match and re.match(r"(?:which|who|what|between|whose|of|when)\b", question, re.IGNORECASE):
        return _choose(question, match["a"].strip(), match["b"].strip(), mind)
    return ""


def _order(text: str) -> Order:
    low = text.lower()
    later = bool(re.search(r"\b(?:later|younger|last|recent|recently|newer|latest|second)\b", low))
    if re.search(r"\b(?:di(?:ed|es)|death|dead)\b", low):
        return Order("death", later)
    if re.search(r"\b(?:born|older|younger|birth|age|oldest|youngest)\b", low) and not re.search(
        r"\b(?:magazine|newspaper|band|university|company)\b", low
    ):
        return Order("birth", later)
    if re.search(r"\b(?:lived? longer|outlived|longer)\b", low):
        return Order("span", True)
    return Order("start", later)


def _choose(question: str, one: str, other: str, mind: Mind) -> str:
    asked = question[: question.rfind(one)] if one in question else question
    order = _order(asked)
    bridge = _BRIDGE.search(asked)
    values = []
    for side in (one, other):
        subject = (
            _step(side, bridge.group(1).lower(), mind) if bridge and order.event in ("birth", "death", "span") else side
        )
        values.append(_when(subject or side, order, mind))
    if values[0] is None or values[1] is None:
        known = [side for side, value in zip((one, other), values, strict=True) if value is not None]
        return known[0] if known else one
    first_wins = values[0] > values[1] if order.later else values[0] < values[1]
    return one if first_wins else other


def _step(side: str, relation: str, mind: Mind) -> str:
    found = hop(simple(relation, side, relation), mind)
    return found.text if found else ""


def article(subject: str, mind: Mind, hint: str = "") -> Seen | None:
    """The first passage of the article of that name, searched for where it was not seen."""
    for attempt in range(2):
        ranked = sorted(mind.seen, key=lambda p: (-name_match(subject, p.title), not lead(p)))
        if ranked and name_match(subject, ranked[0].title) >= 0.6:
            return ranked[0]
        if not attempt:
            mind.search(f"{subject} {hint}".strip())
    return None


def _when(subject: str, order: Order, mind: Mind) -> tuple[int, int, int] | None:
    """The date of the event in the subject's article, as a key that sorts."""
    passage = article(subject, mind, {"birth": "born", "death": "died"}.get(order.event, ""))
    if passage is None:
        return None
    text = passage.text[:600]
    found = [(d.year, d.month, d.day) for d in dates(text)]
    if not found:
        return None
    if order.event == "birth":
        return found[0]
    life = [
        (d.year, d.month, d.day) for m in re.finditer(r"\(([^()]*\d{4}[^()]*)\)", text[:300]) for d in dates(m.group(1))
    ]
    died = re.search(r"\bdied\b[^.]*", text)
    if order.event == "death":
        if len(life) > 1:
            return life[1]
        after = dates(died.group()) if died else []
        return (after[0].year, after[0].month, after[0].day) if after else None
    if order.event == "span":
        return (life[1][0] - life[0][0], 0, 0) if len(life) > 1 else None
    return found[0]


def _both(question: str, mind: Mind) -> str:
    """yes or no, or nothing where the question names no two things."""
    bridge = _BRIDGE.search(question)
    has_film = bool(re.search(r"\b(?:film|movie|song|album|book)s?\b", question, re.IGNORECASE))
    sides = split_sides(question)
    if len(sides) != 2:
        return ""
    level = next(
        (
            w
            for w in ("state", "province", "county", "city", "continent", "band", "genre")
            if re.search(rf"same {w}", question)
        ),
        "country",
    )
    values = []
    for side in sides:
        subject = _step(side, bridge.group(1).lower(), mind) if bridge and has_film else side
        values.append(_where(subject or side, level, mind))
    if re.search(r"\bsame\b|\bshare\b", question):
        return "yes" if values[0] and values[1] and values[0] & values[1] else "no"
    return _all_are(question, sides, mind)


def split_sides(question: str) -> list[str]:
    """The two things of "Are A and B both ...?"."""
    if match := _AS.match(question):
        return [match["a"].strip(), match["b"].strip()]
    body = re.sub(
        r"^(?:are|were|do|did|does|is|was|have|has)\s+(?:both\s+|the\s+)*",
        "",
        question.rstrip(" ?"),
        flags=re.IGNORECASE,
    )
    body = re.sub(
        r"^(?:(?:both\s+|the\s+|of\s+)*(?:directors?|films?|movies?|songs?|villages?|rivers?|universities|"
        r"lakes?|bands?|magazines?|airports?|schools?|mountains?|"
        r"towns?|cities|composers?|performers?|authors?|islands?|people|albums?|books?)\b[,:]?\s*(?:of\s+|both\s+|the\s+)*)+",
        "",
        body,
        flags=re.IGNORECASE,
    )
    match = re.search(
        r"\s+and\s+(?:the\s+)?(?:director|composer|performer|author)s? of (?:the )?(?:film|song|movie|book)?s?\s*",
        body,
        re.IGNORECASE,
    )
    if match:
        return [body[: match.start()].strip(" ,"), _tail(body[match.end() :])]
    body = _tail(body)
    places = [
        m
        for m in re.finditer(r",?\s+and\s+", body)
        if body[m.end() : m.end() + 1].isupper() or not body[m.end() : m.end() + 1].isalpha()
    ]
    if not places:
        return []
    middle = min(places, key=lambda m: abs(len(body[: m.start()]) - len(body[m.end() :])))
    return [body[: middle.start()].strip(" ,"), body[middle.end() :].strip(" ,")]


def _tail(body: str) -> str:
    return _SAME.sub("", body).strip(" ,")


def _where(subject: str, level: str, mind: Mind) -> set[str]:
    """The countries (or states) that the subject's article gives it, the first named ones only."""
    passage = article(subject, mind)
    if passage is None:
        return set()
    first = " ".join(p.text for p in mind.seen if p.title == passage.title)[:500]
    if level == "country":
        return _nation_of(passage, first)
    named = re.findall(r"([A-Z]\w+(?: [A-Z]\w+)*)", f"{passage.title} . {first}" if "," in passage.title else first)
    if level == "state":
        return set([name for name in named if us_state(name)][:1])
    return set([name for name in named if same(name) != same(bare(subject))][:6])


def _nation_of(passage: Seen, text: str) -> set[str]:
    """Places end their first sentence with their country; of persons and works the first nation told is theirs."""
    start = text[: sentences(text)[0].end] if text else ""
    told = re.sub(r"\(\w+:[^)]*\)", "", start)
    named = [name for name, _, _ in nations(told)] or [name for name, _, _ in nations(text)]
    place = re.search(
        r"\b(?:village|town|city|municipality|airport|school|university|river|lake|district|mountain|island|commune|"
        r"located)\b",
        told,
    )
    if not named and any(us_state(part.strip(" .")) for part in re.split(r"[,.(]|\bin\b", text)):
        return {"United States"}
    return set(named[-1:] if place else named[:1])


def _all_are(question: str, sides: list[str], mind: Mind) -> str:
    """Do the leads of both articles say what the end of the question says ("... both film directors")?"""
    wanted = re.sub(r".*\b(?:both|all)\b", "", question.rstrip(" ?"))
    if len(wanted) > 60 or len(wanted) == len(question.rstrip(" ?")):
        wanted = question.rstrip(" ?").rpartition(sides[1])[2]
    nouns = [
        w for w in re.findall(r"[A-Za-z]+", wanted.lower()) if kind(w) != "thing" or country(w.title())
    ] or re.findall(r"[a-z]{4,}", wanted.lower())
    for side in sides:
        passage = article(side, mind)
        text = same(passage.text[:400]) if passage else ""
        if not passage or not all(noun.rstrip("s")[:6] in text for noun in nouns[-2:]):
            return "no"
    return "yes"
