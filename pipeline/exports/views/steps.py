"""`steps`: a row for each turn of a solved rollout; for SRL, and through `nemo_gym` for PivotRL in NeMo Gym.

Rules: SRL (arXiv 2510.25992) rewards an action by difflib's ratio to `target_action`, or to the best of `alternatives`:
the actions of other solved rollouts that had seen the evidence of the same hops, with their ratio to the target in
`likeness`. PivotRL (arXiv 2603.21383) trains single turns in the row format of NVIDIA-NeMo/Gym, here one JSON object,
and keeps turns whose `turn_variance` is not 0. The variances of turn and outcome are null until `digsite branch
--method pivot` measures them. `expected` are the evidence passages that the turn is the first to show.
"""

from collections import defaultdict
from difflib import SequenceMatcher

from pipeline.agents.environment_file import Environment
from pipeline.exports.branching.base import evidence_before_turns, format_action, turns
from pipeline.exports.branching.pivot import Profile, best_rollout, new_evidence, profiles
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.cleaning import demonstrations
from pipeline.exports.views.base import PROVENANCE, Rows, View, provenance, render_for_model
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(
    prompt=chat.MESSAGES, target_action=str, alternatives=[str], likeness=[float], expected=[str], step_index=int,
    n_steps=int, tried=int, turn_pass=float, turn_variance=float, outcome_pass=float, outcome_variance=float,
    tools=chat.JSON, nemo_gym=chat.JSON, **PROVENANCE,
)  # fmt: skip


def rows(record: Record, environment: Environment) -> Rows:
    best, draft = best_rollout(record), record.draft
    if best is None or draft is None:
        return
    trajectory, turn_profiles = best.rollout.trajectory, profiles(record)
    tool_turns, evidence = turns(trajectory), evidence_before_turns(draft, best.rollout)
    actions_by_evidence = defaultdict[frozenset[int], list[str]](list)
    for rollout, _ in demonstrations(record):
        if rollout.sample != best.rollout.sample:
            before_turns = evidence_before_turns(draft, rollout)
            for turn in turns(rollout.trajectory):
                actions_by_evidence[before_turns[turn.prefix]].append(format_action(turn.message))
    for index, (prefix, message) in enumerate(tool_turns, 1):
        target, profile = format_action(message), turn_profiles.get(prefix)
        alternatives = [text for text in dict.fromkeys(actions_by_evidence[evidence[prefix]]) if text != target]
        state = render_for_model(trajectory.messages[: prefix + 1], 1, environment, "solver")
        if texts := chat.dump_messages(state):
            yield {
                "prompt": texts[:-1],
                "target_action": target,
                "alternatives": alternatives,
                "likeness": [SequenceMatcher(None, text, target).ratio() for text in alternatives],
                "expected": sorted(new_evidence(draft, trajectory, message, prefix)),
                "step_index": index,
                "n_steps": len(tool_turns),
                **(profile._asdict() if profile else dict.fromkeys(Profile._fields)),
                "tools": environment.offered,
                "nemo_gym": chat.nemo_gym(state[:-1], message, environment.tools),
                **provenance(record, [*texts, environment.offered]),
            }


VIEW = View(rows, SCHEMA)
