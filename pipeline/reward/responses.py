"""Where the answer of a response stands: its last assistant message, outside thoughts, tool output and other tags."""

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
    """The answer that a response gives: generated text, or messages as chat templates take them. Anything else gives
    none, since a scorer that raises ends the training."""
    if isinstance(response, str):
        return _Reader(response).final
    turns = _list(response)
    for place in reversed(range(len(turns))):
        message = turns[place]
        if not isinstance(message, dict) or message.get("role") != "assistant":
            continue
        calls = _list(message.get("tool_calls"))
        if calls:
            found = _called(calls)
            found.discard(None)
            return found.pop() if len(found) == 1 else None
        text = _text(message.get("content"))
        if re.search(r"\w", _EMPTY_THOUGHT.sub("", text)):
            said = _Reader(text).final
            if said is not None or not _ended(turns[:place]):
                return said
    return None


_EMPTY_THOUGHT = re.compile(r"</?think>")


def _ended(turns: list[Any]) -> bool:
    """Has a turn that called `answer` and nothing else been followed by tool output alone? Some trainers let a model
    speak once more after that call."""
    message: Any = None
    for message in reversed(turns):
        if not isinstance(message, dict) or message.get("role") != "tool":
            break
    calls = _list(message.get("tool_calls")) if isinstance(message, dict) else []
    return bool(calls) and message is not turns[-1] and None not in _called(calls)


def _called(calls: list[Any]) -> set[str | None]:
    """The answers that calls of tools give, None for those of other tools."""
    return {_argument(call.get("function", call) if isinstance(call, dict) else call) for call in calls}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _text(content: Any) -> str:
    """A message's content: text, or a list of parts of which those of text count."""
    if isinstance(content, str):
        return content
    parts = [part for part in _list(content) if isinstance(part, dict) and part.get("type") in ("text", "output_text")]
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _argument(call: Any) -> str | None:
    """The argument of a call of `answer`; None for other calls and for what is no call."""
    try:
        tree = json.loads(call) if isinstance(call, str) else call
        arguments = tree.get("arguments", tree.get("parameters"))
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        answer = arguments["answer"] if tree.get("name") == "answer" else None
        return str(answer).strip() if isinstance(answer, (str, int, float)) else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


