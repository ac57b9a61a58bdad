"""Which pairs of a mix are taken so that its quotas are met: exact shares, as far as the pairs that there are allow.

The pairs are counted by all values that quotas name at once, and those whose values are the scarcest come first. Of
pairs alike in all of these, those with the least keys are taken, which are hashes, so that no order of runs matters and
a pair that was taken mostly stays.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from pipeline.errors import UsageError, unknown
from pipeline.gates.quota import TRAITS, check_values
from pipeline.types import Data

_REST = ""
"""Stands for all values of a trait that no quota names."""
_NOTHING = 1e-9
"""What rounding may leave of shares that add up to 1."""
Cell = tuple[str, ...]
"""The value of each trait, or _REST."""
Counts = Mapping[Cell, int]


class Quota(NamedTuple):
    trait: str
    value: str
    share: float


class QuotaResult(Data):
    """What became of one quota, or of the rest that the quotas of a trait leave."""

    trait: str
    value: str
    """Empty for the rest: all values that no quota of the trait names."""
    share: float
    wanted: int
    taken: int
    there: int
    """Pairs that have the value, taken or not."""

    @property
    def name(self) -> str:
        return f"{self.trait}:{self.value}" if self.value else f"the rest of {self.trait}"

    @property
    def short(self) -> int:
        return self.wanted - self.taken


class Sample(NamedTuple):
    keys: frozenset[str]
    quotas: tuple[QuotaResult, ...]


def parsed(texts: list[str]) -> tuple[Quota, ...]:
    """`band:hard=0.3` and so on. Raises UsageError for an unknown trait, and where shares of one exceed 1."""
    found: dict[tuple[str, str], Quota] = {}
    for text in texts:
        match = re.fullmatch(r"\s*(\w+):(.+)=\s*(\d+(?:\.\d*)?|\.\d+)\s*", text)
        if match is None or float(match[3]) > 1:
            raise UsageError(
                f"--quota takes TRAIT:VALUE=SHARE with a share up to 1, such as band:hard=0.3, not '{text}'"
            )
        if match[1] not in TRAITS:
            raise unknown("trait for --quota", match[1], TRAITS)
        quota = Quota(match[1], match[2].strip(), float(match[3]))
        check_values(quota.trait, {quota.value}, "--quota")
        found[quota.trait, quota.value] = quota
    for trait, _ in found:
        if sum(quota.share for quota in found.values() if quota.trait == trait) > 1 + _NOTHING:
            raise UsageError(f"--quota: the shares of {trait} add up to more than 1")
    return tuple(sorted(found.values()))


def sampled(values: Mapping[str, Mapping[str, str]], quotas: tuple[Quota, ...], most: int | None) -> Sample:
    """The keys to take, of pairs given by key with their values of the quotas' traits.

    At most `most` of them; without it, as many as leave every share exact. Fewer are taken where a value has too few
    pairs: what is short is not made up with others.
    """
    if not quotas:
        return Sample(frozenset(sorted(values)[:most]), ())
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    for trait, value, share in quotas:
        shares[trait][value] = share
    cells: dict[Cell, list[str]] = defaultdict(list)
    for key in sorted(values):
        found = ((values[key][trait], named) for trait, named in shares.items())
        cells[tuple(value if value in named else _REST for value, named in found)].append(key)
    targets = [{**named, _REST: max(0.0, 1 - sum(named.values()))} for named in shares.values()]
    available = {cell: len(keys) for cell, keys in sorted(cells.items())}
    size = _exact(available, targets) if most is None else min(most, len(values))
    counts, results = _greedy(available, targets, size), []
    rests = (Quota(trait, _REST, target[_REST]) for trait, target in zip(shares, targets, strict=True))
    for quota in (*quotas, *(rest for rest in rests if rest.share > _NOTHING)):
        place = list(shares).index(quota.trait)
        wanted = _whole(targets[place], size)[quota.value]
        taken, there = (_holding(stock, place, quota.value) for stock in (counts, available))
        results.append(QuotaResult(**quota._asdict(), wanted=wanted, taken=taken, there=there))
    return Sample(frozenset(key for cell, count in counts.items() for key in cells[cell][:count]), tuple(results))


def _exact(available: Counts, targets: list[dict[str, float]]) -> int:
    """The largest size found at which nothing is short; where a value has no pair at all, it does not count."""
    shares = {(place, value): share for place, named in enumerate(targets) for value, share in named.items() if share}
    stock = {at: count for at in shares if (count := _holding(available, *at))}

    def enough(size: int) -> bool:
        counts, wanted = _greedy(available, targets, size), [_whole(shares, size) for shares in targets]
        # What is over after rounding may fit into no cell where several traits are to agree.
        return all(_holding(counts, place, value) > wanted[place][value] - len(targets) for place, value in stock)

    low, high = 0, min([sum(available.values()), *(int(count / shares[at] + 1e-6) for at, count in stock.items())])
    while low < high:
        size = (low + high + 1) // 2
        low, high = (size, high) if enough(size) else (low, size - 1)
    return low


def _greedy(available: Counts, targets: list[dict[str, float]], size: int) -> dict[Cell, int]:
    """How many pairs each cell gives, so that no value has more than its share of the size. Next comes each time half
    of what can come of the cell whose values need the most of what is left of them."""
    counts = dict.fromkeys(available, 0)
    left = [_whole(shares, size) for shares in targets]
    stock = [{value: _holding(available, place, value) for value in shares} for place, shares in enumerate(targets)]

    def room(cell: Cell) -> int:
        return min(available[cell] - counts[cell], *(left[place][value] for place, value in enumerate(cell)))

    def need(cell: Cell) -> tuple[float, Cell]:
        return sum(left[place][value] / stock[place][value] for place, value in enumerate(cell)), cell

    while free := [cell for cell in available if room(cell) > 0]:
        cell = max(free, key=need)
        count = max(1, room(cell) // 2)
        counts[cell] += count
        for place, value in enumerate(cell):
            left[place][value] -= count
            stock[place][value] -= count
    return counts


def _holding(counts: Counts, trait: int, value: str) -> int:
    return sum(count for cell, count in counts.items() if cell[trait] == value)


def _whole(shares: dict[str, float], size: int) -> dict[str, int]:
    """So many of `size` for each value, by largest remainders."""
    whole = {value: int(share * size + 1e-9) for value, share in shares.items()}
    rest = sorted(shares, key=lambda value: (whole[value] - shares[value] * size, value))
    for value in rest[: size - sum(whole.values())]:
        whole[value] += 1
    return whole
