"""`python -m docs.write`: write every page of the documents that is made from the code.

Words stand beside what they describe: an option's help, a setting's docstring, `columns.toml` for the columns. A
setting or a column without words raises KeyError, so that none is added in silence; a test compares the pages with what
this gives.
"""

from pathlib import Path

from docs import api, architecture, columns, commands, environment, settings
from pipeline.exports.card import glossary

FOLDER = Path(__file__).parent / "reference"
PAGES = {
    "commands.md": commands.page,
    "settings.md": settings.page,
    "columns.md": columns.page,
    "environment.md": environment.page,
    "api.md": api.page,
    "../glossary.md": glossary.page,
    "../concepts/architecture.md": architecture.page,
    "../concepts/architecture.svg": architecture.picture,
}


def main() -> None:
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
