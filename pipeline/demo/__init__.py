"""The demo model answers requests by one table of relations, without weights, key or network.

It reads the fenced inputs of the prompt (`prompts.unfence`), or the bare question if there is no fence, and the tool
messages; nothing else. Its role is the name of the last tool or of the schema in the request: `propose` (generator),
`revise` (refiner), `explore` (curator), `compose` (composer), `answer` (solver), `verdict` (judge), `read`, `steps`,
`weigh`, `choose` and `detect` (reader), `wordings` and `write` (writer). Random choices depend on those inputs and the
sample index alone, so an answer is a pure function of the key of the cache. The demo model shows that every stage
works: figures made with it describe the pipeline, not the quality of data.
"""

from typing import TYPE_CHECKING

from pipeline.types import DEMO_MODELS
from pipeline.types.capabilities import Capabilities

if TYPE_CHECKING:
    from pipeline.llm.base import LLM

_, _WEAK = DEMO_MODELS

VERSION = 3
"""Part of a run's digest: raise it whenever an answer of the demo model changes (`tests/demo/test_version.py`)."""


def capabilities() -> Capabilities:
    return Capabilities(understands=False, limited=False, trainable=False, english_only=True, version=VERSION)


def model(name: str) -> "LLM":
    """Build the demo model of that name, normal or weak."""
    from pipeline.demo.role_dispatch import DemoModel  # start-up time
    from pipeline.demo.weak import WeakModel

    return WeakModel() if name == _WEAK else DemoModel()
