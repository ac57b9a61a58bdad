"""Queries for the table of items: each one is written in full in the address, and becomes one lazy query."""

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
"""Stands for a missing value in addresses."""
_MOST_TERMS = 8
_MOST_VALUES = 24
"""The most values of one choice. Each is shown with an address that names all others."""
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,6})?")
_BACK = re.compile(r"(\d{1,4}):([a-z_]{1,40})")


class ItemQuery(NamedTuple):
    """Filters, order and page. `chosen` and `spans` have the names of filters as keys."""

    search: str = ""
    chosen: Mapping[str, tuple[str, ...]] = {}
    spans: Mapping[str, tuple[float | None, float | None]] = {}
    back: str = ""
    """`ROUND:CAUSE`: the cause for which the draft of that round was sent back, or the label that it got."""
    sort: str = "order"
    down: bool = False
    page: int = 1

    def pairs(self) -> list[tuple[str, str]]:
        """Return the fields of the address, without those that have their default."""
        fields = [("q", self.search)] if self.search else []
        fields += [(name, value or _NONE) for name, values in self.chosen.items() for value in values]
        for name, (least, most) in self.spans.items():
            fields += [(f"{name}_min", format_number(least))] if least is not None else []
            fields += [(f"{name}_max", format_number(most))] if most is not None else []
        fields += [("back", self.back)] if self.back else []
        fields += [("sort", f"-{self.sort}" if self.down else self.sort)] if (self.sort, self.down) != _ORDER else []
        return fields + ([("page", str(self.page))] if self.page > 1 else [])

    def url(self, **changed: Any) -> str:
        """Return the part of an address from `?` on, with some fields changed. A change leads to the first page."""
        query = self._replace(**({"page": 1} | changed))
        return "?" + urlencode(query.pairs())

    def without(self, name: str, value: str | None = None) -> str:
        if name in self.chosen:
            remaining = tuple(chosen for chosen in self.chosen[name] if chosen != value)
            return self.url(chosen={**self.chosen, name: remaining})
        if name in self.spans:
            return self.url(spans={key: span for key, span in self.spans.items() if key != name})
        return self.url(**{name: ""})

    def sorted_by(self, name: str) -> str:
        """Return the address that sorts by a column, or reverses the order if it already sorts by it."""
        down = not self.down if self.sort == name else name in _LARGE_FIRST
        return self.url(sort=name, down=down)

    @property
    def filtered(self) -> bool:
        return bool(self.search or self.back or any(self.chosen.values()) or self.spans)


def format_number(number: float) -> str:
    """Format a number of a range as `parse_query` reads it, without an exponent."""
    return f"{number:.6f}".rstrip("0").rstrip(".")


_ORDER = ("order", False)
_LARGE_FIRST = ("steps", "rate", "rounds", "calls", "tokens", "naturalness", "hops")


Known = Mapping[str, Container[str]]
"""The values in a table, by choice."""


def known_values(seeds: pl.LazyFrame) -> Known:
    columns = [_select_values(seeds, choice).unique() for choice in CHOICES]
    frames = zip(CHOICES, pl.collect_all(columns), strict=True)
    return {choice.name: set(frame["name"].to_list()) for choice, frame in frames}


def _select_values(seeds: pl.LazyFrame, choice: Choice) -> pl.LazyFrame:
    value = seeds.select(choice.value.alias("name"))
    return value.explode("name").drop_nulls() if choice.several else value


def parse_query(parameters: Iterable[tuple[str, str]], allowed: Known) -> ItemQuery:
    """Read the query from an address. Unknown or unreadable parts are ignored."""
    texts: dict[str, list[str]] = {}
    for name, value in parameters:
        texts.setdefault(name, []).append(value)
    first_texts = {name: values[0].strip() for name, values in texts.items()}
    sort = first_texts.get("sort", "")
    name = sort.removeprefix("-")
    back = first_texts.get("back", "")
    return ItemQuery(
        search=first_texts.get("q", "")[:400],
        chosen={name: values for name in allowed if (values := _filter_known(texts.get(name, ()), allowed[name]))},
        spans=dict(_read_ranges(first_texts)),
        back=back if _BACK.fullmatch(back) else "",
        sort=name if name in SORTS else "order",
        down=sort.startswith("-") and name in SORTS,
        page=page_number(first_texts.get("page", "")),
    )


def _filter_known(texts: Iterable[str], allowed: Container[str]) -> tuple[str, ...]:
    values = ("" if value == _NONE else value for value in dict.fromkeys(texts) if value)
    return tuple(islice((value for value in values if value in allowed), _MOST_VALUES))


