"""Which pairs of a mix are taken so that its quotas are met: exact shares, as far as the pairs that there are allow.

The pairs are counted by all values that quotas name at once, and those counts are raked: scaled by one trait after the
other until each has its shares (iterative proportional fitting). Of pairs alike in all of these, those with the least
keys are taken, which are hashes, so that no order of runs matters and a pair that was taken mostly stays.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from pipeline.errors import UsageError, unknown
from pipeline.gates.quota import TRAITS, known
from pipeline.types import Data

_ROUNDS, _STILL = 500, 1e-4
_REST = ""
"""Stands for all values of a trait that no quota names."""
Cell = tuple[str, ...]
"""The value of each trait, or _REST."""


class Quota(NamedTuple):
    trait: str
    value: str
    share: float


class Met(Data):
    """What became of one quota."""

    trait: str
    value: str
    share: float
    wanted: int
    taken: int
    there: int
    """Pairs that have the value, taken or not."""

    @property
    def short(self) -> int:
        return self.wanted - self.taken


class Taken(NamedTuple):
    keys: frozenset[str]
    quotas: tuple[Met, ...]


def parsed(texts: list[str]) -> tuple[Quota, ...]:
    """`band:hard=0.3` and so on. Raises UsageError for an unknown trait, and where shares of one exceed 1."""
    found: dict[tuple[str, str], Quota] = {}
    for text in texts:
        match = re.fullmatch(r"\s*(\w+):(.+)=\s*(\d+\.?\d*|\.\d+)\s*", text)
        if match is None or float(match[3]) > 1:
            raise UsageError(
                f"--quota takes TRAIT:VALUE=SHARE with a share up to 1, such as band:hard=0.3, not '{text}'"
            )
        if match[1] not in TRAITS:
            raise unknown("trait for --quota", match[1], TRAITS)
        quota = Quota(match[1], match[2].strip(), float(match[3]))
        known(quota.trait, {quota.value}, "--quota")
        found[quota.trait, quota.value] = quota
    for trait, _ in found:
        if sum(quota.share for quota in found.values() if quota.trait == trait) > 1 + 1e-9:
            raise UsageError(f"--quota: the shares of {trait} add up to more than 1")
    return tuple(sorted(found.values()))


def taken(values: Mapping[str, Mapping[str, str]], quotas: tuple[Quota, ...], most: int | None) -> Taken:
    """The keys to take, of pairs given by key with their values of the quotas' traits.

    At most `most` of them; without it, as many as leave every share exact. Fewer are taken where a value has too few
    pairs: what is short is not made up with others.
    """
    if not quotas:
        return Taken(frozenset(sorted(values)[:most]), ())
    traits = tuple(dict.fromkeys(quota.trait for quota in quotas))
    named = {(quota.trait, quota.value) for quota in quotas}
    cells: dict[Cell, list[str]] = defaultdict(list)
    for key in sorted(values):
        found = ((trait, values[key][trait]) for trait in traits)
        cells[tuple(value if (trait, value) in named else _REST for trait, value in found)].append(key)
    supply = _Supply(
        there={cell: len(keys) for cell, keys in sorted(cells.items())},
        targets=[_targets(trait, quotas) for trait in traits],
    )
    size = supply.exact() if most is None else min(most, len(values))
    counts, wanted = supply.counts(size), supply.wanted(size)
    keys = frozenset(key for cell, count in counts.items() for key in cells[cell][:count])
    met = tuple(
        Met(
            trait=trait,
            value=value,
            share=share,
            wanted=wanted[traits.index(trait)][value],
            taken=_holding(counts, traits.index(trait), value),
            there=_holding(supply.there, traits.index(trait), value),
        )
        for trait, value, share in quotas
    )
    return Taken(keys, met)


def _targets(trait: str, quotas: tuple[Quota, ...]) -> dict[str, float]:
    """The share of each value, with what is left for all others."""
    shares = {quota.value: quota.share for quota in quotas if quota.trait == trait}
    return {**shares, _REST: max(0.0, 1 - sum(shares.values()))}


def _holding(counts: Mapping[Cell, int], trait: int, value: str) -> int:
    return sum(count for cell, count in counts.items() if cell[trait] == value)


class _Supply:
    """How many pairs of each cell there are, and the shares that each trait is to have."""

    def __init__(self, there: dict[Cell, int], targets: list[dict[str, float]]) -> None:
        self.there, self._targets = there, targets

    def exact(self) -> int:
        """The largest size found at which nothing is short; where a value has no pair at all, it does not count."""
        whole = sum(self.there.values())
        least = [
            _holding(self.there, place, value) / share
            for place, shares in enumerate(self._targets)
            for value, share in shares.items()
            if share > 0 and _holding(self.there, place, value)
        ]
        low, high = 0, min([whole, *(int(size + 1e-6) for size in least)])
        while low < high:
            size = (low + high + 1) // 2
            low, high = (size, high) if self._enough(size) else (low, size - 1)
        return low

    def _enough(self, size: int) -> bool:
        counts = self.counts(size)
        # What is over after rounding may fit into no cell where several traits are to agree.
        return all(
            _holding(counts, place, value) > count - len(self._targets)
            for place, wanted in enumerate(self.wanted(size))
            for value, count in wanted.items()
            if _holding(self.there, place, value)
        )

    def wanted(self, size: int) -> list[dict[str, int]]:
        return [_whole(shares, size) for shares in self._targets]

    def counts(self, size: int) -> dict[Cell, int]:
        """How many pairs each cell gives, so that no value has more than its share of the size."""
        parts = self._raked(size)
        counts = {cell: int(part + 10 * _STILL) for cell, part in parts.items()}
        left = [
            {value: count - _holding(counts, place, value) for value, count in wanted.items()}
            for place, wanted in enumerate(self.wanted(size))
        ]

        def move(cell: Cell, count: int) -> None:
            counts[cell] += count
            for place, value in enumerate(cell):
                left[place][value] -= count

        # Shares that exclude each other, as where all pairs of a language are of one band.
        for cell in sorted(counts, key=lambda cell: (-counts[cell], cell)):
            move(cell, -min(counts[cell], max(0, *(-left[place][value] for place, value in enumerate(cell)))))
        # What rounding and short cells have left over.
        while free := [cell for cell in counts if self._room(cell, counts, left)]:
            cell = max(free, key=lambda cell: (parts[cell] - counts[cell], cell))
            move(cell, max(1, self._room(cell, counts, left) // 2))
        return counts

    def _room(self, cell: Cell, counts: dict[Cell, int], left: list[dict[str, int]]) -> int:
        return max(0, min(self.there[cell] - counts[cell], *(left[place][value] for place, value in enumerate(cell))))

    def _raked(self, size: int) -> dict[Cell, float]:
        """So much of each cell: in proportion to what there is, within the shares of every trait, and never more."""
        parts = {cell: float(count) for cell, count in self.there.items()}
        for _ in range(_ROUNDS):
            before = parts
            for place, shares in enumerate(self._targets):
                sums: dict[str, float] = defaultdict(float)
                for cell, part in parts.items():
                    sums[cell[place]] += part
                scales = {value: shares[value] * size / total if total else 0.0 for value, total in sums.items()}
                parts = {cell: min(part * scales[cell[place]], self.there[cell]) for cell, part in parts.items()}
            if max((abs(parts[cell] - before[cell]) for cell in parts), default=0.0) < _STILL:
                break
        return parts


def _whole(shares: dict[str, float], size: int) -> dict[str, int]:
    """So many of `size` for each value, by largest remainders."""
    whole = {value: int(share * size + 1e-9) for value, share in shares.items()}
    rest = sorted(shares, key=lambda value: (whole[value] - shares[value] * size, value))
    for value in rest[: size - sum(whole.values())]:
        whole[value] += 1
    return whole
