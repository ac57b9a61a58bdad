"""The page about `environment.json`: its fields, and the file of a data set made with the default settings."""

import orjson

from docs.settings import words
from docs.tables import code, made, table
from pipeline.agents.environment_file import Environment, environment
from pipeline.config import build

INTRODUCTION = (
    "`environment.json` lies beside the views of every data set. It is all that a trained model must be given so that its "
    "searches mean what they meant in the data: `digsite serve RUN` serves this environment, and the loaders in `code/` "
    "read it. Two data sets whose `environment` has one digest in `manifest.json` can be mixed."
)


def page() -> str:
    fields = {name: info for name, info in Environment.model_fields.items() if not info.exclude}
    rows = [(code(name), words(Environment, name)) for name in fields]
    shown = orjson.dumps(environment(build()).model_dump(mode="json"), option=orjson.OPT_INDENT_2).decode()
    example = f"## With the default settings\n\n```json\n{shown}\n```"
    return made("environment.json", f"{INTRODUCTION}\n\n{table(['field', 'meaning'], rows)}\n{example}")
