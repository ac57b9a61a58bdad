"""`sft_openrlhf`: the rollouts of `sft` with the tools, calls and results in words, for OpenRLHF.

Rules: OpenRLHF 0.11, `datasets/sft_dataset.py` (`--data.input_key messages --data.apply_chat_template
--data.multiturn`). It passes no tools to the chat template and learns every turn of the assistant. The first turn is
that of `rl_openrlhf`. If each turn of a trajectory is a row (see `sft`), leave out `--data.multiturn`: the last turn
alone is learnt then. Any trainer whose chat template prints no tools can take this view.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.views import base, sft
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(**{field.name: field.type for field in sft.SCHEMA if field.name != "tools"})


def rows(record: Record, environment: Environment) -> base.Rows:
    for row in sft.rows(record, environment.in_words):
        yield {name: value for name, value in row.items() if name != "tools"}


VIEW = base.View(rows, SCHEMA, base.SOLVED)
