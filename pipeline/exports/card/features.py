"""The columns of a view as the front matter of a data card declares them, so that the Hub need not guess their types.

`datasets` would give the same; a test compares them, and an export need not import it.
"""

from typing import Any

import pyarrow as pa

Feature = dict[str, Any]


def features(schema: pa.Schema) -> list[Feature] | None:
    """None where a column holds JSON: readers of before `datasets` 4.7 know no such type, and would refuse the card."""
    if any("json" in str(field.type) for field in schema):
        return None
    return [{"name": field.name, **_feature(field.type)} for field in schema]


def _feature(kind: pa.DataType) -> Feature:
    if pa.types.is_struct(kind):
        return {"struct": [{"name": field.name, **_feature(field.type)} for field in kind]}
    if pa.types.is_list(kind):
        inner = _feature(kind.value_type)
        return {"list": inner.get("struct") or inner.get("dtype") or inner}
    return {"dtype": {"double": "float64", "float": "float32"}.get(str(kind), str(kind))}
