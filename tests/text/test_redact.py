"""Everything that acts on a terminal is removed, and everything else is kept."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.redact import clean, is_disguised, remove_secret
from tests.hostile_texts import HOSTILE

ACTING = ("Cc", "Cs")
BIDI = {*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"}


@pytest.mark.parametrize(
    ("text", "cleaned"),
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
def test_control_sequences_are_removed_and_text_is_kept(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(st.text() | st.sampled_from(HOSTILE))
def test_no_character_that_acts_remains(text: str) -> None:
    out = clean(text)
    assert not [c for c in out if (unicodedata.category(c) in ACTING and c not in "\n\t") or c in BIDI]
    assert clean(out) == out


KEY = "sk-proj-Zoë-7f3a"


def escape(text: str, levels: int) -> str:
    """Write every character as `\\uXXXX`, encoded as JSON within JSON to this number of levels."""
    text = "".join(f"\\u{ord(character):04x}" for character in text)
    for _ in range(levels - 1):
        text = json.dumps(text)[1:-1]
    return text


@pytest.mark.parametrize("levels", range(1, 8))
@pytest.mark.parametrize("around", ["{}", 'he said "{}" \u200b', "\x1b[1m{}", "\\{}"])
def test_a_secret_is_found_at_any_level_of_escaping(levels: int, around: str) -> None:
    for hidden in (
        escape(KEY, levels),
        escape(KEY[:3], levels) + KEY[3:],
        KEY[:4] + "\u200b" + escape(KEY[4:], levels),
    ):
        disguised = around.replace("{}", hidden)
        assert is_disguised(disguised, KEY)
        assert remove_secret(disguised, KEY, "[KEY]") == "[KEY]"


@pytest.mark.parametrize(
    "text", ["", "\\" * 50, r"C:\users\sk", r"\d+\.\d", escape("sk-other", 4), "\\" * 99_999 + "n"]
)
def test_a_text_without_the_secret_is_kept(text: str) -> None:
    assert not is_disguised(text, KEY)
    assert remove_secret(text, KEY, "[KEY]") == text
