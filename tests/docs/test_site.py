"""The site builds without a warning: every page is in the navigation, and every link and anchor works."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel

from docs import links

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_site_builds_strictly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 10
    assert all("//fonts.g" not in page.read_text(encoding="utf-8") for page in pages)


def test_a_link_out_of_the_documents_becomes_a_path_that_is_there() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="index.md"))
    excluded = File("nightly.toml", str(ROOT / "docs"), "", use_directory_urls=False)
    excluded.inclusion = InclusionLevel.EXCLUDED

    def rewrite(text: str) -> str:
        return links.on_page_markdown(text, page=page, files=Files([excluded]))

    assert rewrite("see [the gates](../pipeline/gates/base.py), [Makefile](../Makefile)") == (
        "see the gates (`pipeline/gates/base.py`), `Makefile`"
    )
    assert rewrite("[a](../docs/bench.md#figures)") == "[a](../docs/bench.md#figures)"
    assert rewrite("[the settings](nightly.toml)") == "the settings (`docs/nightly.toml`)"
    with pytest.raises(PluginError, match=r"index.md links to ../nowhere.md"):
        rewrite("[a](../nowhere.md)")
