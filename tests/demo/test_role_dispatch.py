import asyncio

from pipeline import prompts
from pipeline.agents.judge import VERDICT
from pipeline.demo.role_dispatch import DemoModel
from pipeline.llm.base import Request


def test_cached_tokens_are_estimated_as_for_a_server_that_reports_none() -> None:
    fields = {"question": "Q", "answer": "A", "answer_aliases": (), "answer_type": "entity", "answer_precision": ""}
    messages = prompts.load("judge/verdict").render("0" * 16, response="A", **fields)
    request = Request(model="embedded", messages=messages, output=VERDICT, shared_prefix=0.5)
    usage = asyncio.run(DemoModel().complete(request)).usage
    assert usage.cached_tokens == usage.estimated_cached_tokens == usage.prompt_tokens // 2 > 0
