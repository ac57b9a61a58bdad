"""What is asked of the table of items: it stands whole in the address, and becomes one lazy query."""

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urlencode

import polars as pl

from pipeline.analysis.estimates import Count, largest_first
from pipeline.view.filters import CHOICES, SEARCHED, SORTS, SPANS, Choice

PAGE = 50
_NONE = "none"
"""In addresses, the value of a row that has none."""
_MOST_TERMS = 8
_MOST_VALUES = 24
"""Of one choice; each is shown with an address that names all the others."""
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,6})?")
_BACK = re.compile(r"(\d{1,4}):([a-z_]{1,40})")


class ItemQuery(NamedTuple):
    """Filters, order and page; `chosen` and `spans` by the names of their columns."""

    search: str = ""
    chosen: Mapping[str, tuple[str, ...]] = {}
    spans: Mapping[str, tuple[float | None, float | None]] = {}
    back: str = ""
    """`ROUND:CAUSE`: the draft of that round was sent back for that cause; or the label that it got."""
    sort: str = "order"
    down: bool = False
    page: int = 1

    def pairs(self) -> list[tuple[str, str]]:
        """As the address has it, without what stands at its default."""
        found = [("q", self.search)] if self.search else []
        found += [(name, value or _NONE) for name, values in self.chosen.items() for value in values]
        for name, (least, most) in self.spans.items():
            found += [(f"{name}_min", written(least))] if least is not None else []
            found += [(f"{name}_max", written(most))] if most is not None else []
        found += [("back", self.back)] if self.back else []
        found += [("sort", f"-{self.sort}" if self.down else self.sort)] if (self.sort, self.down) != _ORDER else []
        return found + ([("page", str(self.page))] if self.page > 1 else [])

    def url(self, **changed: Any) -> str:
        """The part of an address from `?` on, with some fields changed; such a change leads to the first page."""
        asked = self._replace(**({"page": 1} | changed))
        return "?" + urlencode(asked.pairs())

    def without(self, name: str, value: str | None = None) -> str:
        """The address without one filter, or without one value of it."""
        if name in self.chosen:
            left = tuple(one for one in self.chosen[name] if one != value)
            return self.url(chosen={**self.chosen, name: left})
        if name in self.spans:
            return self.url(spans={other: span for other, span in self.spans.items() if other != name})
        return self.url(**{name: ""})

    def sorted_by(self, name: str) -> str:
        """The address that sorts by a column, the other way round where it is sorted by it already."""
        down = not self.down if self.sort == name else name in _LARGE_FIRST
        return self.url(sort=name, down=down)

    @property
    def filtered(self) -> bool:
        return bool(self.search or self.back or any(self.chosen.values()) or self.spans)


def written(number: float) -> str:
    """A number of a span as `parsed` reads it, without an exponent."""
    return f"{number:.6f}".rstrip("0").rstrip(".")


_ORDER = ("order", False)
_LARGE_FIRST = ("steps", "rate", "rounds", "calls", "tokens", "naturalness", "hops")


Known = Mapping[str, Container[str]]
"""The values that the rows of a table have, by choice."""


def known_values(seeds: pl.LazyFrame) -> Known:
    values = [_values(seeds, choice).unique() for choice in CHOICES]
    found = zip(CHOICES, pl.collect_all(values), strict=True)
    return {choice.name: set(frame["name"].to_list()) for choice, frame in found}


def _values(seeds: pl.LazyFrame, choice: Choice) -> pl.LazyFrame:
    value = seeds.select(choice.value.alias("name"))
    return value.explode("name").drop_nulls() if choice.several else value


def parsed(parameters: Iterable[tuple[str, str]], known: Known) -> ItemQuery:
    """The query of an address. What it does not know, or cannot read, it leaves out."""
    given: dict[str, list[str]] = {}
    for name, value in parameters:
        given.setdefault(name, []).append(value)
    first = {name: values[0].strip() for name, values in given.items()}
    sort = first.get("sort", "")
    name = sort.removeprefix("-")
    back = first.get("back", "")
    return ItemQuery(
        search=first.get("q", "")[:400],
        chosen={name: values for name in known if (values := _chosen(given.get(name, ()), known[name]))},
        spans=dict(_spans(first)),
        back=back if _BACK.fullmatch(back) else "",
        sort=name if name in SORTS else "order",
        down=sort.startswith("-") and name in SORTS,
        page=page_number(first.get("page", "")),
    )


def _chosen(given: Iterable[str], known: Container[str]) -> tuple[str, ...]:
    values = ("" if value == _NONE else value for value in dict.fromkeys(given) if value)
    return tuple(islice((value for value in values if value in known), _MOST_VALUES))


def page_number(text: str) -> int:
    """From 1; the first page where the text is no number."""
    return int(text) if re.fullmatch(r"[1-9]\d{0,6}", text) else 1


