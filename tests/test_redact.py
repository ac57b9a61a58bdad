"""Nothing that acts on a terminal gets through; everything else does."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.redact import clean
from tests.hostile import HOSTILE

ACTING = ("Cc", "Cs")
BIDI = {*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jcleared", "cleared"),
        ("a\x1b[", "a"),
        ("\x1bPq#0;2\x1b\\sixel", "sixel"),
        ("over\rwritten", "over\nwritten"),
        ("a\r\nb\tc\u2028d", "a\nb\tc\nd"),
        ("bid\u202ei\u2066", "bidi"),
        ("Łódź 🧭👩\u200d🚀 “quoted” [bold]", "Łódź 🧭👩\u200d🚀 “quoted” [bold]"),
        ("lone \ud800 surrogate", "lone  surrogate"),
    ],
)
def test_what_acts_goes_and_what_reads_stays(text: str, left: str) -> None:
    assert clean(text) == left


@given(st.text() | st.sampled_from(HOSTILE))
def test_no_character_that_acts_is_left(text: str) -> None:
    out = clean(text)
    assert not [c for c in out if (unicodedata.category(c) in ACTING and c not in "\n\t") or c in BIDI]
    assert clean(out) == out
