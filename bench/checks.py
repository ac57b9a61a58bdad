"""Does the tool `check` keep its promise? How often authors called it, and what became of the drafts that it let pass.

A draft that it let pass and that one of the checks made in it then sent back is a promise broken: by a draft that was
changed after, which is not counted, or where several findings together leave too few hops.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from bench.common import dug, heading, share, table
from pipeline.agents.parse import parse
from pipeline.agents.tools import CHECK, ComposeArguments
from pipeline.errors import FormatError
from pipeline.loop.draft_check import PASSED
from pipeline.types import Record, Round, Trajectory

LATER = frozenset({"closed_book", "naive_rag", "oracle", "leave_one_out", "alternatives"})
"""The checks of the audit that are not made in it."""


def fate(past: Round) -> str:
    """What became of a draft that the last check before it had let pass; nothing of any other."""
    if past.draft is None or not _passed(past.agent):
        return ""
    fatal = next((finding.check for finding in past.findings if finding.fatal), "")
    if fatal:
        return "sent back by a later reader" if fatal in LATER else "sent back by what was checked"
    return "sent back by rollouts" if past.feedback else "candidate"


def _passed(agent: Trajectory) -> bool:
    asked = {call.id: call.arguments for m in agent.messages for call in m.tool_calls if call.name == CHECK}
    told = [m for m in agent.messages if m.role == "tool" and m.tool_call_id in asked]
    if agent.final and agent.final in {asked[i] for i in asked.keys() - {m.tool_call_id for m in told}}:
        return True  # taken as it was
    given = _draft(agent.final)
    same = [m.content for m in told if given is not None and _draft(asked[m.tool_call_id]) == given]
    return bool(same) and same[-1].startswith(PASSED)


def _draft(arguments: str) -> object:
    """What a check looks at of a draft; None where it cannot be read."""
    try:
        said = parse(ComposeArguments, arguments)
    except FormatError:
        return None
    return said.model_dump(exclude={"negative_aspect", "family"})


def calls(past: Round) -> int:
    return sum(call.name == CHECK for message in past.agent.messages for call in message.tool_calls)


def counted(records: Iterable[Record]) -> dict[str, Counter[str]]:
    """By whether the author proposed or revised."""
    total: dict[str, Counter[str]] = {"propose": Counter(), "revise": Counter()}
    for past in (past for record in records for past in record.rounds):
        count = total["revise" if past.index else "propose"]
        count["conversations"] += 1
        count["calls of check"] += calls(past)
        count["let pass"] += bool(fate(past))
        count[fate(past)] += 1
    return total


def main(options: argparse.Namespace) -> bool:
    run = dug(options.run, options.out)
    total = counted(run.records)
    kinds = ("candidate", "sent back by rollouts", "sent back by a later reader", "sent back by what was checked")
    head = ("", "conversations", "calls of check", "let pass", *kinds)
    print(heading("checks", run.records))
    print(table(head, [(name, *(count[kind] for kind in head[1:])) for name, count in total.items()]))
    broken, passed = (sum(count[kind] for count in total.values()) for kind in (kinds[-1], "let pass"))
    print(f"promises broken: {share(broken, passed)}")
    return not broken


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", default="wiki/latest")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if main(parser.parse_args()) else 1)