class _Reader:
    """One pass over generated text, from mark to mark. `answer` is that of the message being read, `final` that of the
    last message which said something."""

    def __init__(self, text: str) -> None:
        self.text, self.role = text, "assistant"
        self.final: str | None = None
        self.begin()
        self.place = 0
        for mark in _MARK.finditer(text):
            if not self.said:
                self.hear(mark.start())
            self.place = mark.end()
            if mark.lastgroup == "tag":
                self.tag(mark["tag"].lower(), bool(mark["closes"]), mark)
            else:
                self.read(mark)
        self.hear(len(text))
        self.finish()

    def begin(self) -> None:
        self.answer: str | None = None
        self.called: str | None = None
        self.said = self.stale = False
        self.inside: list[str] = []  # thoughts, tool output and searches that are open
        self.others: dict[str, list[int]] = {}  # where other tags were opened
        self.start = self.call = self.answered_at = -1

    def finish(self) -> None:
        if self.role in _ASSISTANT and self.said:
            self.final = self.answer

    def hear(self, end: int) -> None:
        if not self.observing() and self.role in _ASSISTANT:
            self.said = self.said or bool(self.text[self.place : end].strip())

    def observing(self) -> bool:
        return bool(self.inside) and self.inside[-1] in _OUTPUTS

    def read(self, mark: re.Match[str]) -> None:
        if mark["special"]:
            self.special(unicodedata.normalize("NFKC", mark["special"]).lower().replace("▁", "_"), mark)
        elif mark["kimi"]:
            self.tag("think", bool(mark["done"]), mark)
        elif mark["bracket"]:
            name, ends = mark["bracket"].upper(), bool(mark["ends"])
            if name == "TOOL_RESULTS" and not ends:
                self.turn("calls")
            if name in ("THINK", "TOOL_RESULTS"):
                self.tag(name.lower(), ends, mark)
            else:
                self.turn("assistant" if ends else "calls" if name == "TOOL_CALLS" else "user")
        elif mark["step"]:
            if self.role not in _ASSISTANT:
                self.turn("assistant")
            self.said = self.said or mark["step"].lower().startswith("thought")
        elif mark["role"]:
            self.turn(mark["role"].lower())
        else:
            self.turn("assistant" if mark["channel"] and mark["channel"].lower() == "final" else "thought")

    def special(self, name: str, mark: re.Match[str]) -> None:
        """A token of a chat template, such as <|im_start|> or <｜tool▁outputs▁end｜>."""
        parts = set(name.split("_"))
        after = _ROLE.match(self.text, mark.end())
        if after and (name in _OPENS_TURN or name == "channel"):
            self.place = after.end()
        if name in _OPENS_TURN:
            self.turn(after[1].lower() if after else "")
        elif name == "channel":
            self.turn("assistant" if after and after[1].lower() == "final" else "thought")
        elif name in _ENDS_TURN:
            self.turn("")
        elif parts & {"think", "thinking", "thought"}:
            self.tag("think", "end" in parts, mark)
        elif parts & {"outputs", "results"} and "end" in parts:
            self.turn("assistant")
        elif parts & (_OTHERS | _ASSISTANT):
            self.turn("assistant" if parts & _ASSISTANT else "tool")

    def turn(self, role: str) -> None:
        """Somebody else speaks. Within tool output that is text, and an assistant's thought goes on until it ends."""
        if self.observing() or (self.inside and role in _ASSISTANT and self.role in _ASSISTANT):
            return
        self.finish()
        self.role = role
        self.begin()

    def tag(self, name: str, closes: bool, mark: re.Match[str]) -> None:
        top = self.inside[-1] if self.inside else ""
        if top in _OUTPUTS or top == "search":
            if name == top:
                self.inside.pop() if closes else self.inside.append(name)
                self.observed(name)
        elif self.call >= 0:
            if name == "tool_call":
                if closes:
                    self.act(_argument(self.text[self.call : mark.start()]))
                self.call = -1 if closes else mark.end()
        elif name in _WRAPPERS:
            self.wrapper(name, closes)
        elif name == "end_of_turn" or (name == "s" and closes):
            self.turn("")
        elif name == "start_of_turn":
            self.special(name, mark)
        elif not self.inside:
            self.plain(name, closes, mark)

    def observed(self, name: str) -> None:
        """What comes after tool output is a new message; a thought that it stood in is open until the next begins."""
        if name in _OUTPUTS and name not in self.inside:
            if self.inside:
                self.stale = True
            else:
                self.role = "assistant" if self.role == "calls" else self.role
                self.begin()

    def wrapper(self, name: str, closes: bool) -> None:
        self.start = -1
        if closes and name in self.inside:
            del self.inside[len(self.inside) - 1 - self.inside[::-1].index(name) :]
        elif closes:
            # It was opened by the prompt, or within: all that came before stood in it.
            self.begin()
            self.final, self.said = None, True
        else:
            if self.stale and name in _THOUGHTS:
                self.inside, self.stale = [], False
            if name == "search" and not self.inside:
                self.answer = None
            if name in _OUTPUTS and not self.inside:
                self.finish()
            self.inside.append(name)

    def plain(self, name: str, closes: bool, mark: re.Match[str]) -> None:
        if name == "answer" and not closes:
            self.start = mark.end()
        elif name == "answer" and self.start >= 0:
            self.answer = _FORMAT.sub("", self.text[self.start : mark.start()]).strip()
            self.answered_at, self.start, self.said = mark.start(), -1, True
        elif name == "tool_call" and not closes:
            self.call, self.start, self.said = mark.end(), -1, True
        elif name not in _FORMATTING and name != "answer":
            self.start, self.said = -1, True
            if not closes:
                self.others.setdefault(name, []).append(mark.start())
            elif self.others.get(name) and self.others[name].pop() < self.answered_at:
                self.answer = None

    def act(self, answer: str | None) -> None:
        """A tool is called: two calls of `answer` that differ give none, and so does an answer before another call."""
        self.answer = answer if self.called in (None, answer) else None
        self.called, self.answered_at = answer or self.called, self.call
