"""Names with a mark that makes another name, and all other names."""

import pytest

from pipeline import text
from pipeline.text.names import contains, normalise


@pytest.mark.parametrize(
    ("passage", "name", "is_contained"),
    [
        ("It writes to C:\\Windows.", "C#", False),
        ("It is written in C++.", "C#", False),
        ("It is written in C++.", "C", False),
        ("It is written in C++ and Lua.", "C++", True),
        ("A C# loader, once in C.", "C#", True),
        ("A C# loader, once in C.", "c", True),
        ("It runs on Disney+.", "Disney", False),
        ("Press Ctrl+C to end it.", "Ctrl C", True),
    ],
)
def test_a_mark_after_a_word_makes_another_name(passage: str, name: str, is_contained: bool) -> None:
    assert contains(passage, name) is is_contained


@pytest.mark.parametrize("name", ["the O'Neill family", "Jean-Luc", "+49 30", "#1", "AB-", "1 + 1", "a-ha", "C"])
def test_all_other_names_are_normalised_as_usual(name: str) -> None:
    assert normalise(name) == text.normalise(name)


def test_names_are_equal_only_with_the_same_marks() -> None:
    assert len({*map(normalise, ("C", "C#", "C++", "c++ "))}) == 3