def page_number(text: str) -> int:
    """Return the page number, from 1; the first page if the text is not a number."""
    return int(text) if re.fullmatch(r"[1-9]\d{0,6}", text) else 1


def _read_ranges(first: Mapping[str, str]) -> Iterable[tuple[str, tuple[float | None, float | None]]]:
    for span in SPANS:
        texts = (first.get(f"{span.name}_{end}", "") for end in ("min", "max"))
        least, most = (float(text) if _NUMBER.fullmatch(text) else None for text in texts)
        if (least, most) != (None, None):
            yield span.name, (least, most)


def select_rows(seeds: pl.LazyFrame, query: ItemQuery, leave_out: str = "") -> pl.LazyFrame:
    """Keep the rows that the filters pass. `leave_out` ignores one choice, to count what each value would give."""
    conditions = [*_build_search(query.search)]
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
        round_index, label = int(match[1]), match[2]
        labels, causes = (pl.col(name).list.get(round_index, null_on_oob=True) for name in ("labels", "causes"))
        conditions.append((labels == label) | (causes == label))
    return seeds.filter(*conditions) if conditions else seeds


def _build_search(search: str) -> Iterable[pl.Expr]:
    for phrase, word in re.findall(r'"([^"]+)"|(\S+)', search.lower())[:_MOST_TERMS]:
        term = phrase or word
        matches = [pl.col(name).str.to_lowercase().str.contains(term, literal=True) for name in SEARCHED]
        titles = pl.col("hop_titles").list.join("\n", ignore_nulls=True).str.to_lowercase()
        yield pl.any_horizontal([*matches, titles.str.contains(term, literal=True)]).fill_null(value=False)


def sort_keys(seeds: pl.LazyFrame, query: ItemQuery) -> pl.Series:
    """Return the keys of all rows that the filters pass, in order. Rows without a value come last."""
    rows = select_rows(seeds, query).select("key", SORTS[query.sort].alias("by"), "plan_order")
    sorted_rows = rows.sort("by", "plan_order", descending=[query.down, False], nulls_last=True, maintain_order=True)
    return sorted_rows.select("key").collect()["key"]


def rows(seeds: pl.LazyFrame, keys: Sequence[str]) -> list[dict[str, Any]]:
    ordered_keys = pl.LazyFrame({"key": list(keys)}, schema={"key": pl.String})
    amounts = [span.value.alias(span.name) for span in SPANS]
    columns = "key status reason gate_detail question answer answer_type strategy target_steps passage_id".split()
    matching = seeds.filter(pl.col("key").is_in(list(keys))).select(*columns, *amounts)
    return ordered_keys.join(matching, on="key", how="left", maintain_order="left").collect().to_dicts()


def row(seeds: pl.LazyFrame, key: str) -> dict[str, Any] | None:
    return next(iter(seeds.filter(pl.col("key") == key).collect().to_dicts()), None)


def neighbours(keys: pl.Series, key: str) -> tuple[int, str, str]:
    """Return the position of a key in the filtered order, from 1, and the keys before and after it.

    The position is 0 if the key is not there; a key is empty if there is none.
    """
    positions = (keys == key).arg_true()
    if not len(positions):
        return 0, "", ""
    position = int(positions[0])
    return position + 1, keys[position - 1] if position else "", keys[position + 1] if position + 1 < len(keys) else ""


def facets(seeds: pl.LazyFrame, query: ItemQuery) -> dict[str, list[Count]]:
    """Count for each choice the rows that each of its values would give.

    Chosen values are listed even if they give none. A choice with one value, not chosen, is left out.
    """
    filtered_rows = [select_rows(seeds, query, leave_out=choice.name) for choice in CHOICES]
    counts = [
        _select_values(rows, choice).group_by("name").len() for rows, choice in zip(filtered_rows, CHOICES, strict=True)
    ]
    counts_by_choice = {}
    for choice, frame in zip(CHOICES, pl.collect_all(counts), strict=True):
        value_counts = dict(frame.rows())
        value_counts |= {value: value_counts.get(value, 0) for value in query.chosen.get(choice.name, ())}
        if len(value_counts) > 1 or query.chosen.get(choice.name):
            counts_by_choice[choice.name] = (
                _by_number(value_counts) if choice.name == "target" else list(largest_first(value_counts))
            )
    return counts_by_choice


def _by_number(counts: Mapping[str, int]) -> list[Count]:
    names = sorted(counts, key=lambda name: (int(name) if name.isdecimal() else math.inf, name))
    return [Count(name=name, count=counts[name]) for name in names]
