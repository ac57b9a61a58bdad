"""A few views that together have every type of column."""

import pyarrow as pa

from pipeline.exports.views import base


def get_shape(kind: pa.DataType) -> tuple[str, frozenset[object]]:
    """Return a type of Arrow without the names of its fields."""
    inner = frozenset(get_shape(kind.field(n).type) for n in range(kind.num_fields))
    return type(kind).__name__ if inner else str(kind), inner


_OF_TYPE = {get_shape(field.type): view for view in base.names() for field in base.load(view).schema}
OF_EACH_TYPE = sorted(set(_OF_TYPE.values()))
"""Views such that each type of column occurs in one of them."""
