"""The files that are copied into `code/` of a data set. They import only the standard library and one another.

`standalone` puts the imported modules and tables in the place of the imports. All other packages may import this one.
"""

import re
from pathlib import Path

_HOME = Path(__file__).parent
_MODULE = re.compile(r"^from pipeline\.reward\.(\w+) import .+\n", re.MULTILINE)
_TABLE = re.compile(r'\btable\("(\w+)"\)')
_IMPORT = "from pipeline.reward import table\n"


def table(name: str) -> str:
    return (_HOME / f"{name}.txt").read_text(encoding="utf-8")


def standalone(name: str, included: set[str] | None = None) -> str:
    """Return the text of a file of this folder with everything it imports from here included once.

    Args:
        within: the files that the text includes already; names are added to it.
    """
    included = set() if included is None else included
    if name in included:
        return ""
    included.add(name)
    text = (_HOME / name).read_text(encoding="utf-8").replace(f"{_IMPORT}\n", "").replace(_IMPORT, "")
    text = _TABLE.sub(lambda match: f'"""\n{table(match[1])}"""', text)
    return _MODULE.sub(lambda match: standalone(f"{match[1]}.py", included), text)
