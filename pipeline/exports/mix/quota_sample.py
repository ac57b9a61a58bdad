"""A sample of the pairs of a mix that meets its quotas: exact shares, as far as the available pairs allow.

Pairs are grouped into cells by the values of all traits that quotas name; cells with the scarcest values come first.
Within a cell the pairs with the smallest keys are taken. Keys are hashes, so the order of runs does not matter, and
most pairs of one version stay in the next.
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
_ROUNDING = 1e-9
"""Tolerance for shares that add up to 1."""
Cell = tuple[str, ...]
"""The value of each trait, or _REST."""
Counts = Mapping[Cell, int]


class Quota(NamedTuple):
    trait: str
    value: str
    share: float


class QuotaResult(Data):
    """How well a quota was met, or the remaining share of a trait."""

    trait: str
    value: str
    """Empty for all values that no quota of the trait names."""
    share: float
    wanted: int
    taken: int
    there: int
    """Number of available pairs with the value."""

    @property
    def name(self) -> str:
        return f"{self.trait}:{self.value}" if self.value else f"the rest of {self.trait}"

    @property
    def short(self) -> int:
        return self.wanted - self.taken


class Sample(NamedTuple):
    keys: frozenset[str]
    quotas: tuple[QuotaResult, ...]


def parse_quotas(texts: list[str]) -> tuple[Quota, ...]:
    """Parse quotas such as `band:hard=0.3`.

    Raises UsageError if a quota is malformed, a trait or value is unknown, or the shares of a trait exceed 1.
    """
    quotas: dict[tuple[str, str], Quota] = {}
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
        quotas[quota.trait, quota.value] = quota
    for trait, _ in quotas:
        if sum(quota.share for quota in quotas.values() if quota.trait == trait) > 1 + _ROUNDING:
            raise UsageError(f"--quota: the shares of {trait} add up to more than 1")
    return tuple(sorted(quotas.values()))


def sample_pairs(values: Mapping[str, Mapping[str, str]], quotas: tuple[Quota, ...], most: int | None) -> Sample:
    """Choose pairs, given by key with the values of their traits, so that the quotas are met.

    The sample has at most `most` pairs; if None, the largest number at which every share is exact. If a value has too
    few pairs, the sample is smaller: no other pairs replace them.
    """
    if not quotas:
        return Sample(frozenset(sorted(values)[:most]), ())
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    for trait, value, share in quotas:
        shares[trait][value] = share
    cells: dict[Cell, list[str]] = defaultdict(list)
    for key in sorted(values):
        pair = ((values[key][trait], by_value) for trait, by_value in shares.items())
        cells[tuple(value if value in by_value else _REST for value, by_value in pair)].append(key)
    targets = [{**by_value, _REST: max(0.0, 1 - sum(by_value.values()))} for by_value in shares.values()]
    available = {cell: len(keys) for cell, keys in sorted(cells.items())}
    size = _find_exact_size(available, targets) if most is None else min(most, len(values))
    counts, results = _fill_cells(available, targets, size), []
    unnamed = (Quota(trait, _REST, target[_REST]) for trait, target in zip(shares, targets, strict=True))
    for quota in (*quotas, *(quota for quota in unnamed if quota.share > _ROUNDING)):
        trait_index = list(shares).index(quota.trait)
        pairs = {
            "wanted": _round_shares(targets[trait_index], size)[quota.value],
            "taken": _count_pairs(counts, trait_index, quota.value),
            "there": _count_pairs(available, trait_index, quota.value),
        }
        results.append(QuotaResult(**quota._asdict(), **pairs))
    return Sample(frozenset(key for cell, count in counts.items() for key in cells[cell][:count]), tuple(results))


def _find_exact_size(available: Counts, targets: list[dict[str, float]]) -> int:
    """Search for the largest size that meets every share. Values without any pair are ignored."""
    shares = {(trait, value): share for trait, target in enumerate(targets) for value, share in target.items() if share}
    stock = {key: count for key in shares if (count := _count_pairs(available, *key))}

    def meets_shares(size: int) -> bool:
        counts, goals = _fill_cells(available, targets, size), [_round_shares(target, size) for target in targets]
        # With several traits, the remainder of rounding may fit into no cell.
        return all(_count_pairs(counts, trait, value) > goals[trait][value] - len(targets) for trait, value in stock)

    low, high = 0, min([sum(available.values()), *(int(count / shares[key] + 1e-6) for key, count in stock.items())])
    while low < high:
        size = (low + high + 1) // 2
        low, high = (size, high) if meets_shares(size) else (low, size - 1)
    return low


def _fill_cells(available: Counts, targets: list[dict[str, float]], size: int) -> dict[Cell, int]:
    """Return how many pairs to take from each cell, so that no value exceeds its share of the size.

    Each step takes half of what is possible from the cell whose values are the scarcest.
    """
    counts = dict.fromkeys(available, 0)
    needed = [_round_shares(target, size) for target in targets]
    stock = [{value: _count_pairs(available, trait, value) for value in target} for trait, target in enumerate(targets)]

    def count_possible(cell: Cell) -> int:
        return min(available[cell] - counts[cell], *(needed[trait][value] for trait, value in enumerate(cell)))

    def scarcity(cell: Cell) -> tuple[float, Cell]:
        return sum(needed[trait][value] / stock[trait][value] for trait, value in enumerate(cell)), cell

    while open_cells := [cell for cell in available if count_possible(cell) > 0]:
        cell = max(open_cells, key=scarcity)
        count = max(1, count_possible(cell) // 2)
        counts[cell] += count
        for trait, value in enumerate(cell):
            needed[trait][value] -= count
            stock[trait][value] -= count
    return counts


def _count_pairs(counts: Counts, trait_index: int, value: str) -> int:
    return sum(count for cell, count in counts.items() if cell[trait_index] == value)


def _round_shares(shares: dict[str, float], size: int) -> dict[str, int]:
    """Divide `size` among the values by largest remainders."""
    counts = {value: int(share * size + 1e-9) for value, share in shares.items()}
    by_remainder = sorted(shares, key=lambda value: (counts[value] - shares[value] * size, value))
    for value in by_remainder[: size - sum(counts.values())]:
        counts[value] += 1
    return counts
