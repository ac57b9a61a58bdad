"""What a small model does with tools in each mode: `python -m bench.small_models RUN MODEL [--turns N]`, where MODEL is
`gguf:FILE`, or `openai:NAME` with `--base-url`.

The questions are those of a run and the model is its solver, in each mode until it has taken so many turns. A turn is
valid if its first call could be carried out. Of the searches: is the query new in its conversation, and does it share a
content word with the question? What the model answers is kept in the output folder, so that a run goes on where it was.
"""

import argparse
import asyncio
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple, get_args

from bench.common import Stopwatch, format_share, load_run, table
from pipeline.agents.solver import attempt, solver
from pipeline.cli.options import parse_model
from pipeline.config.models import ModelConfig, Models, ToolMode
from pipeline.context import RunContext
from pipeline.reward.reward import score
from pipeline.run import prepare
from pipeline.text import words
from pipeline.types import Draft, Rollout

HEAD = ("mode", "turns", "valid", "as the mode asks", "queries", "new", "on topic", "answered", "right", "s a turn")
_LEAST = 4
"""Letters of a content word."""
_ASKING = frozenset(
    "also does from have into that their there these this were what when where which whom whose with".split()
)


class Tally(NamedTuple):
    """Of one conversation."""

    turns: int
    valid: int
    plain: int
    """Valid ones that a strict parser, or the schema, would have let through as they were."""
    queries: int
    new: int
    on_topic: int
    answered: int
    right: int


def tally(rollout: Rollout, draft: Draft) -> Tally:
    trajectory, asked = rollout.trajectory, content(draft.question)
    ends = {m.tool_call_id: not m.content.startswith("Error: ") for m in trajectory.messages if m.role == "tool"}
    turns = [message for message in trajectory.messages if message.role == "assistant"]
    made = [message.tool_calls[0] for message in turns if message.tool_calls]
    # The last call of a conversation that has an answer is not answered by a message.
    valid = [call for call in made if ends.get(call.id, bool(trajectory.final))]
    searches = [call for call in trajectory.calls if call.tool == "search"]
    return Tally(
        turns=len(turns),
        valid=len(valid),
        plain=sum(not call.repaired for call in valid),
        queries=len(searches),
        new=sum(not call.repeat for call in searches),
        on_topic=sum(not content(call.argument).isdisjoint(asked) for call in searches),
        answered=rollout.answered,
        right=score(rollout.answer, [draft.answer, *draft.answer_aliases]) == 1,
    )


def content(text: str) -> set[str]:
    return {word for word in words(text) if len(word) >= _LEAST} - _ASKING


async def measured(
    mode: ToolMode, drafts: list[Draft], context: RunContext, model: ModelConfig, most: int
) -> list[object]:
    agent = solver(context.config, context.llm, context.retriever, model.model_copy(update={"tools": mode}))
    found, watch = list[Tally](), Stopwatch()
    for number, draft in enumerate(islice(cycle(drafts), most)):
        with watch:
            rollout = await attempt(agent, draft.question, number // len(drafts))
        found.append(tally(rollout, draft))
        sums = Tally(*map(sum, zip(*found, strict=True)))
        said = [message.content or message.tool_calls for message in rollout.trajectory.messages[2:]]
        print(mode, number, found[-1], rollout.trajectory.stop, repr(rollout.answer), str(said)[:600], flush=True)
        if sums.turns >= most:
            break
    kept = [format_share(part, whole) for part, whole in ((sums.valid, sums.turns), (sums.plain, sums.turns))]
    queries = [format_share(part, sums.queries) for part in (sums.new, sums.on_topic)]
    ends = [format_share(part, len(found)) for part in (sums.answered, sums.right)]
    return [mode, sums.turns, *kept, sums.queries, *queries, *ends, f"{watch.wall / sums.turns:.1f}"]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("run")
    arguments.add_argument("model")
    arguments.add_argument("--base-url")
    arguments.add_argument("--modes", nargs="+", default=get_args(ToolMode), choices=get_args(ToolMode))
    arguments.add_argument("--turns", type=int, default=60)
    arguments.add_argument("--passages", type=int, default=2)
    arguments.add_argument("--out", type=Path, default=Path("outputs"))
    given = arguments.parse_args()
    run = load_run(given.run, given.out)
    drafts = [record.draft for record in run.accepted if record.draft]
    small = {"context": 4096, "sampling": {"max_tokens": 128}, "limits": {"concurrency": 1}}
    served = {"base_url": given.base_url} if given.base_url else {}
    models = Models.model_validate({"solver": {**parse_model(given.model), **small, **served}})
    retrieval = run.config.retrieval.model_copy(update={"k": given.passages})
    limits = run.config.solver.model_copy(update={"searches": 4, "turns": 6})
    config = run.config.model_copy(update={"models": models, "retrieval": retrieval, "solver": limits})
    context = prepare.context(config.with_runtime(out=given.out), prepare.corpus(config.with_runtime(out=given.out)))
    model = config.models.of("solver")
    rows = [asyncio.run(measured(mode, drafts, context, model, given.turns)) for mode in given.modes]
    print(f"{model.model} over {config.corpus.name}, {len(drafts)} questions")
    print(table(HEAD, rows))


if __name__ == "__main__":
    main()
