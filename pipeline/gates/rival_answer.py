"""Questions with a second valid answer: another passage answers the last hop differently.

It checks the passages that the agents saw: a search for the answer retrieves its rivals too.
"""

from pipeline.agents.tools import all_shown
from pipeline.config.exports import GateConfig
from pipeline.gates.base import Gate
from pipeline.loop.rival_answer import find_other_answer
from pipeline.types import Draft, Record, shown_id


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    if (last := record.last) is None:
        return ""
    rollouts = (*record.confirmation, *last.rollouts)
    shown = all_shown([last.agent, *(rollout.trajectory for rollout in rollouts)])
    rival = find_other_answer(draft, {shown_id(hop.passage_id) for hop in draft.hops}, shown.values())
    return f"'{rival[0].title}' gives another answer to its last step" if rival else ""


GATE = Gate(check)
