"""What a check by a reader is: one file of this folder, which holds all that is told of it.

The first line of its docstring says for glossary, card and report what it looks for; `CHECK` holds the rest. A file
that is put here is listed in the settings and asked in its turn. What costs nothing is looked for in
`loop/graph_review.py` and `loop/wording_review.py`.
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Any, NamedTuple

from pipeline import registry
from pipeline.context import RunContext
from pipeline.types import Cause, Data, Draft, Finding, Probe


class CheckResult(Data):
    """What readers were asked, and what is wrong with the draft by it."""

    probes: tuple[Probe, ...] = ()
    findings: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = ()
    """Checks whose reader gave nothing readable."""
    again: bool = False
    """Whether the draft was examined before, so that no reader was asked now."""

    def __add__(self, other: "CheckResult") -> "CheckResult":
        return CheckResult(
            probes=self.probes + other.probes,
            findings=self.findings + other.findings,
            unread=self.unread + other.unread,
        )


Ask = Callable[[Draft, RunContext], Coroutine[Any, Any, CheckResult]]


class Meaning(NamedTuple):
    """What a user and a generator are told of a check, or of something else that it finds."""

    gloss: str
    describe: Callable[[Probe], str] = lambda probe: ""
    """Describe what its reader answered, if nothing was found; empty: its answers, and whether they were right."""


@dataclass(frozen=True)
class DraftCheck:
    """What a file says of its check."""

    place: int
    """Its turn: cheap checks first."""
    cause: Cause
    ask: Ask | None
    """Ask the reader, before any rollout; None for a check of what rollouts agree on."""
    _: KW_ONLY
    describe: Callable[[Probe], str] = lambda probe: ""
    further: Mapping[str, Meaning] = field(default_factory=dict)
    """What else it asks or finds, by the name under which findings and probes have it."""


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
"""What the reviews of graph and wording look for, by the name of their findings and probes."""


def known() -> dict[str, DraftCheck]:
    """Return all checks by name, in the order in which they are made."""
    return _load(tuple(registry.names("checks")))[0]


def meanings() -> dict[str, Meaning]:
    """Return what is told of each review and check and of all else that they find, by name."""
    return _load(tuple(registry.names("checks")))[1]


@cache
def _load(names: tuple[str, ...]) -> tuple[dict[str, DraftCheck], dict[str, Meaning]]:
    files = {name: registry.load("checks", name) for name in names}
    files = dict(sorted(files.items(), key=lambda entry: entry[1].CHECK.place))
    meanings = dict(_REVIEWS)
    for name, file in files.items():
        meanings |= {name: Meaning(file.__doc__.split("\n")[0], file.CHECK.describe), **file.CHECK.further}
    return {name: file.CHECK for name, file in files.items()}, meanings
