"""The supply chain: what is locked and by which hashes, what is declared, and what an installed wheel holds."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.rules.source import FOREIGN, ROOT, tree

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = [ROOT / "uv.lock", ROOT / "serving" / "uv.lock"]
OF_A_USER = {"sentence_transformers"}
"""What a user with an encoder for it installs."""


def plain(requirement: str) -> str:
    """The name of a distribution, as all of its spellings are compared."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;]", requirement)[0]).lower()


def uv() -> str:
    beside = Path(sys.prefix).parent / ".uv" / "bin" / "uv"
    found = str(beside) if beside.is_file() else shutil.which("uv")
    return found or pytest.skip("uv is not here; `make setup` installs it")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.parent.name)
def test_every_locked_file_has_its_hash_and_a_last_day(lock):
    locked = tomllib.loads(lock.read_text())
    assert locked["options"]["exclude-newer"]
    for package in locked["package"]:
        if "registry" in package["source"]:
            files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
            assert files, package["name"]
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", file["hash"]) for file in files), package["name"]
        else:
            assert {"editable", "virtual"} & set(package["source"]), package["name"]


def test_what_builds_the_package_is_pinned_and_locked():
    (backend,) = PROJECT["build-system"]["requires"]
    assert re.fullmatch(r"hatchling==[\d.]+", backend)
    assert backend in PROJECT["dependency-groups"]["build"]
    assert PROJECT["tool"]["uv"]["no-build-isolation-package"] == ["digsite"]
    locked = {f"{p['name']}=={p['version']}" for p in tomllib.loads(LOCKS[0].read_text())["package"]}
    assert backend in locked


def test_uv_is_installed_by_its_hash_and_takes_no_stale_lock():
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^UV := uv==[\d.]+ \\\n(\t--hash=sha256:[0-9a-f]{64}( \\)?\n){3}", makefile, re.MULTILINE)
    assert "--require-hashes" in makefile
    assert "--frozen" not in makefile
    assert makefile.count("uv sync --locked") == 2


def test_a_stale_lock_is_refused(tmp_path):
    """As `uv sync --locked` finds it out, before anything is installed; `--frozen` would not look. Without a network a
    lock that fits is taken, and whatever would have to be resolved anew is refused."""
    for name in ("pyproject.toml", "uv.lock", "README.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    command = [uv(), "sync", "--locked", "--dry-run", "--offline", "--python", sys.executable]
    fitting = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert fitting.returncode == 0, fitting.stderr
    stale = (tmp_path / "pyproject.toml").read_text().replace("rank-bm25==0.2.2", "rank-bm25==0.2.1")
    (tmp_path / "pyproject.toml").write_text(stale)
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert not (tmp_path / ".venv").exists()


def test_what_is_imported_is_declared():
    extras = [name for group in PROJECT["project"]["optional-dependencies"].values() for name in group]
    declared = {plain(name) for name in [*PROJECT["project"]["dependencies"], *extras]}
    known = packages_distributions()
    missing = {}
    for source in tree("pipeline", "flows"):
        for found in () if source.module.startswith(FOREIGN) else source.imports:
            top = found.module.split(".")[0]
            if top in sys.stdlib_module_names or top in OF_A_USER or top in ("pipeline", "flows"):
                continue
            if not {plain(name) for name in known.get(top, [top])} & declared:
                missing[top] = source.path
    assert missing == {}


def wheel(folder: Path) -> Path:
    pytest.importorskip("hatchling", reason="hatchling is in the group `build`; `make setup` installs it")
    command = [uv(), "build", "--wheel", "--no-build-isolation", "--offline", "--python", sys.executable]
    subprocess.run([*command, "--out-dir", str(folder)], cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_a_wheel_leaves_the_top_level_to_others(tmp_path):
    names = zipfile.ZipFile(wheel(tmp_path)).namelist()
    # `flows`, `prompts` and `corpora` would be anybody's names.
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"pipeline"}
    for kept in ("prompts/solver/answer.md", "corpora/tiny.jsonl", "corpora/benchmarks", "corpora/near_misses.jsonl"):
        assert any(name.startswith(f"pipeline/_shipped/{kept}") for name in names), kept


@pytest.mark.slow
def test_an_installed_wheel_makes_questions(tmp_path):
    """Away from the clone, with the packages of this environment and the wheel's own files before them."""
    zipfile.ZipFile(wheel(tmp_path)).extractall(tmp_path / "site")
    line = (
        "import sys; from pipeline.store.shipped_folders import folder; print(folder('prompts')); "
        "from pipeline.flow.main import main; main()"
    )
    for arguments in (["--help"], ["generate", "tiny", "--pairs", "1", "--steps", "1"]):
        command = [sys.executable, "-c", line, *arguments]
        environment = {"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(str(tmp_path / "site"))
