"""Extraction of the answer from a response: from its last assistant message, outside thoughts and tool output."""

import json
import re
import unicodedata
from typing import Any

_THOUGHTS = frozenset("think thinking thought thoughts reasoning reflection scratchpad analysis seed:think".split())
_OUTPUTS = frozenset(
    "tool_response tool_responses tool_result tool_results tool_output tool_outputs information observation result "
    "observations results search_result search_results function_response function_result function_results output "
    "document documents".split()
)
_WRAPPERS = _THOUGHTS | _OUTPUTS | {"search"}
_FORMATTING = frozenset("b i em strong u p br div span font center big small mark final final_answer".split())
_ASSISTANT = frozenset("assistant model ai gpt chatbot bot".split())
_OTHERS = frozenset("user system developer tool tools ipython observation environment function python".split())
_OPENS_TURN = frozenset("im_start start start_header_id header_start start_of_role start_of_turn".split())
_ENDS_TURN = frozenset("im_end eot_id eom_id eot end endoftext end_of_text return call end_of_sentence eos".split())
_MARK = re.compile(
    r"<(?P<closes>/?)\s*(?P<tag>[a-z][\w:.-]*)(?:[\s/][^<>]*)?>"
    r"|<[|｜](?P<special>[^<>|｜\s]+)[|｜]>"
    r"|\[(?P<ends>/?)(?P<bracket>INST|TOOL_RESULTS|TOOL_CALLS|THINK)\]"
    r"|◁(?P<done>/?)(?P<kimi>think)▷"
    r"|assistant(?P<channel>final|analysis|commentary)|\A(?P<first>analysis|commentary)(?=\w)"
    r"|^[ \t#*]{0,6}(?:(?P<role>assistant|model|user|human|system|tool(?: (?:response|result|output))?|ipython"
    r"|observation(?: \d+)?)[ \t]{0,3}\*{0,2}(?::|$)"
    r"|(?P<step>thought[ \d]{0,4}:[^\n]*|(?:action|final answer|answer)(?=:)))",
    re.IGNORECASE | re.MULTILINE,
)
_ROLE = re.compile(r"\s{0,4}(\w+)")
_FORMAT = re.compile(rf"</?(?:{'|'.join(sorted(_FORMATTING))})(?:[\s/][^<>]*)?>", re.IGNORECASE)


def final_answer(response: Any) -> str | None:
    """Return the answer that a response gives, or None.

    Args:
        response: generated text, or messages in the form of chat templates. Anything else gives None, since a scorer
            that raises an error would end the training.
    """
    if isinstance(response, str):
        return _Reader(response).final
    turns = _list(response)
    for index in reversed(range(len(turns))):
        message = turns[index]
        if not isinstance(message, dict) or message.get("role") != "assistant":
            continue
        calls = _list(message.get("tool_calls"))
        if calls:
            answers = _called_answers(calls)
            answers.discard(None)
            return answers.pop() if len(answers) == 1 else None
        text = _text(message.get("content"))
        if re.search(r"\w", _EMPTY_THOUGHT.sub("", text)):
            answer = _Reader(text).final
            if answer is not None or not _end_with_answer(turns[:index]):
                return answer
    return None


_EMPTY_THOUGHT = re.compile(r"</?think>")


def _end_with_answer(turns: list[Any]) -> bool:
    """Return whether the turns end with calls of only `answer` and their output.

    Some trainers let a model write one more message after that call.
    """
    message: Any = None
    for message in reversed(turns):
        if not isinstance(message, dict) or message.get("role") != "tool":
            break
    calls = _list(message.get("tool_calls")) if isinstance(message, dict) else []
    return bool(calls) and message is not turns[-1] and None not in _called_answers(calls)


def _called_answers(calls: list[Any]) -> set[str | None]:
    """Return the arguments of the calls of `answer`, and None if there are calls of other tools."""
    return {_answer_argument(call.get("function", call) if isinstance(call, dict) else call) for call in calls}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [part for part in _list(content) if isinstance(part, dict) and part.get("type") in ("text", "output_text")]
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _answer_argument(call: Any) -> str | None:
    try:
        tree = json.loads(call) if isinstance(call, str) else call
        arguments = tree.get("arguments", tree.get("parameters"))
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        answer = arguments["answer"] if tree.get("name") == "answer" else None
        return str(answer).strip() if isinstance(answer, (str, int, float)) else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


