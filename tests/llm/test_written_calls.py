"""Calls in every form that models and servers write when no parser reads them, and nothing else, are calls."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.agents.judge import VERDICT
from pipeline.agents.readers import CitedOutput
from pipeline.agents.structured import schema
from pipeline.agents.tools import EXPLORE, GENERATOR_TOOLS, SOLVER_TOOLS
from pipeline.llm import reply
from pipeline.llm.base import Schema, Tool
from pipeline.types import Message


def read_message(
    content: str | None, tools: tuple[Tool, ...] = SOLVER_TOOLS, output: Schema | None = None, **fields: Any
) -> Message:
    tree = {"choices": [{"message": {"content": content, **fields}, "finish_reason": "stop"}]}
    return reply.completion(orjson.dumps(tree), tools, output).message


def list_calls(message: Message) -> list[tuple[str, Any]]:
    return [(call.name, orjson.loads(call.arguments)) for call in message.tool_calls]


CALL = '{"name": "search", "arguments": {"query": "Ada Holm"}}'
OPEN = '{"name": "open", "arguments": {"passage_id": "p1"}}'
ONE = [("search", {"query": "Ada Holm"})]
TWO = [*ONE, ("open", {"passage_id": "p1"})]
FORMS: dict[str, tuple[str, list[tuple[str, Any]]]] = {
    "hermes": (f"<tool_call>\n{CALL}\n</tool_call>", ONE),
    "hermes, several": (f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{OPEN}\n</tool_call>", TWO),
    "hermes, the last tag unclosed": (f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{OPEN}", TWO),
    "hermes, all tags unclosed": (f"<tool_call>{CALL}\n<tool_call>{OPEN}", TWO),
    "hermes, parameters": (f"<tool_call>{CALL.replace('arguments', 'parameters')}</tool_call>", ONE),
    "hermes, args": (f"<tool_call>{CALL.replace('arguments', 'args')}</tool_call>", ONE),
    "hermes, input": (f"<tool_call>{CALL.replace('arguments', 'input')}</tool_call>", ONE),
    "hermes, a brace too many": (f"<tool_call>{CALL}}}</tool_call>", ONE),
    "hermes, a list": (f"<tool_call>[{CALL}, {OPEN}]</tool_call>", TWO),
    "hermes, fenced": (f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>", ONE),
    "arguments as text": ('{"name": "search", "arguments": "{\\"query\\": \\"Ada Holm\\"}"}', ONE),
    "qwen coder": (
        "<tool_call>\n<function=search>\n<parameter=query>\nAda Holm\n</parameter>\n</function>\n</tool_call>", ONE,
    ),
    "qwen coder, no outer tag": ("<function=search>\n<parameter=query>\nAda Holm\n</parameter>\n</function>", ONE),
    "qwen coder, unclosed": ("<tool_call>\n<function=search>\n<parameter=query>\nAda Holm\n</parameter>", ONE),
    "qwen coder, parameter unclosed": ("<function=search><parameter=query>Ada Holm</function>", ONE),
    "qwen coder, several": (
        ("<tool_call><function=search><parameter=query>Ada Holm</parameter></function></tool_call>\n"
        "<tool_call><function=open><parameter=passage_id>p1</parameter></function></tool_call>"), TWO,
    ),
    "glm": ("<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>Ada Holm</arg_value>\n</tool_call>", ONE),
    "minimax": (
        ('<minimax:tool_call>\n<invoke name="search">\n<parameter name="query">Ada Holm</parameter>\n</invoke>\n'
        "</minimax:tool_call>"), ONE,
    ),
    "deepseek's markup": (
        ('<｜DSML｜function_calls>\n<｜DSML｜invoke name="search">\n<｜DSML｜parameter name="query" string="true">'
        "Ada Holm</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"), ONE,
    ),
    "llama": (f"<|python_tag|>{CALL.replace('arguments', 'parameters')}<|eom_id|>", ONE),
    "llama, bare": (CALL.replace("arguments", "parameters"), ONE),
    "llama, several": (f"{CALL}; {OPEN}", TWO),
    "llama, function tag": ('<function=search>{"query": "Ada Holm"}</function>', ONE),
    "llama, built in": ('<|python_tag|>search.call(query="Ada Holm")', ONE),
    "llama 4": ('<|python_start|>[search(query="Ada Holm"), open(passage_id="p1")]<|python_end|>', TWO),
    "mistral": (f"[TOOL_CALLS][{CALL}, {OPEN}]", TWO),
    "mistral, name before": ('[TOOL_CALLS]search{"query": "Ada Holm"}', ONE),
    "mistral, tokens": ('[TOOL_CALLS]search[CALL_ID]a1b2c3d4e[ARGS]{"query": "Ada Holm"}', ONE),
    "mistral, several": (
        '[TOOL_CALLS]search[ARGS]{"query": "Ada Holm"}[TOOL_CALLS]open[ARGS]{"passage_id": "p1"}', TWO,
    ),
    "deepseek": (
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n"
        '{"query": "Ada Holm"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'), ONE,
    ),
    "kimi": (
        ("<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>"
        '{"query": "Ada Holm"}<|tool_call_end|><|tool_calls_section_end|>'), ONE,
    ),
    "gpt-oss": (
        '<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"query": "Ada Holm"}<|call|>', ONE,
    ),
    "gpt-oss, named in the role": (
        '<|start|>assistant to=functions.search<|channel|>commentary json<|message|>{"query": "Ada Holm"}<|call|>', ONE,
    ),
    "hermes, single quotes": ("<tool_call>{'name': 'search', 'arguments': {'query': 'Ada Holm'}}</tool_call>", ONE),
    "hermes, trailing comma": ('<tool_call>{"name": "search", "arguments": {"query": "Ada Holm",}}</tool_call>', ONE),
    "granite": (f"<|tool_call|>[{CALL}]", ONE),
    "phi": (f"functools[{CALL}]", ONE),
    "react": ('Action: search\nAction Input: {"query": "Ada Holm"}', ONE),
    "fence": (f"```json\n{CALL}\n```", ONE),
    "fence, no language": (f"```\n{CALL}\n```", ONE),
    "fence, unclosed": (f"```json\n{CALL}", ONE),
    "fence, closing alone": (f"{CALL}\n```", ONE),
    "fences": (f"```json\n{CALL}\n```\n\n```json\n{OPEN}\n```", TWO),
    "fence, several": (f"```json\n{CALL}\n{OPEN}\n```", TWO),
    "list": (f"[{CALL},\n {OPEN}]", TWO),
    "openai": (f'{{"tool_calls": [{{"id": "a", "type": "function", "function": {CALL}}}]}}', ONE),
    "openai, one": (f'{{"type": "function", "function": {CALL}}}', ONE),
    "langchain": ('```\n{"action": "search", "action_input": {"query": "Ada Holm"}}\n```', ONE),
    "keyed by name": ('{"search": {"query": "Ada Holm"}}', ONE),
    "flat": ('{"tool": "search", "query": "Ada Holm"}', ONE),
    "namespace": (CALL.replace("search", "functions.search"), ONE),
    "python": ('search(query="Ada Holm")', ONE),
    "python, list": ("[search(query='Ada Holm'), open(passage_id='p1')]", TWO),
    "python, lines": ('search(query="Ada Holm")\nopen(passage_id="p1")', TWO),
    "python, by position": ('search("Ada Holm")', ONE),
    "python, fence": ('```python\nsearch(query="Ada Holm")\n```', ONE),
    "python, gemma": ('```tool_code\nprint(search(query="Ada Holm"))\n```', ONE),
    "python, tag": ('<tool_call>search(query="Ada Holm")</tool_call>', ONE),
    "python, dictionary": ("{'name': 'search', 'arguments': {'query': 'Ada Holm'}}", ONE),
    "trailing comma": ('{"name": "search", "arguments": {"query": "Ada Holm",},}', ONE),
}  # fmt: skip


@pytest.mark.parametrize("prose", ["", "I look this up [1].\n", "First, {who} was she? See `x`:\n\n"])
@pytest.mark.parametrize("form", FORMS)
def test_a_call_is_read_in_every_form(form: str, prose: str) -> None:
    text, expected = FORMS[form]
    if prose and form == "python, by position":
        pytest.skip("within prose such a call may be of any language")
    message = read_message(prose + text)
    assert (list_calls(message), message.content) == (expected, prose.strip())
    assert any(call.repaired for call in message.tool_calls) == (form not in ("hermes", "hermes, several"))


@pytest.mark.parametrize("form", FORMS)
def test_no_part_of_a_truncated_call_is_carried_out(form: str) -> None:
    """Not even the beginning of its query counts: an answer at the token limit may end anywhere."""
    text, expected = FORMS[form]
    for end in range(len(text)):
        assert list_calls(read_message(text[:end])) in ([], expected[:1], expected), text[:end]


@pytest.mark.parametrize("form", FORMS)
def test_without_tools_nothing_is_a_call(form: str) -> None:
    message = read_message(FORMS[form][0], ())
    assert (message.tool_calls, message.content) == ((), FORMS[form][0])


STEPS = [{"id": "s", "sub_question": "[Who]?", "answer": "Ada", "passage_id": "p1", "sentences": [1]}]
PROPOSED = {"question": "[Who]?", "steps": STEPS}


@pytest.mark.parametrize(
    "arguments",
    [
        {**PROPOSED, "steps": orjson.dumps(STEPS).decode()},
        {**PROPOSED, "steps": [orjson.dumps(STEPS[0]).decode()]},
        orjson.dumps(PROPOSED).decode(),
        orjson.dumps({**PROPOSED, "steps": orjson.dumps(STEPS).decode()}).decode(),
    ],
)
def test_doubly_encoded_arguments_are_decoded_if_the_schema_wants_a_structure(arguments: Any) -> None:
    function = {"name": "propose", "arguments": orjson.dumps(arguments).decode()}
    native = read_message(None, GENERATOR_TOOLS, tool_calls=[{"id": "x", "type": "function", "function": function}])
    written = read_message(orjson.dumps({"name": "propose", "arguments": arguments}).decode(), GENERATOR_TOOLS)
    xml = "".join(
        f"<parameter={name}>\n{part if isinstance(part, str) else orjson.dumps(part).decode()}\n</parameter>\n"
        for name, part in PROPOSED.items()
    )
    tagged = read_message(f"<tool_call>\n<function=propose>\n{xml}</function>\n</tool_call>", GENERATOR_TOOLS)
    for message in (native, written, tagged):
        assert list_calls(message) == [("propose", PROPOSED)], "the text of the answer stays a text"
        assert message.tool_calls[0].repaired


@pytest.mark.parametrize(
    "form",
    [
        '{{"name": "explore", "arguments": {0}}}',
        "[TOOL_CALLS]explore[ARGS]{0}",
        "<function=explore>{0}</function>",
        "<tool_call>explore\n{0}\n</tool_call>",
    ],
)
def test_arguments_may_have_the_names_of_a_calls_parts(form: str) -> None:
    arguments = {"tool": "search", "argument": "Ada Holm", "intent": ""}
    assert list_calls(read_message(form.format(json.dumps(arguments)), (EXPLORE,))) == [("explore", arguments)]


def test_valid_arguments_keep_their_bytes() -> None:
    for arguments in ('{"query":  "[1, 2]"}', '{"query": "{\\"a\\": 1}"}', '{"query": "a', "7", '"x"', '"{\\"q"'):
        function = {"name": "search", "arguments": arguments}
        (call,) = read_message(None, tool_calls=[{"id": "x", "function": function}]).tool_calls
        assert call.arguments == arguments


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("search<|channel|>commentary", "search"),
        ("search<|channel|", "search"),
        ("functions.search", "search"),
        ("functions.search:0", "search"),
        ("<|channel|>commentary to=functions.search<|message|>", "search"),
        ("search\n", "search"),
        ("search<|channel|>open", None),
        ("search_open", None),
        ("research", None),
        ("google", None),
        ("search" * 100_000, None),
    ],
)
def test_a_tool_is_recognised_in_a_name_with_tokens(name: str, tool: str | None) -> None:
    (call,) = read_message(None, tool_calls=[{"function": {"name": name, "arguments": '{"query": "a"}'}}]).tool_calls
    assert (call.name, call.repaired) == ((tool, True) if tool else (name[:200], False))
    assert call.arguments == '{"query": "a"}'


@pytest.mark.parametrize("form", FORMS)
def test_a_call_at_the_end_of_the_reasoning_counts_if_there_is_nothing_else(form: str) -> None:
    text, expected = FORMS[form]
    if form == "python, by position":
        pytest.skip("within prose such a call may be of any language")
    thought = read_message(None, reasoning_content=f"I look this up.\n{text}")
    assert (list_calls(thought), thought.reasoning, thought.content) == (expected, "I look this up.", "")
    assert all(call.repaired for call in thought.tool_calls)
    assert list_calls(read_message(f"<think>I look this up.\n{text}</think>")) == expected
    for message in (
        read_message("Hm.", reasoning_content=text),
        read_message(None, reasoning_content=f"{text}\nOr rather not: the answer is known."),
        read_message(
            None, reasoning_content=text, tool_calls=[{"function": {"name": "open", "arguments": '{"passage_id":"p"}'}}]
        ),
    ):
        assert message.reasoning.startswith(text)
        assert list_calls(message) in ([], [("open", {"passage_id": "p"})])


def test_the_last_call_in_the_reasoning_counts() -> None:
    message = read_message(None, reasoning_content=f"Perhaps {OPEN}? No: better\n<tool_call>{CALL}</tool_call>")
    assert list_calls(message) == ONE
    unfit = CALL.replace("query", "q")
    assert list_calls(read_message(None, reasoning_content=f"So:\n<tool_call>{unfit}</tool_call>")) == []


def test_a_call_with_unfit_arguments_counts_only_if_it_is_marked_as_a_call() -> None:
    """The model is then told what is wrong with it, and not that it called nothing."""
    unfit = CALL.replace("query", "q")
    expected = [("search", {"q": "Ada Holm"})]
    for text in (unfit, f"```json\n{unfit}\n```", f"Hm. <tool_call>{unfit}</tool_call>", f"[TOOL_CALLS][{unfit}]"):
        assert list_calls(read_message(text)) == expected
    assert list_calls(read_message(f"A call such as {unfit} would not do.")) == []
    assert list_calls(read_message('<tool_call>{"name": "google", "arguments": {}}</tool_call>')) == [("google", {})]


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ('{"reason": "", "correct": true}', {"reason": "", "correct": True}),
        ('Here is the JSON:\n\n```json\n{"correct": true}\n```\nLet me know.', {"correct": True}),
        ('```json\n{"correct": true}\n```', {"correct": True}),
        ('{"correct": true}\n```', {"correct": True}),
        ('I compare {"a": 1} with {"b": 2}: {"correct": false}. Not {"correct": true}.', {"correct": False}),
        ('"{\\"correct\\": true}"', {"correct": True}),
        ('{"correct": "true"}', {"correct": True}),
        ("{'correct': True, 'reason': 'the same'}", {"correct": True, "reason": "the same"}),
        ('<think>{"correct": false}?</think>{"correct": true}', {"correct": True}),
        ('Cut off: {"reason": "it is {"correct": true}', {"correct": True}),
    ],
)
def test_the_first_object_that_fits_is_the_answer(content: str, answer: Any) -> None:
    assert orjson.loads(read_message(content, (), VERDICT).content) == answer


@pytest.mark.parametrize("content", ["", "true", "I do not know.", "[1, 2]", '{"correct": tru', '{"correct": true} '])
def test_an_answer_without_such_an_object_or_that_is_one_is_unchanged(content: str) -> None:
    assert read_message(content, (), VERDICT).content == content


def test_structures_within_an_answer_are_decoded() -> None:
    facts = [{"fact": "founded 1641", "passage": "p1"}]
    message = read_message(
        orjson.dumps({"facts": orjson.dumps(facts).decode(), "answer": "1641"}).decode(), (), schema("c", CitedOutput)
    )
    assert orjson.loads(message.content) == {"facts": facts, "answer": "1641"}


@settings(max_examples=300)
@given(st.text(min_size=1, max_size=60), st.sampled_from(list(FORMS)))
def test_any_query_is_read_unchanged(query: str, form: str) -> None:
    """Skip the forms that are not JSON, which have no escapes."""

    text, expected = FORMS[form]
    if '"query": "Ada Holm"' not in text or "\\" in text:
        return
    query = query.encode(errors="ignore").decode()
    message = read_message(text.replace('"Ada Holm"', json.dumps(query, ensure_ascii=False)))
    assert list_calls(message) == [("search", {"query": query}), *expected[1:]]
