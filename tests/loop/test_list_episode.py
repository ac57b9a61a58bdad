"""A seed that wants a list, from the author's prompt to the record; and only such runs are told of lists."""

import asyncio

import orjson
import pytest

from pipeline import config, prompts
from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.context import RunContext
from pipeline.errors import UsageError
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.types import AnswerType, Message, Record, Seed, Status, ToolCall
from tests.loop.checks.test_lists import NAMES, SHELF, proposal
from tests.loop.test_episode import FILM, LINEAGE
from tests.scripted import ScriptedLLM

MODELS = {"default": {"provider": "openai", "model": "m"}}
SEARCHES = ("Lantern Bay", "Ada Holm painter", "founders Vessby monks")
ANSWER = "Ivar Lund; Olaf Grim; Per Dal"


def settings(*types: str) -> RunConfig:
    run = ["oracle"]
    values = {
        "strategy": "sage",
        "models": MODELS,
        "answer_types": types or ("list",),
        "checks": {"run": run},
        "retrieval": {"k": 1},
    }
    return config.build(values=values, sets=["generator.checks=0"])


def said(name: str, arguments: str) -> Message:
    return Message(role="assistant", tool_calls=(ToolCall(id="x", name=name, arguments=arguments),))


def cast(request: Request) -> Message | str:
    """Proposes a list at once; solves it in as many searches as there are hops; reads what it is shown."""
    if request.output:
        return orjson.dumps({"facts": [], "answer": ANSWER}).decode()
    if request.tools[-1].name == "propose":
        if not any(message.role == "tool" for message in request.messages):
            calls = [orjson.dumps({"query": query}).decode() for query in SEARCHES]
            return Message(
                role="assistant",
                tool_calls=tuple(ToolCall(id=f"s{n}", name="search", arguments=one) for n, one in enumerate(calls)),
            )
        return said("propose", proposal([{"answer": name} for name in NAMES]))
    done = sum(message.role == "tool" for message in request.messages)
    if done < len(SEARCHES):
        return said("search", orjson.dumps({"query": SEARCHES[done]}).decode())
    return said("answer", orjson.dumps({"answer": ANSWER}).decode())


def run(model: ScriptedLLM, settings: RunConfig, kind: AnswerType = AnswerType.LIST) -> Record:
    seed = Seed(key="ab" * 32, passage=FILM, draw=0, side="train", answer_type=kind, target_steps=3)
    return asyncio.run(run_seed(seed, RunContext(settings, model, SHELF, LINEAGE)))


def test_a_list_is_proposed_checked_solved_and_accepted() -> None:
    model = ScriptedLLM(cast)
    record = run(model, settings())
    assert (record.status, record.reason) == (Status.ACCEPTED, "")
    assert record.draft
    assert [item.answer for item in record.draft.answer_items] == list(NAMES)
    assert Record.model_validate_json(record.model_dump_json()) == record
    assert [(verdict.right, verdict.method, verdict.hit_step) for verdict in record.confirmation_verdicts] == [
        (True, "exact", 3)
    ] * 4
    note, answers = prompts.note("list/_write"), prompts.note("list/_answer")
    for request in model.requests:
        system, last = request.messages[0].content, request.tools[-1].name if request.tools else ""
        assert (note in system) == (last == "propose")
        reads = request.output is not None and request.output.name == "read"
        assert (answers in system) == (last == "answer" or reads)
        if last == "propose":
            assert "answer_items" in request.tools[-1].parameters["properties"]
    assert environment(settings()).system.endswith(answers)


def test_other_seeds_of_the_same_run_are_told_nothing_of_lists() -> None:
    model = ScriptedLLM(
        lambda request: said("propose", '{"question": "", "answer": "", "answer_type": "", "hops": []}')
    )
    run(model, settings("list", "entity"), AnswerType.ENTITY)
    (request, *_) = model.requests
    assert "list" not in (prompts.unfence(request.messages[1].content) or {})["answer_types"]
    assert prompts.note("list/_write") not in request.messages[0].content
    assert "answer_items" not in request.tools[-1].parameters["properties"]


def test_what_is_said_of_lists_belongs_to_the_runs_that_ask_for_them() -> None:
    plain, listed = (
        settings("entity", "date", "number").digested(),
        settings("entity", "date", "number", "list").digested(),
    )
    assert set(listed["prompts"]) - set(plain["prompts"]) == {"list/_answer", "list/_write"}
    assert not any(
        name.split("/")[0] in ("list", "boolean", "comparison") for name in RunConfig().digested()["prompts"]
    )


def test_the_demo_model_is_asked_for_no_list() -> None:
    with pytest.raises(UsageError, match="demo model writes entity, date, number and no 'list'; name a model"):
        config.build(values={"answer_types": "entity,list"})
