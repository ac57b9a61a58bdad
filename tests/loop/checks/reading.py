"""A draft of three hops, and its checks by a reader."""

from pipeline.config import build
from pipeline.context import RunContext
from pipeline.llm.base import LLM
from pipeline.loop.checks.base import CheckResult, load_checks
from pipeline.loop.examine import examine
from pipeline.types import AnswerType, Cause, Draft
from tests.graph_drafts import chained
from tests.loop.cast import FILM, HOLM, LINEAGE, QUESTION, SHELF, TOWN
from tests.passages import hop

ALL = tuple(name for name, check in load_checks().items() if check.ask)
HOPS = (
    hop(FILM, "Ada Holm", "Who directed Lantern Bay?"),
    hop(HOLM, "Vessby", "Where was Ada Holm from?"),
    hop(TOWN, "1641", "When was Vessby founded?"),
)
DRAFT = chained(question=QUESTION, answer="1641", answer_type=AnswerType.DATE, answer_precision="year", hops=HOPS)


def make_context(llm: LLM, run: tuple[str, ...] = ALL, **values: object) -> RunContext:
    return RunContext(
        build(values={"checks": {"enabled": run, "tries": 3, "oracle_tries": 3, "naturalness": 4}, **values}),
        llm,
        SHELF,
        LINEAGE,
    )


async def run_checks(draft: Draft, target: int, run_context: RunContext) -> CheckResult:
    """Run the checks of a draft whose graph and wording were reviewed before."""
    return await examine(draft, target, run_context, review=CheckResult())


def list_causes(answer: CheckResult) -> list[tuple[str, Cause]]:
    return [(finding.check, finding.cause) for finding in answer.findings]
