"""Why a seed ended as it did: a code, with a detail for some codes."""

from enum import StrEnum
from typing import NamedTuple


class ReasonCode(StrEnum):
    """The codes that are not the `Cause` of a draft's feedback."""

    RELAXED = "relaxed"
    """Accepted although too easy, as the preset allows after the last round."""
    BEYOND_SOLVER = "beyond_solver"
    """No rollout was correct, but a reader with the evidence was."""
    BELOW_RANGE = "below_range"
    BELOW_TARGET = "below_target"
    OUTSIDE_BAND = "outside_band"
    UNCONFIRMED = "unconfirmed"
    RECALLED = "recalled"
    UNGROUNDED = "ungrounded"
    NO_DRAFT = "no_draft"
    """Without a detail, the generator gave up. Its details are `NoDraft`."""
    NO_VERDICT = "no_verdict"
    DEADLINE = "deadline"
    REFUSED = "refused"
    """The server refused a request."""
    GATE = "gate"
    """A gate dropped the accepted pair; the detail is its name. Only data set and report contain it."""


class NoDraft(StrEnum):
    """What ended a generator before it had a draft."""

    FORMAT_ERRORS = "format_errors"
    NO_PROPOSAL = "no_proposal"
    LIMITS = "limits"


class Reason(NamedTuple):
    """A reason. Files hold its text, such as `no_draft:limits`, which is empty for most accepted seeds."""

    code: str
    """A `ReasonCode` or a `Cause`."""
    detail: str = ""

    @classmethod
    def parse(cls, text: str) -> "Reason":
        code, _, detail = text.partition(":")
        return cls(code, detail)

    def __str__(self) -> str:
        return f"{self.code}:{self.detail}" if self.detail else str(self.code)

    @property
    def is_inconclusive(self) -> bool:
        """Return whether a model or server failed, so that the seed shows nothing about the corpus."""
        is_cut_off = self.code == ReasonCode.NO_DRAFT and bool(self.detail)
        return is_cut_off or self.code in (ReasonCode.NO_VERDICT, ReasonCode.REFUSED)
