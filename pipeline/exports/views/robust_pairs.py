"""`robust_pairs`: the turn that believed a distractor, and one that did not from the same state; for TRL's DPOTrainer.

Rules: TRL 1.16 "Dataset formats" (`prompt`, `chosen`, `rejected` as messages, and `tools`). Trainers mask only the
prompt, so a completion with observations would train on the distractor: each completion is one assistant turn. The
rejected one is the first turn of a misled rollout that searches for the distractor's claim or answers with it. The
chosen one is the next turn, after the same messages, of a rollout that met the distractor and never cited it. Rollouts
come from the teacher, from the solver over the overlay, and from the policy that the data set is for.
"""

from pipeline.agents.environment_file import Environment
from pipeline.distractors.encounters import contrasts
from pipeline.exports.views import base
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(**base.PREFERENCE, distractor=str, step=int, **base.PROVENANCE)


def rows(record: Record, environment: Environment) -> base.Rows:
    seen_texts = set()
    for encounter, prompt, resisting, misled, agent, measured in contrasts(record, environment.policy):
        messages = base.render_for_model((*prompt, resisting, misled), 2, environment, agent)
        texts = base.dump_with_system_prompt(environment, messages)
        if texts and (*texts[-2:], len(texts)) not in seen_texts:
            seen_texts.add((*texts[-2:], len(texts)))
            row = base.preference_columns(record, texts, environment.offered, measured)
            yield {**row, "distractor": encounter.distractor, "step": encounter.step}


VIEW = base.View(rows, SCHEMA, base.ViewOptions(needs="distractors, one of which misled a rollout"))