class _Reader:
    """One pass over generated text, from mark to mark.

    `answer` is the answer of the current message, `final` that of the last message with any text.
    """

    def __init__(self, text: str) -> None:
        self.text, self.role = text, "assistant"
        self.final: str | None = None
        self.begin_message()
        self.position = 0
        for mark in _MARK.finditer(text):
            if not self.has_text:
                self.note_text(mark.start())
            self.position = mark.end()
            if mark.lastgroup == "tag":
                self.handle_tag(mark["tag"].lower(), bool(mark["closes"]), mark)
            else:
                self.handle_mark(mark)
        self.note_text(len(text))
        self.finish_message()

    def begin_message(self) -> None:
        self.answer: str | None = None
        self.called_answer: str | None = None
        self.has_text = self.is_stale = False
        self.open_wrappers: list[str] = []  # thoughts, tool output and searches
        self.open_tags: dict[str, list[int]] = {}  # the positions of other tags
        self.start = self.call = self.answered_at = -1

    def finish_message(self) -> None:
        if self.role in _ASSISTANT and self.has_text:
            self.final = self.answer

    def note_text(self, end: int) -> None:
        if not self.is_in_output() and self.role in _ASSISTANT:
            self.has_text = self.has_text or bool(self.text[self.position : end].strip())

    def is_in_output(self) -> bool:
        return bool(self.open_wrappers) and self.open_wrappers[-1] in _OUTPUTS

    def handle_mark(self, mark: re.Match[str]) -> None:
        if mark["special"]:
            self.handle_special_token(unicodedata.normalize("NFKC", mark["special"]).lower().replace("▁", "_"), mark)
        elif mark["kimi"]:
            self.handle_tag("think", bool(mark["done"]), mark)
        elif mark["bracket"]:
            name, ends = mark["bracket"].upper(), bool(mark["ends"])
            if name == "TOOL_RESULTS" and not ends:
                self.begin_turn("calls")
            if name in ("THINK", "TOOL_RESULTS"):
                self.handle_tag(name.lower(), ends, mark)
            else:
                self.begin_turn("assistant" if ends else "calls" if name == "TOOL_CALLS" else "user")
        elif mark["step"]:
            if self.role not in _ASSISTANT:
                self.begin_turn("assistant")
            self.has_text = self.has_text or mark["step"].lower().startswith("thought")
        elif mark["role"]:
            self.begin_turn(mark["role"].lower())
        else:
            self.begin_turn("assistant" if mark["channel"] and mark["channel"].lower() == "final" else "thought")

    def handle_special_token(self, name: str, mark: re.Match[str]) -> None:
        parts = set(name.split("_"))
        after = _ROLE.match(self.text, mark.end())
        if after and (name in _OPENS_TURN or name == "channel"):
            self.position = after.end()
        if name in _OPENS_TURN:
            self.begin_turn(after[1].lower() if after else "")
        elif name == "channel":
            self.begin_turn("assistant" if after and after[1].lower() == "final" else "thought")
        elif name in _ENDS_TURN:
            self.begin_turn("")
        elif parts & {"think", "thinking", "thought"}:
            self.handle_tag("think", "end" in parts, mark)
        elif parts & {"outputs", "results"} and "end" in parts:
            self.begin_turn("assistant")
        elif parts & (_OTHERS | _ASSISTANT):
            self.begin_turn("assistant" if parts & _ASSISTANT else "tool")

    def begin_turn(self, role: str) -> None:
        """Begin the turn of a role, unless the mark is text within tool output or a thought that goes on."""
        if self.is_in_output() or (self.open_wrappers and role in _ASSISTANT and self.role in _ASSISTANT):
            return
        self.finish_message()
        self.role = role
        self.begin_message()

    def handle_tag(self, name: str, closes: bool, mark: re.Match[str]) -> None:
        top = self.open_wrappers[-1] if self.open_wrappers else ""
        if top in _OUTPUTS or top == "search":
            if name == top:
                self.open_wrappers.pop() if closes else self.open_wrappers.append(name)
                self.end_output(name)
        elif self.call >= 0:
            if name == "tool_call":
                if closes:
                    self.handle_call(_answer_argument(self.text[self.call : mark.start()]))
                self.call = -1 if closes else mark.end()
        elif name in _WRAPPERS:
            self.handle_wrapper(name, closes)
        elif name == "end_of_turn" or (name == "s" and closes):
            self.begin_turn("")
        elif name == "start_of_turn":
            self.handle_special_token(name, mark)
        elif not self.open_wrappers:
            self.handle_other_tag(name, closes, mark)

    def end_output(self, name: str) -> None:
        """Begin a new message after tool output. A thought around the output stays open until the next one begins."""
        if name in _OUTPUTS and name not in self.open_wrappers:
            if self.open_wrappers:
                self.is_stale = True
            else:
                self.role = "assistant" if self.role == "calls" else self.role
                self.begin_message()

    def handle_wrapper(self, name: str, closes: bool) -> None:
        self.start = -1
        if closes and name in self.open_wrappers:
            del self.open_wrappers[len(self.open_wrappers) - 1 - self.open_wrappers[::-1].index(name) :]
        elif closes:
            # The prompt, or a wrapper around it, has opened it: all text up to here is inside.
            self.begin_message()
            self.final, self.has_text = None, True
        else:
            if self.is_stale and name in _THOUGHTS:
                self.open_wrappers, self.is_stale = [], False
            if name == "search" and not self.open_wrappers:
                self.answer = None
            if name in _OUTPUTS and not self.open_wrappers:
                self.finish_message()
            self.open_wrappers.append(name)

    def handle_other_tag(self, name: str, closes: bool, mark: re.Match[str]) -> None:
        if name == "answer" and not closes:
            self.start = mark.end()
        elif name == "answer" and self.start >= 0:
            self.answer = _FORMAT.sub("", self.text[self.start : mark.start()]).strip()
            self.answered_at, self.start, self.has_text = mark.start(), -1, True
        elif name == "tool_call" and not closes:
            self.call, self.start, self.has_text = mark.end(), -1, True
        elif name not in _FORMATTING and name != "answer":
            self.start, self.has_text = -1, True
            if not closes:
                self.open_tags.setdefault(name, []).append(mark.start())
            elif self.open_tags.get(name) and self.open_tags[name].pop() < self.answered_at:
                self.answer = None

    def handle_call(self, answer: str | None) -> None:
        """Take the answer from a tool call. Different answers give none, and so does a later call of another tool."""
        self.answer = answer if self.called_answer in (None, answer) else None
        self.called_answer, self.answered_at = answer or self.called_answer, self.call
