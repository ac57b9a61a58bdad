"""What no file of the product says: places of a developer's machine, switches that run foreign code, hidden errors."""

import re
import tomllib

import pytest

from tests.rules.source import ROOT, Source, tree

SAYINGS = {
    "a place outside the repository": re.compile(
        r"(?<![\w.])/work(?![\w-])|\.\./shared|\bissue #?\d+\b", re.IGNORECASE
    ),
    "a switch that runs what was read": re.compile(r"\b(?:trust_remote_code|allow_pickle)\s*=(?!\s*False)"),
    "every error hidden": re.compile(r"\bsuppress\((?:Base)?Exception\)"),
    "a value with rules of its own": re.compile(
        r"^\s+model_config\b|(?<!@slotted\n)^class \w+\(Slotted\)", re.MULTILINE
    ),
}
BASES = "pipeline/types/data.py"


def other_files() -> list[Source]:
    loose = [ROOT / name for name in ("Makefile", "prefect.yaml", "pyproject.toml", "README.md", "CONTRIBUTING.md")]
    files = [*loose, *(ROOT / "corpora").glob("*.toml"), *(ROOT / "prompts").rglob("*.md")]
    return [Source(file.relative_to(ROOT).as_posix(), file.read_text()) for file in files]


@pytest.mark.parametrize("saying", SAYINGS)
def test_no_file_of_the_product_says(saying: str) -> None:
    sources = [source for source in (*tree("pipeline", "flows"), *other_files()) if source.path != BASES]
    assert [source.path for source in sources if SAYINGS[saying].search(source.text)] == []


@pytest.mark.parametrize(
    ("saying", "text"),
    [
        ("a place outside the repository", "PATH = '/work/main'"),
        ("a place outside the repository", "# see ../shared/DESIGN.md"),
        ("a place outside the repository", "# as issue 2 says"),
        ("a switch that runs what was read", "load(name, trust_remote_code=flag)"),
        ("a switch that runs what was read", "np.load(path, allow_pickle=True)"),
        ("every error hidden", "with contextlib.suppress(Exception):"),
        ("a value with rules of its own", "class A(Data):\n    model_config = ConfigDict(frozen=False)"),
        ("a value with rules of its own", "@dataclass\nclass A(Slotted):\n    x: int"),
    ],
)
def test_a_planted_saying_is_found(saying: str, text: str) -> None:
    assert SAYINGS[saying].search(text)


@pytest.mark.parametrize(
    "text",
    [
        "'https://example.org/work-of-art'",
        "tissue = 3",
        "np.load(p, allow_pickle=False)",
        "@slotted\nclass A(Slotted):\n    x: int",
    ],
)
def test_what_is_fine_is_not_found(text: str) -> None:
    assert not any(pattern.search(text) for pattern in SAYINGS.values())


def test_no_import_is_excepted_from_the_layers() -> None:
    tree = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = tree["tool"]["importlinter"]["contracts"]
    layers = next(one for one in contracts if one["type"] == "layers")
    assert layers["exhaustive"]
    assert set(layers) == {"name", "type", "layers", "exhaustive", "containers"}
    assert not [key for one in contracts for key in one if key.startswith(("ignore", "unmatched"))]