def _spans(first: Mapping[str, str]) -> Iterable[tuple[str, tuple[float | None, float | None]]]:
    for span in SPANS:
        texts = (first.get(f"{span.name}_{end}", "") for end in ("min", "max"))
        least, most = (float(text) if _NUMBER.fullmatch(text) else None for text in texts)
        if (least, most) != (None, None):
            yield span.name, (least, most)


def selected(seeds: pl.LazyFrame, query: ItemQuery, leave_out: str = "") -> pl.LazyFrame:
    """The rows that the filters let through; one choice may be left out, to count what it would give."""
    conditions = [*_found(query.search)]
    for choice in CHOICES:
        values = query.chosen.get(choice.name, ())
        if values and choice.name != leave_out:
            shared = choice.value.list.set_intersection(list(values)).list.len() > 0
            conditions.append(shared if choice.several else choice.value.is_in(list(values)))
    for span in SPANS:
        least, most = query.spans.get(span.name, (None, None))
        conditions += [span.value >= least] if least is not None else []
        conditions += [span.value <= most] if most is not None else []
    if match := _BACK.fullmatch(query.back):
        place, said = int(match[1]), match[2]
        labels, causes = (pl.col(name).list.get(place, null_on_oob=True) for name in ("labels", "causes"))
        conditions.append((labels == said) | (causes == said))
    return seeds.filter(*conditions) if conditions else seeds


def _found(search: str) -> Iterable[pl.Expr]:
    """Each word stands somewhere, or each phrase in quotes."""
    for phrase, word in re.findall(r'"([^"]+)"|(\S+)', search.lower())[:_MOST_TERMS]:
        term = phrase or word
        looked = [pl.col(name).str.to_lowercase().str.contains(term, literal=True) for name in SEARCHED]
        titles = pl.col("hop_titles").list.join("\n", ignore_nulls=True).str.to_lowercase()
        yield pl.any_horizontal([*looked, titles.str.contains(term, literal=True)]).fill_null(value=False)


def ordered(seeds: pl.LazyFrame, query: ItemQuery) -> pl.Series:
    """The keys of all rows that the filters let through, in order; rows without a value come last."""
    rows = selected(seeds, query).select("key", SORTS[query.sort].alias("by"), "plan_order")
    found = rows.sort("by", "plan_order", descending=[query.down, False], nulls_last=True, maintain_order=True)
    return found.select("key").collect()["key"]


def rows(seeds: pl.LazyFrame, keys: Sequence[str]) -> list[dict[str, Any]]:
    """What the table shows of these keys, in their order."""
    wanted = pl.LazyFrame({"key": list(keys)}, schema={"key": pl.String})
    amounts = [span.value.alias(span.name) for span in SPANS]
    shown = ("key", "status", "reason", "gate_detail", "question", "answer", "answer_type", "strategy", "target_steps")
    part = seeds.filter(pl.col("key").is_in(list(keys))).select(*shown, "passage_id", *amounts)
    return wanted.join(part, on="key", how="left", maintain_order="left").collect().to_dicts()


def row(seeds: pl.LazyFrame, key: str) -> dict[str, Any] | None:
    """The whole row of a key; None where the table has none."""
    return next(iter(seeds.filter(pl.col("key") == key).collect().to_dicts()), None)


def neighbours(keys: pl.Series, key: str) -> tuple[int, str, str]:
    """The place of a key among those of a filter, from 1, with the keys before and after it: 0 where it is not among
    them, empty where there is none."""
    found = (keys == key).arg_true()
    if not len(found):
        return 0, "", ""
    place = int(found[0])
    return place + 1, keys[place - 1] if place else "", keys[place + 1] if place + 1 < len(keys) else ""


def facets(seeds: pl.LazyFrame, query: ItemQuery) -> dict[str, list[Count]]:
    """For each choice its values with the number of rows that it would give; those that are chosen stand there even
    where it would give none. A choice with one value and none chosen is left out."""
    others = [selected(seeds, query, leave_out=choice.name) for choice in CHOICES]
    counts = [_values(rows, choice).group_by("name").len() for rows, choice in zip(others, CHOICES, strict=True)]
    found = {}
    for choice, frame in zip(CHOICES, pl.collect_all(counts), strict=True):
        number = dict(frame.rows())
        number |= {value: number.get(value, 0) for value in query.chosen.get(choice.name, ())}
        if len(number) > 1 or query.chosen.get(choice.name):
            found[choice.name] = _by_number(number) if choice.name == "target" else list(largest_first(number))
    return found


def _by_number(counts: Mapping[str, int]) -> list[Count]:
    names = sorted(counts, key=lambda name: (int(name) if name.isdecimal() else math.inf, name))
    return [Count(name=name, count=counts[name]) for name in names]
