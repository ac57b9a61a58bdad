"""Texts that contain no calls, and hostile ones."""

import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.agents.judge import VERDICT
from tests.llm.test_written_calls import CALL, ONE, list_calls, read_message

WORDS = "river mountain council archive painter 1641 harbour opera treaty census Vessby telescope".split()
OTHERS = (
    "Some prose about the {a} of the {b}, which the {c} names (see [1], {{a}} and \"{b}\").",
    'A record looks like {{"title": "{a}", "year": 1641, "tags": ["{b}"]}}.',
    '```json\n{{"{a}": {{"{b}": [1, 2, {{"{c}": null}}]}}}}\n```',
    '```json\n{{"name": "{a}", "arguments": {{"query": "{b}"}}}}\n```\nwould be a call of another tool.',
    'You said <tool_call>{{"name": "get_weather", "arguments": {{"city": "{a}"}}}}</tool_call> before.',
    'The tool is described as {{"name": "search", "description": "{a}", "parameters": {{"type": "object"}}}}.',
    "| name | arguments |\n|---|---|\n| {a} | {{{b}}} |\n| {c} | {{}} |",
    '```python\ndef search(query):\n    return {{"name": query}}\n\nprint(search("{a}"))\n```',
    '```python\nimport {a}\n\nopen("{b}.txt")\nresult = search(query="{c}")\n```',
    "I could search(\"{a}\") or open(\"{b}\"), and `search(query=...)` would do.",
    "In LaTeX: \\frac{{{a}}}{{{b}}} and {{\"{c}",
    "<function=get_{a}>\n<parameter=city>\n{b}\n</parameter>\n</function>",
    "<search>{a}</search> is how others call, and <tool_call> is a tag of ours.",
    "Action: none\nI think that the {a} is {{'{b}': '{c}'}}.",
    '{{"answer": "{a}"}}',
    '{{"query": "{a}"}}',
    '[{{"name": "{a}"}}, {{"name": "{b}"}}]',
    "{a} = [search_{b}(x='{c}')]\n[{a}(query='{b}')]",
    '{{"tool_calls": []}} and {{"function": {{"name": "{a}", "arguments": "{{}}"}}}}',
    'She said: "search, open, answer!" {{name: search, arguments: {{query: {a}}}}}',
)  # fmt: skip


def make_texts() -> list[str]:
    chance = random.Random(20261125)
    return [
        form.format(a=f"{chance.choice(WORDS)}_{number}", b=chance.choice(WORDS), c=chance.choice(WORDS))
        for form in OTHERS
        for number in range(25)
    ]


def test_five_hundred_other_answers_contain_no_call() -> None:
    texts = make_texts()
    assert len(set(texts)) == 500
    for text in texts:
        assert list_calls(read_message(text)) == [], text
        assert list_calls(read_message(None, reasoning_content=text)) == [], text
        assert list_calls(read_message(f"{text}\n\n{CALL}")) == ONE, text


WHOLE = st.integers(-(2**53), 2**53)
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300)
@given(st.text(max_size=200), JSON)
def test_random_texts_and_objects_are_no_calls(text: str, value: Any) -> None:
    text = text.encode(errors="ignore").decode()
    assert read_message(f"{text}\n{json.dumps(value)}").tool_calls == ()


HOSTILE = [
    "<tool_call>{", '{"', '{"a":', "{'", "{'a':", '{"a": "x", ', "<function=search>", "<parameter=query>",
    "<function=search><parameter=query>", "<|a|>", "<|", "<｜", "```json\n", "```json\nsearch(\n```\n", "search(",
    "\nsearch(", '\nsearch(query="x")\n', '\nsearch(query="x")\n\n', "{ ", " \n", "[", '{"a":1}', CALL,
    f"<tool_call>{CALL}</tool_call>", "<tool_call>search<arg_key>", '\\"', '{"\\"', "<function= ", "`", ",",
    "[TOOL_CALLS]", "[TOOL_CALLS]search", "to=search ", "<|a|>search", "{'a': \"b", "</think>", "Action: search\n",
    "{'a': [" + "'x'," * 4000, '<invoke name="search">', "functions.", "print(", "-", "(", "\t", "\x00",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_megabyte_is_read_in_linear_time(piece: str) -> None:
    """Four times the text takes about four times as long; quadratic work would take sixteen times."""

    def measure(part: str) -> float:
        start = time.process_time()
        read_message(part)
        read_message(part, (), VERDICT)
        return time.process_time() - start

    text = piece * (1_000_000 // len(piece))
    seconds = measure(text)
    assert seconds < 1.0 or seconds < 8 * measure(text[: len(text) // 4])


@pytest.mark.parametrize(
    ("thoughts", "answer"),
    [
        ('They agree.\n```json\n{"correct": "true"}\n```', '{"correct":true}'),
        ('Not {"correct": true}, since the years differ: {"correct": false}', '{"correct":false}'),
        ('{"correct": true}? No, the years differ.', ""),
        ('They agree: {"right": true}', ""),
        ("They agree.", ""),
    ],
)
def test_an_answer_filed_under_the_reasoning_is_its_last_object(thoughts: str, answer: str) -> None:
    message = read_message(None, (), VERDICT, reasoning_content=thoughts)
    assert message.content.replace(": ", ":") == answer
    assert bool(answer) is (message.reasoning != thoughts)
