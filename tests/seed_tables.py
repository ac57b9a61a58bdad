"""Make tables of seeds, figures and reports from records without a journal."""

from collections.abc import Iterable

import polars as pl

from pipeline.analysis import figures as made
from pipeline.analysis import seed_rows as seeds
from pipeline.analysis import seed_table
from pipeline.analysis.figures import Figures, Outside
from pipeline.config import RunConfig
from pipeline.exports.report import page as html
from pipeline.types import Record


def table(records: Iterable[Record]) -> pl.LazyFrame:
    return seed_table.frame(map(seeds.row, records))


def figures(records: Iterable[Record], outside: Outside | None = None) -> Figures:
    return made.figures(table(records), outside or Outside())


def page(records: Iterable[Record], config: RunConfig, outside: Outside | None = None) -> str:
    known = {record.key: record for record in records}
    return html.page(table(known.values()), known.__getitem__, config, outside or Outside())
