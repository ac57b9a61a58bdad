"""`python -m docs.pictures`: make the pictures of the documents anew, from a run in a terminal, its report and its pages.

It needs Chromium (`apt-get install chromium`) and two minutes. The terminal is drawn by rich, the pages by Chromium.
"""

import io
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx2
from rich.console import Console
from rich.text import Text

from tests.server_process import COMMAND, serving

FOLDER = Path(__file__).parent / "pictures"
COLUMNS = 100
RUN = ["generate", "wiki", "--pairs", "8", "--no-flow"]
CHROMIUM = (
    "--headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "outputs"
        terminal(RUN, FOLDER / "terminal.svg", folder)
        shot((out / "wiki" / "latest" / "report.html").as_uri(), FOLDER / "report.png", (1100, 900))
        with serving("view", "latest", "--out", out) as (_, address):
            items = str(httpx2.get(address.split()[-1], follow_redirects=True).url)
            shot(items, FOLDER / "items.png", (1200, 680))
            shot(items.removesuffix("items") + "overview", FOLDER / "overview.png", (1200, 900))
            shot(items.removesuffix("items") + "review?by=Ada", FOLDER / "review.png", (1200, 680))
    for path in sorted(FOLDER.iterdir()):
        print(f"{path.stat().st_size / 1000:6.0f} kB  {path.name}")


def terminal(arguments: list[str], into: Path, folder: str) -> None:
    """Draw what a terminal shows at the end of a command, as SVG."""
    shown = screen(typed([*COMMAND, *arguments], folder))
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(f"$ digsite {' '.join(arguments)}\n{shown}"))
    drawn = console.export_svg(title="digsite")
    # The font is not fetched from elsewhere, as rich's own drawing would have it.
    into.write_text(re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL), encoding="utf-8")


def typed(command: list[str], folder: str) -> str:
    """Run a command in a folder, and return all that it writes to a terminal."""
    mine, its = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": "40"}
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment, cwd=folder)
    os.close(its)
    written = b""
    try:
        while part := os.read(mine, 65536):
            written += part
    except OSError:  # the other side is closed
        pass
    if process.wait():
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return written.decode()


def screen(written: str) -> str:
    """Return the lines that remain on the screen: rich goes up and clears a line before it writes it anew."""
    lines = [""]
    for part in re.split(r"(\n|\r|\x1b\[2K|\x1b\[1A|\x1b\[\?25[hl])", written):
        if part == "\n":
            lines.append("")
        elif part == "\x1b[2K":
            lines[-1] = ""
        elif part == "\x1b[1A" and len(lines) > 1:
            lines.pop()
        elif part not in ("\r", "\x1b[?25h", "\x1b[?25l"):
            lines[-1] += part
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def shot(address: str, into: Path, size: tuple[int, int]) -> None:
    """Take a picture of a page."""
    chromium = shutil.which("chromium") or sys.exit("chromium is missing: apt-get install chromium")
    with tempfile.TemporaryDirectory() as profile:
        options = [f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}", f"--screenshot={into}"]
        subprocess.run([chromium, *CHROMIUM, *options, address], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
