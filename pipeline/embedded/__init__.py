"""The demo model: answers requests by one table of relations, with no weights, no key and no network.

It reads the fenced inputs of the prompt (`prompts.unfence`), or the bare question where there is no fence, and the tool
messages; nothing else. Its role is the name of the last tool or of the schema in the request: `propose` (generator),
`revise` (refiner), `explore` (curator), `compose` (composer), `answer` (solver), `verdict` (judge), `read`, `trace`,
`weigh`, `detect` and `skip` (reader), `write` (writer). Random choices depend on those inputs and the sample index
alone, so an answer is a pure function of what the cache keys on. It shows that every stage works: figures made with it
describe the pipeline, not the quality of data.
"""

from functools import cache
from pathlib import Path

from pipeline.types import sha256


@cache
def digest() -> str:
    """The hash of all code and words that the demo model's answers depend on; part of a run's digest."""
    here = Path(__file__).parent
    files = [
        *sorted((*here.glob("*.py"), *here.glob("*.toml"))),
        here.parent / "text" / "__init__.py",
        here.parent / "reward" / "equality.py",
    ]
    return sha256("".join(path.read_text(encoding="utf-8") for path in files))
