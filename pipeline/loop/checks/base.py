"""The contract of a check that asks a reader about a draft: one file of this folder.

The first line of a file's docstring is shown in glossary, card and report; `CHECK` holds everything else. A new file
appears in the settings and runs in its turn. Free checks are in `loop/graph_review.py` and `loop/wording_review.py`.
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Any, NamedTuple

from pipeline import registry
from pipeline.context import RunContext
from pipeline.types import Cause, Data, Draft, Finding, Probe


class CheckResult(Data):
    """The readers' answers about a draft, and the problems that they show."""

    probes: tuple[Probe, ...] = ()
    findings: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = ()
    """Checks whose reader gave no readable answer."""
    again: bool = False
    """Whether the result comes from memory, so that no reader was called."""

    def __add__(self, other: "CheckResult") -> "CheckResult":
        return CheckResult(
            probes=self.probes + other.probes,
            findings=self.findings + other.findings,
            unread=self.unread + other.unread,
        )


Ask = Callable[[Draft, RunContext], Coroutine[Any, Any, CheckResult]]


class Meaning(NamedTuple):
    """How a check, or one of its further findings, is described to users and to the generator."""

    gloss: str
    describe: Callable[[Probe], str] = lambda probe: ""
    """Describe the reader's answer if there is no finding. An empty text stands for the usual description: the answers,
    and whether they were right."""


@dataclass(frozen=True)
class DraftCheck:
    """The definition of a check."""

    place: int
    """The position among the checks; cheap ones come first."""
    cause: Cause
    ask: Ask | None
    """Ask the reader before any rollout. None for a check that needs rollouts."""
    _: KW_ONLY
    describe: Callable[[Probe], str] = lambda probe: ""
    further: Mapping[str, Meaning] = field(default_factory=dict)
    """Further questions or findings of the check, by the name in their findings and probes."""


_REVIEWS = {
    "graph": Meaning(
        "A step is not stated where it is cited, decides nothing or can be skipped, or one search finds the evidence.",
        lambda probe: f"a reader of the steps said: {'; '.join(probe.answers)}",
    ),
    "wording": Meaning("The question asks nothing, names what is to be found, or one search with it finds the answer."),
    "naturalness": Meaning(
        "A reader grades the wording from 1 to 5; a grade below `checks.naturalness` sends it back.",
        lambda probe: f"graded {', '.join(probe.answers)} of 5, which is enough",
    ),
    "undated": Meaning("The reader who grades the wording says that the answer changes with time; no date is named."),
}
"""The reviews of graph and wording, by the name of their findings and probes."""


def load_checks() -> dict[str, DraftCheck]:
    """Return all checks by name, in the order in which they run."""
    return _load(tuple(registry.names("checks")))[0]


def load_meanings() -> dict[str, Meaning]:
    return _load(tuple(registry.names("checks")))[1]


@cache
def _load(names: tuple[str, ...]) -> tuple[dict[str, DraftCheck], dict[str, Meaning]]:
    checks = {name: registry.instance("checks", name, DraftCheck) for name in names}
    checks = dict(sorted(checks.items(), key=lambda entry: entry[1].place))
    meanings = dict(_REVIEWS)
    for name, check in checks.items():
        meanings |= {name: Meaning(registry.describe("checks", name), check.describe), **check.further}
    return checks, meanings
