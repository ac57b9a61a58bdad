"""Does the tool `check` keep its promise? How often authors called it, and what became of the drafts that it let pass.

A draft that it let pass and that the audit then sent back is a promise broken: a reader that said nothing readable was
asked again.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from bench.common import dug, heading, share, table
from pipeline.agents.tools import CHECK
from pipeline.types import Record, Round, Trajectory


def fate(past: Round) -> str:
    """What became of a draft that the last check before it had let pass; nothing of any other."""
    if past.draft is None or not _passed(past.agent):
        return ""
    fatal = next((finding.check for finding in past.findings if finding.fatal), "")
    if fatal:
        return "sent back by rollouts" if fatal == "alternatives" else "sent back by what was checked"
    return "sent back by rollouts" if past.feedback else "candidate"


def _passed(agent: Trajectory) -> bool:
    """Did a check take the draft as it was? Then nothing was answered to that call."""
    asked = {call.id: call.arguments for m in agent.messages for call in m.tool_calls if call.name == CHECK}
    answered = {m.tool_call_id for m in agent.messages if m.role == "tool"}
    return bool(agent.final) and agent.final in {asked[i] for i in asked.keys() - answered}


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
    kinds = ("candidate", "sent back by rollouts", "sent back by what was checked")
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
