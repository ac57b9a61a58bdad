"""`robust_pairs`: the turn that believed a distractor, and one that did not from the same state; for TRL's DPOTrainer.

Rules: TRL 1.16 "Dataset formats" (`prompt`, `chosen`, `rejected` as messages, and `tools`). Trainers mask the prompt
alone, so that a completion with observations would train on the distractor: either completion is one assistant turn.
The rejected one is the first of a misled rollout that searches for the distractor's claim or answers with it; the
chosen one is the next turn, after the very same messages, of a rollout that met the distractor and never cited it.
The teacher's rollouts are taken, and the solver's over the overlay; those of the policy that the data set is for too.
"""

from pipeline.agents.environment_file import Environment
from pipeline.distractors.encounters import contrasts
from pipeline.exports.views.base import PREFERENCE, PROVENANCE, Rows, ViewOptions, preference, shown, with_system_prompt
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(**PREFERENCE, distractor=str, step=int, **PROVENANCE)
OPTIONS = ViewOptions(needs="distractors, one of which misled a rollout")


def rows(record: Record, environment: Environment) -> Rows:
    seen = set()
    for met, prompt, resisting, misled, agent, measured in contrasts(record, environment.policy):
        texts = with_system_prompt(environment, shown((*prompt, resisting, misled), 2, environment, agent))
        if texts and (*texts[-2:], len(texts)) not in seen:
            seen.add((*texts[-2:], len(texts)))
            learnt = preference(record, texts, environment.offered, measured)
            yield {**learnt, "distractor": met.distractor, "step": met.step}
