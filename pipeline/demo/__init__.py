"""The demo model: answers requests by one table of relations, with no weights, no key and no network.

It reads the fenced inputs of the prompt (`prompts.unfence`), or the bare question where there is no fence, and the tool
messages; nothing else. Its role is the name of the last tool or of the schema in the request: `propose` (generator),
`revise` (refiner), `explore` (curator), `compose` (composer), `answer` (solver), `verdict` (judge), `read`, `trace`,
`weigh`, `detect` and `skip` (reader), `write` (writer). Random choices depend on those inputs and the sample index
alone, so an answer is a pure function of what the cache keys on. It shows that every stage works: figures made with it
describe the pipeline, not the quality of data.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.types import DEMO_MODELS, PLAIN, sha256
from pipeline.types.capabilities import Capabilities

if TYPE_CHECKING:
    from pipeline.llm.base import LLM

_, _WEAK = DEMO_MODELS

_IMPORT = re.compile(r"^(?:from|import) .*\n", re.MULTILINE)


@cache
def digest() -> str:
    """The hash of all code and words that the demo model's answers depend on; part of a run's digest.

    Imports and file names are left out, so that a moved or renamed module changes no run.
    """
    here = Path(__file__).parent
    reward = here.parent / "dataset" / "shipped"
    files = [*here.glob("[a-z]*.py"), *here.glob("*.toml"), here.parent / "text.py", reward / "equality.py"]
    return sha256("".join(sorted(_IMPORT.sub("", path.read_text(encoding="utf-8")) for path in files)))


def capabilities(name: str) -> Capabilities:
    """What the demo model states of itself in the strength of that name."""
    from pipeline.demo import weak

    code = {"embedded_code": digest()} | ({"embedded_weak_code": weak.digest()} if name == _WEAK else {})
    return Capabilities(
        understands=False, limited=False, trainable=False, answer_types=PLAIN, english_only=True, code=code
    )


def model(name: str) -> "LLM":
    """The model in the strength of that name."""
    from pipeline.demo.demo_model import DemoModel
    from pipeline.demo.weak import WeakModel

    return WeakModel() if name == _WEAK else DemoModel()
