"""The same bytes under any locale, and a path in any letters."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import SMALL
from tests.server_process import COMMAND

COMMON = [*SMALL, "--seeds", "3", "--no-flow"]
PLAIN = {"LC_ALL": "C.UTF-8"}
ASCII = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(scope="module")
def latin1(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Compile a locale that this machine need not have, and return its environment."""
    folder = tmp_path_factory.mktemp("locales")
    compiler = shutil.which("localedef")
    if compiler is None:
        pytest.skip("no localedef here")
    command = [compiler, "-i", "en_US", "-f", "ISO-8859-1", str(folder / "en_US.ISO-8859-1")]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("localedef has no sources of locales here")
    return {"LC_ALL": "en_US.ISO-8859-1", "LOCPATH": str(folder)}


def digsite(locale: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", env=env | locale, timeout=120, check=False
    )


def generate_files(locale: dict[str, str], out: Path) -> dict[str, bytes]:
    """Generate, and return every file of the data set and the sorted lines of the journal."""
    done = digsite(locale, "generate", "tiny", *COMMON, "--out", out)
    assert done.returncode == 0, done.stderr
    folder = (out / "tiny" / "latest").resolve()
    files = [path for path in (folder / "dataset").rglob("*") if path.is_file()]
    journal = b"\n".join(sorted((folder / "journal" / "main.jsonl").read_bytes().split(b"\n")))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files} | {"journal": journal}


def read_encoding(locale: dict[str, str]) -> str:
    """Return what Python believes the locale's encoding to be."""
    code = "import codecs, locale; print(codecs.lookup(locale.getpreferredencoding(False)).name)"
    env = {"PATH": os.environ["PATH"], **locale}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
    ).stdout.strip()


@pytest.mark.slow
def test_the_locale_changes_no_byte(tmp_path: Path, latin1: dict[str, str]) -> None:
    assert [read_encoding(environment) for environment in (PLAIN, latin1, ASCII)] == ["utf-8", "iso8859-1", "ascii"]
    plain = generate_files(PLAIN, tmp_path / "plain")
    assert {"dataset/README.md", "dataset/manifest.json", "journal"} <= plain.keys()
    for name, locale in (("latin1", latin1), ("ascii", ASCII)):
        files = generate_files(locale, tmp_path / name)
        assert files.keys() == plain.keys()
        assert [file for file in plain if files[file] != plain[file]] == []


@pytest.mark.parametrize("locale", ["C", pytest.param("latin1", marks=pytest.mark.slow)])
def test_a_path_in_any_script_is_opened(tmp_path: Path, locale: str, request: pytest.FixtureRequest) -> None:
    env = request.getfixturevalue("latin1") if locale == "latin1" else {"LC_ALL": "C"}
    folder = tmp_path / "Ausgänge-出力"
    done = digsite(env, "search", "tiny", "Kessel Bridge", "--out", folder)
    assert (done.returncode, "Kessel Bridge" in done.stdout) == (0, True), done.stderr
    assert list(folder.glob("indexes/*/manifest.json"))
    assert "dataset/seeds.parquet" in generate_files(env, folder)
    assert [path.name for path in tmp_path.iterdir()] == ["Ausgänge-出力"]
