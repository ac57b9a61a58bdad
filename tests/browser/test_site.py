"""The search of the documentation works in pages that are opened from disk, and nothing is fetched from elsewhere."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.rules.source import ROOT

pytestmark = pytest.mark.browser


def test_a_page_opened_from_disk_can_be_searched(chromium: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    subprocess.run(command, cwd=ROOT, check=True)
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    requests = list[str]()
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "site/howto/mix.html").as_uri())
    page.locator("input.md-search__input").click()
    page.locator("input.md-search__input").type("stale pairs")
    page.locator(".md-search-result__link[href*='refresh.html']").first.wait_for(timeout=20_000)
    assert {request.partition(":")[0] for request in requests} <= {"file", "data", "blob"}
    page.close()
