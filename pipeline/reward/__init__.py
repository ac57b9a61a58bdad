"""Holds the files that are copied into `code/` of a data set: they import the standard library and one another.

`standalone` puts the modules and tables that a file imports from here in their place. All other packages may import it.
"""

import re
from pathlib import Path

_HOME = Path(__file__).parent
_MODULE = re.compile(r"^from pipeline\.reward\.(\w+) import .+\n", re.MULTILINE)
_TABLE = re.compile(r'\btable\("(\w+)"\)')
_IMPORT = "from pipeline.reward import table\n"


def table(name: str) -> str:
    """The rows of a data file, a line each."""
    return (_HOME / f"{name}.txt").read_text(encoding="utf-8")


def standalone(name: str, within: set[str] | None = None) -> str:
    """The text of a file of this folder, as it is copied; a module that several import stands in it once."""
    within = set() if within is None else within
    if name in within:
        return ""
    within.add(name)
    text = (_HOME / name).read_text(encoding="utf-8").replace(f"{_IMPORT}\n", "").replace(_IMPORT, "")
    text = _TABLE.sub(lambda found: f'"""\n{table(found[1])}"""', text)
    return _MODULE.sub(lambda found: standalone(f"{found[1]}.py", within), text)
