"""What a check of a draft is: one file of this folder, which holds all that is said of it.

The first line of its docstring says for glossary, card and report what it looks for; `CHECK` holds the rest. A file
that is put here is listed in the settings, asked in its turn, and told of in feedback and by `check`.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

from pipeline import registry
from pipeline.agents.cited import Evidence
from pipeline.context import RunContext
from pipeline.retrieval.base import Retriever
from pipeline.types import Cause, Data, Draft, Finding, Probe, Searched

ALL_STAY = "All hops may stay."
"""How an advice ends that no hop is changed for."""
_LONGEST = 80
"""Characters that are quoted of what a check saw."""


class Stage(IntEnum):
    """When a check is made. Checks of one stage are made together, and a fatal finding ends with it; only those of
    `READ` are made one after another, until the first fatal one."""

    SOUND = 1
    """Is the draft what it says it is? Fatal, and needs no search."""
    LONG = 2
    """Has it as many hops as its target? Fatal."""
    ALONE = 3
    """Is its answer the only one? Fatal."""
    SHORT = 4
    """Can fewer searches do? Fatal where fewer hops remain than the target asks for; what a search finds is looked for
    by every retriever of the audit."""
    NAMED = 5
    """A reader says which names mean one thing, where nothing else sends the draft back."""
    READ = 6
    """A reader is asked; `checks.run` says by which of them."""
    TRIED = 7
    """What rollouts agree on is looked at."""


class Case(NamedTuple):
    """A draft, and what a check that asks no model may look at."""

    draft: Draft
    evidence: Evidence
    retriever: Retriever
    k: int
    target: int
    linked: frozenset[int] = frozenset()
    """The hops that are about the answer before them by a reader's word, whatever they call it."""


class Found(NamedTuple):
    """What is wrong with a draft, and with which of its hops."""

    detail: str
    hops: tuple[int, ...] = ()
    searches: tuple[Searched, ...] = ()

    def finding(self, check: str, cause: Cause, *, fatal: bool = True) -> Finding:
        return Finding(check=check, cause=cause, fatal=fatal, **self._asdict())


class CheckResult(Data):
    """What readers were asked, and what is wrong with the draft by it."""

    probes: tuple[Probe, ...] = ()
    findings: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = ()
    """Checks whose reader said nothing readable."""
    again: bool = False
    """Was it all said before, so that nothing was asked for it?"""

    def __add__(self, other: "CheckResult") -> "CheckResult":
        return CheckResult(
            probes=self.probes + other.probes,
            findings=self.findings + other.findings,
            unread=self.unread + other.unread,
        )


Look = Callable[[Case], Coroutine[Any, Any, Found | None]]
Ask = Callable[[Draft, int, RunContext], Coroutine[Any, Any, CheckResult]]


class Meaning(NamedTuple):
    """What a user and an author are told of a check, or of something else that it finds."""

    gloss: str
    advice: str = ""
    """The one thing to change; empty: what its cause says."""
    told: Callable[[Probe], str] = lambda probe: ""
    """What its reader answered, where nothing was found; empty: its answers, and whether they were right."""


@dataclass(frozen=True)
class DraftCheck:
    """What a file says of its check. One has `look` or, where a model is asked, `ask`."""

    stage: Stage
    place: int
    """Its turn within the stage."""
    cause: Cause
    _: KW_ONLY
    look: Look | None = None
    ask: Ask | None = None
    at_once: Ask | None = None
    """What an author is told of a draft that other checks send back already, so that it can mend all at once."""
    advice: str = ""
    told: Callable[[Probe], str] = lambda probe: ""
    wording: bool = False
    """Does it judge how the question is worded, or what its words give away, so that other words would mend it?"""
    further: Mapping[str, Meaning] = field(default_factory=dict)
    """What else it asks or finds, by the name under which findings and probes have it."""


def known() -> dict[str, DraftCheck]:
    """All checks by name, in the order in which they are made."""
    return _loaded(tuple(registry.names("checks")))[0]


def meanings() -> dict[str, Meaning]:
    """What is told of each check and of all else that they find, by name."""
    return _loaded(tuple(registry.names("checks")))[1]


@cache
def _loaded(names: tuple[str, ...]) -> tuple[dict[str, DraftCheck], dict[str, Meaning]]:
    files = {name: registry.load("checks", name) for name in names}
    files = dict(sorted(files.items(), key=lambda one: (one[1].CHECK.stage, one[1].CHECK.place)))
    told: dict[str, Meaning] = {}
    for name, file in files.items():
        told |= {name: Meaning(file.__doc__.split("\n")[0], file.CHECK.advice, file.CHECK.told), **file.CHECK.further}
    return {name: file.CHECK for name, file in files.items()}, told


def quoted(texts: Iterable[str]) -> str:
    return " and ".join(f"'{short(text)}'" for text in dict.fromkeys(texts))


def short(text: str) -> str:
    """As much of a text as tells which one is meant."""
    said = " ".join(text.split())
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
