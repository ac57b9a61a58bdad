"""The embedded model: `complete(request)` by rules and lexical statistics, with no weights, no key and no network.

It reads the fenced inputs of the prompt (`prompts.unfence`), or the bare question where there is none, and the tool
messages; nothing else. Its role is the name of the last tool or of the schema that it is offered: `propose`
(generator), `revise` (refiner), `explore` (curator), `compose` (composer), `answer` (solver), `verdict` (judge), `read`
and `weigh` (reader), `write` (writer). Its chance is drawn from those inputs and the sample index alone, so an answer
is a pure function of what the cache keys on. It is weak, honest and deterministic: a figure made with it is a figure
of the loop, not of the data.
"""

from functools import cache
from pathlib import Path

from pipeline.types import sha256


@cache
def digest() -> str:
    """Of all code that the embedded model's answers rest on; part of a run's digest."""
    here = Path(__file__).parent
    files = [*sorted((*here.glob("*.py"), *here.glob("*.toml"))), here.parent / "text.py"]
    return sha256("".join(path.read_text(encoding="utf-8") for path in files))
