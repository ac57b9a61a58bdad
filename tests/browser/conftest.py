"""A real Chromium in front of `digsite view`, served on its own port."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from pipeline.serve.browser import create
from pipeline.serve.http_server import ServerConfig, url
from pipeline.types import Record
from pipeline.view.browsing import Runs
from tests.analysis.test_seed_rows import begin_run, export_table
from tests.hostile_texts import HOSTILE, MARKUP
from tests.records import accepted, batch, hostile
from tests.teacher_rollouts import taught

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HUGE = "W" * 4000
"""A word without a place to break it."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: .uv/bin/uv sync --group browser")
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        # The name stands for a site that has its own name resolve to this machine.
        arguments = ["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@contextmanager
def serve_runs(*folders: Path) -> Iterator[str]:
    """Serve these runs, and yield the address."""
    library = Runs([str(folder) for folder in folders], folders[0].parents[1])
    for source in library.open_named():
        source.whole()
    listening = ServerConfig(host="127.0.0.1", port=0, token_env="").bind()
    server = uvicorn.Server(uvicorn.Config(create(library), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield url(listening)
    finally:
        server.should_exit = True
        thread.join(10)
        library.close()


def copy_with_key(record: Record, n: int) -> Record:
    """Copy a record with the key that another run would give it."""
    key = f"{n:064x}"
    return record.model_copy(update={"key": key, "seed": record.seed.model_copy(update={"key": key})})


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of records of every kind, hostile ones among them; the first is export_table."""
    poisoned = [hostile(6000, " ".join(HOSTILE)), hostile(6001, " ".join(MARKUP)), hostile(6002, HUGE)]
    records = [*poisoned, taught(), *batch(60), accepted(90, rounds=3)]
    first, config = begin_run(tmp_path_factory.mktemp("first"), records)
    export_table(first, config)
    second, _ = begin_run(
        tmp_path_factory.mktemp("second"), [copy_with_key(item, n) for n, item in enumerate(records[:40])]
    )
    return [first, second]


@pytest.fixture(scope="session")
def address(runs: list[Path]) -> Iterator[str]:
    with serve_runs(*runs) as url:
        yield url


Opened = Callable[..., Any]


@pytest.fixture
def open_page(chromium: Any, address: str) -> Iterator[Opened]:
    """Return `open_page(path, width=…, dark=…)`. Console errors and foreign requests fail it unless `failing`."""
    contexts, complaints = [], list[str]()

    def show(path: str, *, width: int = 1280, dark: bool = False, failing: bool = False) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": 844}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        if failing:
            page.goto(address + path)
            return page
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: None if request.url.startswith(address) else complaints.append(request.url))
        page.goto(address + path)
        return page

    yield show
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def places(address: str, runs: list[Path]) -> dict[str, str]:
    """Return the path of every page by its name."""
    library = Runs([str(folder) for folder in runs], runs[0].parents[1])
    slug = library.open_named()[0].slug
    library.close()
    keys = {name: record.key for name, record in {
        "hostile": hostile(6000), "markup": hostile(6001), "huge": hostile(6002), "distractors": taught(),
    }.items()}  # fmt: skip
    return {
        "start": "/",
        "items": f"/{slug}/items",
        "overview": f"/{slug}/overview",
        "review": f"/{slug}/review",
        "judge": f"/{slug}/review?by=Ada",
        "missing": f"/{slug}/nothing",
        **{name: f"/{slug}/items/{key}" for name, key in keys.items()},
    }
