"""In a real browser no text of the corpus acts, every page fits the window, and keys work."""

import re
from pathlib import Path
from typing import Any

import pytest

from pipeline.store import review_marks
from tests.browser.conftest import Opened

pytestmark = pytest.mark.browser
PAGES = (
    "start", "items", "overview", "review", "judge", "hostile", "markup", "huge", "distractors",
)  # fmt: skip
_FAINT = (Path(__file__).parent / "faint.js").read_text(encoding="utf-8")


def open_all(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.wait_for_timeout(50)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_no_wider_than_the_window(open_page: Opened, places: dict[str, str], name: str, width: int) -> None:
    page = open_page(places[name], width=width)
    for _ in range(2):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        open_all(page)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_text_stands_out_from_what_is_behind_it(
    open_page: Opened, places: dict[str, str], name: str, dark: bool
) -> None:
    page = open_page(places[name], dark=dark)
    open_all(page)
    assert page.evaluate(_FAINT) == []


@pytest.mark.parametrize("name", ["hostile", "markup"])
def test_what_the_corpus_wrote_does_not_act(open_page: Opened, places: dict[str, str], name: str) -> None:
    page = open_page(places[name])
    open_all(page)
    assert page.evaluate("document.querySelectorAll('main script, main img, main iframe, main style').length") == 0
    assert page.title()


def test_filters_search_and_order_change_the_rows_and_the_address(open_page: Opened, places: dict[str, str]) -> None:
    page = open_page(places["items"])
    unfiltered_status = page.locator("[role=status]").inner_text()
    page.locator("summary", has_text="Status").click()
    page.locator("label", has_text="failed").click()
    page.wait_for_function("() => location.search.includes('status=failed')")
    assert set(page.locator("td .status").all_inner_texts()) == {"failed"}
    address = page.url
    page.locator(".chips a", has_text="failed").click()
    page.wait_for_load_state()
    assert page.locator("[role=status]").inner_text() == unfiltered_status
    page.go_back()
    assert page.url == address
    page.keyboard.press("/")
    page.keyboard.type("suspension bridge")
    page.wait_for_function("() => location.search.includes('q=suspension+bridge')")


def test_keys_lead_through_items_and_back(open_page: Opened, places: dict[str, str]) -> None:
    page = open_page(places["items"])
    rows = page.locator("table.items tbody tr td.q a")
    first, second = (rows.nth(n).get_attribute("href").split("?")[0] for n in (0, 1))
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{first}*")
    page.keyboard.press("j")
    page.wait_for_url(f"**{second}*")
    page.keyboard.press("k")
    page.wait_for_url(f"**{first}*")
    page.keyboard.press("Escape")
    page.wait_for_url("**/items*")
    assert re.search(r"/items(\?.*)?$", page.url)


def test_a_bar_leads_to_its_items(open_page: Opened, places: dict[str, str]) -> None:
    page = open_page(places["overview"])
    cell = page.locator(".matrix td a").first
    number = cell.inner_text()
    cell.click()
    page.wait_for_url("**/items?*")
    assert page.locator("[role=status] b").inner_text() == number


def test_pairs_are_marked_by_keyboard_and_kept_as_you_go(
    open_page: Opened, places: dict[str, str], runs: list[Path]
) -> None:
    page = open_page(places["review"])
    page.locator("#by").fill("Grace Hopper")
    page.keyboard.press("Enter")
    page.wait_for_url("**/review/*")
    key = page.url.split("/")[-1].split("?")[0]

    def read_mark() -> object:
        stored_mark = review_marks.read(runs[0]).get((key, "Grace Hopper"))
        return stored_mark and (stored_mark.right, stored_mark.unique, stored_mark.natural, stored_mark.note)

    for pressed, expected in (
        ("r", (True, None, None, "")),
        ("U", (True, False, None, "")),
        ("n", (True, False, True, "")),
        ("U", (True, None, True, "")),
    ):
        with page.expect_response(lambda response: response.request.method == "POST"):
            page.keyboard.press(pressed)
        assert read_mark() == expected
        page.wait_for_function("() => document.getElementById('kept').textContent.startsWith('Kept')")
    page.keyboard.press("c")
    page.keyboard.type("a note, with r and n")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    page.wait_for_function("(key) => !location.pathname.endsWith(key)", arg=key)
    page.wait_for_load_state()
    assert read_mark() == (True, True, True, "a note, with r and n")
    position = page.locator(".moves").inner_text()
    assert "2 of" in position
    page.keyboard.press("k")
    page.wait_for_url(f"**/{key}*")
    page.locator("#mark").wait_for()
    assert page.locator("#note").input_value() == "a note, with r and n"


def test_a_mark_that_could_not_be_kept_is_said(open_page: Opened, places: dict[str, str]) -> None:
    page = open_page(places["judge"], failing=True)
    page.route("**/review/*", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    page.keyboard.press("r")
    page.wait_for_function("() => document.getElementById('kept').textContent.startsWith('Not kept')")


def test_the_pages_work_without_scripts(chromium: Any, address: str, places: dict[str, str]) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address + places["items"] + "?status=accepted")
    page.locator("table.items tbody tr td.q a").first.click()
    assert page.locator("h1.question").is_visible()
    page.goto(address + places["review"])
    page.locator("button", has_text="Begin").click()
    page.locator("label.yes").first.click()
    page.locator("button[name=go]").click()
    assert page.locator("#mark").is_visible()
    context.close()
