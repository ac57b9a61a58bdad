"""Settings that cannot be stored are refused in one line that names their key, wherever they come from."""

from pathlib import Path

import pytest

from pipeline.config import build, toml
from pipeline.errors import UsageError

DEEP = "[" * 5000 + "]" * 5000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = 18446744073709551616", "seed: must fit into 64 bits"),
        ("[runtime]\npairs = 18446744073709551616", "runtime.pairs: must fit into 64 bits"),
        ("seed = " + "9" * 5000, "cannot read .*: Exceeds the limit"),
        (f"seed = {DEEP}", "cannot read .*: it is nested too deeply"),
        (".".join("a" * 3000) + " = 1", "nested too deeply"),
        (".".join("a" * 100_000) + " = 1", "nested too deeply"),
        ("[" + " . ".join(['"a"'] * 100_000) + "]", "nested too deeply"),
        ("a = 1 #" + "#" * (1 << 20), "cannot read .*: a file of settings may have at most 1 MiB"),
        ('[runtime]\nout = "a\\u0000b"', "runtime.out: must not contain NUL"),
        ('[gates]\nagainst = ["a", "b\\u0000"]', "gates.against.1: must not contain NUL"),
    ],
)
def test_a_file_with_settings_that_cannot_be_stored_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        build(file=path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"loop={DEEP}", "--set loop: nested too deeply"),
        (".".join("a" * 3000) + "=1", "nested too deeply"),
        ('runtime.out="a\\u0000b"', "runtime.out: must not contain NUL"),
        ("runtime.out=/tmp/\udcff", "runtime.out: must not contain NUL or invalid UTF-8"),
        ("runtime.budget_tokens=18446744073709551616", "runtime.budget_tokens: must fit into 64 bits"),
        ("seed=" + "9" * 5000, "seed: "),
    ],
)
def test_a_setting_that_cannot_be_stored_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        build(sets=[text])
    assert "\n" not in str(caught.value)


def test_the_largest_number_in_json_is_a_valid_seed(tmp_path: Path) -> None:
    assert build(sets=[f"seed={2**64 - 1}"]).digest() != build().digest()


def test_a_path_with_a_nul_is_no_file() -> None:
    with pytest.raises(UsageError, match="cannot read"):
        toml.read(Path("a\0b"))


def test_a_table_that_is_set_replaces_the_earlier_one() -> None:
    quotas = ("gates.quotas.reasoning={bridge=0.5, temporal=0.2}", "gates.quotas.reasoning={bridge=0.9}")
    assert build(sets=[*quotas, "gates.quotas.strategy.sage=0.5"]).gates.quotas == {
        "reasoning": {"bridge": 0.9},
        "strategy": {"sage": 0.5},
    }
    assert build(sets=[*quotas, "gates.quotas={}"]).gates.quotas == {}


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(UsageError, match="/dev/zero: a file of settings may have at most 1 MiB"):
        toml.read(Path("/dev/zero"))
