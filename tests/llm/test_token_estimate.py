"""The estimate of tokens."""

from pipeline.llm.base import Tool
from pipeline.llm.token_estimate import size, tokens
from pipeline.types import Message


def test_tokens_are_estimated_from_the_text_and_slightly_too_high() -> None:
    english = "The lighthouse of Ostrava Point was first lit in 1874 by Ada Brannick, and rebuilt after the flood."
    assert len(english) / 4.5 < tokens(english) < len(english) / 3
    assert tokens("奥斯特拉瓦灯塔") == 7
    assert tokens("") == 0
    message = Message(role="assistant", reasoning="x" * 9000)
    assert size([message]) < 20, "reasoning is not sent back"
    assert size([message], thoughts=True) > 2000


def test_tools_count() -> None:
    tool = Tool(name="search", description="Search the corpus for a few words. " * 10, parameters={"type": "object"})
    assert size([], [tool]) > 70
