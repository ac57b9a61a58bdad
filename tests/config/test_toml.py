"""Settings that nothing could store are one line that names their key, wherever they come from."""

from pathlib import Path

import pytest

from pipeline.config import build, toml
from pipeline.errors import UsageError

DEEP = "[" * 5000 + "]" * 5000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seed = 18446744073709551616", "seed: must fit into 64 bits"),
        ("[runtime]\npairs = 18446744073709551616", "runtime.pairs: must fit into 64 bits"),
        ("seed = " + "9" * 5000, "cannot read .*: Exceeds the limit"),
        (f"seed = {DEEP}", "cannot read .*: it is nested too deeply"),
        (".".join("a" * 3000) + " = 1", "nested too deeply"),
        (".".join("a" * 100_000) + " = 1", "nested too deeply"),
        ("[" + " . ".join(['"a"'] * 100_000) + "]", "nested too deeply"),
        ("a = 1 #" + "#" * (1 << 20), "cannot read .*: settings may have 1 MiB"),
        ('[runtime]\nout = "a\\u0000b"', "runtime.out: must not contain NUL"),
        ('[gates]\nagainst = ["a", "b\\u0000"]', "gates.against.1: must not contain NUL"),
    ],
)
def test_a_file_of_what_cannot_be_stored_is_one_line(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=says) as caught:
        build(file=path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"loop={DEEP}", "--set loop: nested too deeply"),
        (".".join("a" * 3000) + "=1", "nested too deeply"),
        ('runtime.out="a\\u0000b"', "runtime.out: must not contain NUL"),
        ("runtime.out=/tmp/\udcff", "runtime.out: must not contain NUL or invalid UTF-8"),
        ("runtime.budget_tokens=18446744073709551616", "runtime.budget_tokens: must fit into 64 bits"),
        ("seed=" + "9" * 5000, "seed: "),
    ],
)
def test_so_is_a_setting(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        build(sets=[text])
    assert "\n" not in str(caught.value)


def test_the_largest_number_that_json_takes_is_a_seed(tmp_path: Path) -> None:
    assert build(sets=[f"seed={2**64 - 1}"]).digest() != build().digest()


def test_a_path_with_a_nul_is_no_file() -> None:
    with pytest.raises(UsageError, match="cannot read"):
        toml.read(Path("a\0b"))


def test_a_table_that_is_set_takes_the_place_of_what_was_there() -> None:
    quotas = ("gates.quotas.reasoning={bridge=0.5, temporal=0.2}", "gates.quotas.reasoning={bridge=0.9}")
    assert build(sets=[*quotas, "gates.quotas.strategy.sage=0.5"]).gates.quotas == {
        "reasoning": {"bridge": 0.9},
        "strategy": {"sage": 0.5},
    }
    assert build(sets=[*quotas, "gates.quotas={}"]).gates.quotas == {}


def test_a_file_without_an_end_is_one_line() -> None:
    with pytest.raises(UsageError, match="/dev/zero: settings may have 1 MiB"):
        toml.read(Path("/dev/zero"))
