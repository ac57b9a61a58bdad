"""The columns of a view become Arrow types, or its author is told."""

import pyarrow as pa
import pytest

from pipeline.store.arrow import columns


@pytest.mark.parametrize("kind", [[str], list[str], tuple[str, ...]])
def test_a_list_of_texts_has_one_type_however_it_is_written(kind: object) -> None:
    assert columns(names=kind).field("names").type == pa.list_(pa.string())


@pytest.mark.parametrize("kind", [dict[str, str], set[str], bytes, object])
def test_a_type_that_no_column_can_hold_is_an_error(kind: object) -> None:
    with pytest.raises(TypeError, match="no Arrow type holds"):
        columns(names=kind)
