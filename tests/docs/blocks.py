"""The code blocks of README and site, and a reader who types them, page by page, in an empty folder.

A block is of one of these languages: `sh` and `python` are run, `toml`, `json` and `text` are read. One with a title is
a file of that name, which later commands use; a title in `pipeline/` or `prompts/` is a plug-in. What stands
in for what a reader has and a test has not (a corpus, a model, an address) is declared here, once.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline import prompts
from tests.cli.conftest import SMALL, CommandOutput
from tests.server_process import COMMAND

ROOT = Path(__file__).parents[2]
WRITTEN = ("docs/reference/", "docs/examples/", "docs/glossary.md", "docs/reliability.md", "docs/CONSUMERS.md")
"""Pages that are made by programs."""
LANGUAGES = {"sh", "python", "toml", "json", "text"}
STANDS_IN = {
    r"\bwiki\b(?!-)": "tiny",
    r"Qwen/Qwen3-\d+B|my-org/checkpoint-\d+": "embedded",
    r"http://(localhost|one|two|other):800\d/v1": "{endpoint}",
}
"""What is typed in a test in place of what a page says: a corpus of 41 articles; the demo model, served."""
HAD = ("docs/howto/models.md", "docs/howto/corpus.md")
"""Pages whose files a reader of any page has."""
MORE = {
    "generate": [*SMALL, "--seeds", "6", "--no-flow", "--allow-removal"],
    "pilot": [*SMALL, "--pairs", "2", "--allow-removal"],
    "refresh": ["--new-pairs", "1"],
    "export": ["--allow-removal"],
    "preview": SMALL,
    "doctor": ["--no-judge", "--set", "corpus.name=tiny"],
}
"""Options that make a command short; the last of one name wins."""
SERVERS = {"serve", "serve-model", "view"}
UNDERSTOOD = {"source", "export"}
"""Commands of the shell that change nothing here."""
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n\n?)?"
    r'```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"(?:^|\s)#(?:\s.*|!.*|SBATCH.*)?$")


class Block(NamedTuple):
    page: str
    line: int
    reason: str
    """Why it is not run; empty for one that is."""
    language: str
    title: str
    text: str

    @property
    def commands(self) -> list[list[str]]:
        lines = (_COMMENT.sub("", line) for line in self.text.replace("\\\n", " ").splitlines())
        return [words for line in lines if (words := shlex.split(line.removesuffix(" &")))]


def list_pages() -> list[str]:
    top_pages = ["README.md", "CONTRIBUTING.md", "recipes/README.md", "corpora/README.md"]
    site = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))
    return [*top_pages, *(page for page in site if not page.startswith(WRITTEN))]


def read_blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, match.start()) + 1, *(match[part] or "" for part in Block._fields[2:]))
        for match in _BLOCK.finditer(text)
    ]


class Reader:
    """Types the blocks of one page, in order, in the folder that the test is in."""

    def __init__(self, digsite: Callable[..., CommandOutput], endpoint: str, patch: pytest.MonkeyPatch) -> None:
        self._digsite = digsite
        self._endpoint = endpoint
        self._patch = patch
        for block in (block for page in HAD for block in read_blocks(page) if block.title):
            self.take(block)

    def take(self, block: Block) -> None:
        text = self._substitute(block.text)
        if block.title:
            self._file(block.title, text)
        elif block.language == "python":
            done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        elif block.language == "sh":
            for words in block._replace(text=text).commands:
                self._command(words)

    def _substitute(self, text: str) -> str:
        for pattern, substitute in STANDS_IN.items():
            text = re.sub(pattern, substitute.format(endpoint=self._endpoint), text)
        return text

    def _file(self, title: str, text: str) -> None:
        Path(title).parent.mkdir(parents=True, exist_ok=True)
        Path(title).write_text(text, encoding="utf-8")
        if title.startswith("pipeline/"):
            package = import_module(Path(title).parent.as_posix().replace("/", "."))
            self._patch.setattr(package, "__path__", [*package.__path__, str(Path(title).parent.resolve())])
        if title.startswith("prompts/"):
            shutil.copytree(prompts.ROOT, "prompts", dirs_exist_ok=True)
            self._patch.setattr(prompts, "ROOT", Path("prompts").resolve())

    def _command(self, words: Sequence[str]) -> None:
        program, *arguments = words
        if program == "make":
            process = subprocess.run(["make", "-n", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
            assert process.returncode == 0, process.stderr
        elif program == "digsite" and arguments[0] in SERVERS:
            self._serve(arguments)
        elif program == "digsite":
            *arguments, into = [*arguments, ""] if ">" not in arguments else [*arguments[:-2], arguments[-1]]
            output = self._digsite(*arguments, *MORE.get(arguments[0], ()))
            assert output.code == 0, f"{shlex.join(words)}\n{output.out}\n{output.err}"
            if into:
                Path(into).write_text(output.out, encoding="utf-8")
        else:
            assert program in UNDERSTOOD, f"{program}: mark the block with why it is not run, or teach it to Reader"

    def _serve(self, arguments: Sequence[str]) -> None:
        """Start a server, which prints its address and runs until it is stopped."""
        command = [*COMMAND, *arguments, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout
                assert process.stdout.readline().startswith("http://127.0.0.1:"), shlex.join(arguments)
            finally:
                process.kill()
