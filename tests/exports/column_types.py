"""Which views need be read where it is the types of their columns that matter to a reader."""

import pyarrow as pa

from pipeline.exports.views import base


def shape(kind: pa.DataType) -> tuple[str, frozenset[object]]:
    """A type of Arrow without the names of its fields."""
    inner = frozenset(shape(kind.field(n).type) for n in range(kind.num_fields))
    return type(kind).__name__ if inner else str(kind), inner


_OF_TYPE = {shape(field.type): view for view in base.names() for field in base.load(view).schema}
OF_EACH_TYPE = sorted(set(_OF_TYPE.values()))
"""So many that each type of column is among theirs."""
