"""Names with a mark that makes another of them, beside what `text` says of all others."""

import pytest

from pipeline import text
from pipeline.text.names import contains, normalise


@pytest.mark.parametrize(
    ("passage", "name", "held"),
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
def test_a_mark_after_a_word_makes_another_name(passage: str, name: str, held: bool) -> None:
    assert contains(passage, name) is held


@pytest.mark.parametrize("name", ["the O'Neill family", "Jean-Luc", "+49 30", "#1", "AB-", "1 + 1", "a-ha", "C"])
def test_all_other_names_are_as_they_were(name: str) -> None:
    assert normalise(name) == text.normalise(name)


def test_two_names_are_the_same_with_their_marks_alone() -> None:
    assert len({*map(normalise, ("C", "C#", "C++", "c++ "))}) == 3
