"""Equality of places with and without their region: "Walton, Liverpool" is "Walton".

The name after the comma must be a known region, since a list of two names is not a place with its region. A known place
lies only in its own regions: Paris in Texas is not Paris. An unknown place may lie in any region; that is harmless,
because the first names must be equal.
"""

import unicodedata
from collections.abc import Callable, Set
from functools import lru_cache
from itertools import pairwise

from pipeline.reward import table

# Rows: a region and its other names, then places in it.
_ROWS = table("places")
_STATES = (
    "alabama al alaska ak arizona az arkansas ar colorado co connecticut ct delaware de florida fl hawaii hi idaho id "
    "indiana in iowa ia kansas ks kentucky ky louisiana la maine me maryland md michigan mi minnesota mn mississippi "
    "ms missouri mo montana mt nebraska ne nevada nv new-hampshire nh new-jersey nj new-mexico nm north-carolina nc "
    "north-dakota nd ohio oh oklahoma ok oregon or rhode-island ri south-carolina sc south-dakota sd tennessee tn "
    "utah ut vermont vt virginia va west-virginia wv wisconsin wi wyoming wy"
).split()
_NAME: dict[str, str] = {}  # from any name of a region or place to its main name
_WITHIN: dict[str, set[str]] = {}
for _row in [
    *_ROWS.strip().split("\n"),
    *(f"{state.replace('-', ' ')}, {code}: " for state, code in zip(_STATES[::2], _STATES[1::2], strict=True)),
    "united states: california, texas, massachusetts, illinois, pennsylvania, new york, "
    + ", ".join(_STATES[::2]).replace("-", " "),
]:
    _names, _, _places = _row.partition(": ")
    _first, *_others = _names.split(", ")
    _NAME |= dict.fromkeys([_first, *_others], _first)
    for _place in filter(None, _places.split(", ")):
        _NAME.setdefault(_place, _place)
        _WITHIN.setdefault(_place, set()).add(_first)


def same_place(answer: str, gold: str, forms: Callable[[str], Set[str]]) -> bool:
    """Return whether one of the texts is the other with the regions that it lies in.

    Args:
        forms: returns the normal forms of a text.
    """
    shorter, longer = sorted((_parts(answer), _parts(gold)), key=len)
    if not len(shorter) < len(longer) <= 4 or any(c.isdigit() for c in longer[0]):
        return False
    if not forms(shorter[0]) & forms(longer[0]) or not all(
        any(forms(s) & forms(r) for r in longer[1:]) for s in shorter[1:]
    ):
        return False
    names = [_known_name(part, forms) for part in longer]
    return all(names[1:]) and all(_may_lie_in(a, b) for a, b in pairwise(names))


@lru_cache(maxsize=4096)
def _parts(text: str) -> tuple[str, ...]:
    text = unicodedata.normalize("NFKC", text[:200]).strip()
    if text.endswith(")"):
        text = text[:-1].replace("(", ",", 1)
    return tuple(part.strip() for part in text.split(","))


def _known_name(part: str, forms: Callable[[str], Set[str]]) -> str:
    """Return the main name of a known place, or an empty text. Two letters are a state only in capitals."""
    if len(part) < 3 and not part.isupper():
        return ""
    return next((_NAME[form] for form in sorted(forms(part)) if form in _NAME), "")


def _may_lie_in(place: str, region: str) -> bool:
    reached, new = {place}, {place}
    while new:
        new = {region for place in new for region in _WITHIN.get(place, ())} - reached
        reached |= new
    return place not in _NAME or (region in reached and region != place)
