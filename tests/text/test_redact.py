"""Nothing that acts on a terminal gets through; everything else does."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.redact import clean, is_disguised, remove_secret
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


KEY = "sk-proj-Zoë-7f3a"


def escaped(text: str, levels: int) -> str:
    """Every character as `\\uXXXX`, and that as JSON within JSON so many times."""
    text = "".join(f"\\u{ord(character):04x}" for character in text)
    for _ in range(levels - 1):
        text = json.dumps(text)[1:-1]
    return text


@pytest.mark.parametrize("levels", range(1, 8))
@pytest.mark.parametrize("around", ["{}", 'he said "{}" \u200b', "\x1b[1m{}", "\\{}"])
def test_a_secret_is_found_at_any_level_of_escaping(levels: int, around: str) -> None:
    for hidden in (
        escaped(KEY, levels),
        escaped(KEY[:3], levels) + KEY[3:],
        KEY[:4] + "\u200b" + escaped(KEY[4:], levels),
    ):
        shown = around.replace("{}", hidden)
        assert is_disguised(shown, KEY)
        assert remove_secret(shown, KEY, "[KEY]") == "[KEY]"


@pytest.mark.parametrize(
    "text", ["", "\\" * 50, r"C:\users\sk", r"\d+\.\d", escaped("sk-other", 4), "\\" * 99_999 + "n"]
)
def test_what_holds_no_secret_stays(text: str) -> None:
    assert not is_disguised(text, KEY)
    assert remove_secret(text, KEY, "[KEY]") == text
