"""The demo model: answers requests by one table of relations, with no weights, no key and no network.

It reads the fenced inputs of the prompt (`prompts.unfence`), or the bare question where there is no fence, and the tool
messages; nothing else. Its role is the name of the last tool or of the schema in the request: `propose` (generator),
`revise` (refiner), `explore` (curator), `compose` (composer), `answer` (solver), `verdict` (judge), `read`, `trace`,
`weigh`, `detect` and `skip` (reader), `write` (writer). Random choices depend on those inputs and the sample index
alone, so an answer is a pure function of what the cache keys on. It shows that every stage works: figures made with it
describe the pipeline, not the quality of data.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.types import DEMO_MODELS, PLAIN, sha256
from pipeline.types.capabilities import Capabilities

if TYPE_CHECKING:
    from pipeline.llm.base import LLM

_, _WEAK = DEMO_MODELS

_IMPORT = re.compile(r"^(?:from|import) .*\n", re.MULTILINE)


_HERE = Path(__file__).parent


@cache
def digest() -> str:
    """The hash of all code and words that the answers of the strong demo model depend on; part of a run's digest."""
    words = [_HERE.parent / "text" / "__init__.py", _HERE.parent / "reward" / "equality.py", *_HERE.glob("*.toml")]
    return _hash([*words, *(path for path in _HERE.glob("[a-z]*.py") if path.name != "weak.py")])


@cache
def weak_digest() -> str:
    """The hash of what the weaker strength adds."""
    return _hash([_HERE / "weak.py"])


def _hash(files: Iterable[Path]) -> str:
    """Imports and file names are left out, so that a moved or renamed module changes no run."""
    return sha256("".join(sorted(_IMPORT.sub("", path.read_text(encoding="utf-8")) for path in files)))


def capabilities(name: str) -> Capabilities:
    """What the demo model states of itself in the strength of that name."""
    code = {"embedded_code": digest()} | ({"embedded_weak_code": weak_digest()} if name == _WEAK else {})
    return Capabilities(
        understands=False, limited=False, trainable=False, answer_types=PLAIN, english_only=True, code=code
    )


def model(name: str) -> "LLM":
    """The model in the strength of that name."""
    from pipeline.demo.role_dispatch import DemoModel
    from pipeline.demo.weak import WeakModel

    return WeakModel() if name == _WEAK else DemoModel()
