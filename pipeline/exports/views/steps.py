"""`steps`: a row for each turn of a solved rollout; for SRL, and through `nemo_gym` for PivotRL in NeMo Gym.

Rules: SRL (arXiv 2510.25992) rewards an action by difflib's ratio to `target_action`, or to the best of
`alternatives`: what other solved rollouts did with the same hops known, with their ratio to the target in `likeness`.
PivotRL (arXiv 2603.21383) trains single turns by the row contract of NVIDIA-NeMo/Gym, here one JSON object, and keeps
turns of which `turn_variance` is not 0; that and the variance of the outcome are null until `digsite branch --method
pivot` has asked. `expected` are the passages of the evidence that the turn is the first to show.
"""

from difflib import SequenceMatcher

from pipeline.agents.environment_file import Environment
from pipeline.exports.branching.base import progress, turns, written
from pipeline.exports.branching.pivot import Profile, best, brought, profiles
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.cleaning import demonstrations
from pipeline.exports.views.base import PROVENANCE, Rows, ViewOptions, provenance, shown
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(
    prompt=chat.MESSAGES, target_action=str, alternatives=[str], likeness=[float], expected=[str], step_index=int,
    n_steps=int, tried=int, turn_pass=float, turn_variance=float, outcome_pass=float, outcome_variance=float,
    tools=chat.JSON, nemo_gym=chat.JSON, **PROVENANCE,
)  # fmt: skip
OPTIONS = ViewOptions()


def rows(record: Record, environment: Environment) -> Rows:
    chosen, draft = best(record), record.draft
    if chosen is None or draft is None:
        return
    trajectory, asked = chosen.rollout.trajectory, profiles(record)
    made, known = turns(trajectory), progress(draft, chosen.rollout)
    solved = [rollout for rollout, _ in demonstrations(record)]
    others = [(rollout, progress(draft, rollout)) for rollout in solved if rollout.sample != chosen.rollout.sample]
    for index, (prefix, message) in enumerate(made, 1):
        target, profile = written(message), asked.get(prefix)
        found = [written(m) for r, at in others for p, m in turns(r.trajectory) if at[p] == known[prefix]]
        alternatives = [text for text in dict.fromkeys(found) if text != target]
        state = shown(trajectory.messages[: prefix + 1], 1, environment, "solver")
        if texts := chat.dumped(state):
            yield {
                "prompt": texts[:-1],
                "target_action": target,
                "alternatives": alternatives,
                "likeness": [SequenceMatcher(None, text, target).ratio() for text in alternatives],
                "expected": sorted(brought(draft, trajectory, message, prefix)),
                "step_index": index,
                "n_steps": len(made),
                **(profile._asdict() if profile else dict.fromkeys(Profile._fields)),
                "tools": environment.offered,
                "nemo_gym": chat.nemo_gym(state[:-1], message, environment.tools),
                **provenance(record, [*texts, environment.offered]),
            }
