"""The words of a question as the clue parser wants them: names in one piece, all else with one letter for its class.

Classes: N name · n noun · j adjective or other premodifier · d determiner · v verb · g participle that may follow a
noun · a auxiliary · p preposition · r relative or question word · o pronoun · s possessive mark · c conjunction ·
, comma · . end · x anything else.
"""

import re
from typing import NamedTuple

from pipeline.embedded.solver_lexis import listed
from pipeline.text import sentences, tagged

_AUX = frozenset(
    "is are was were be been being am has have had do does did will would can could may might shall should must".split()
)
_ASKS = frozenset("who whom whose what which where when why how".split())
_JOINS = frozenset("with of the de la le von van der den del da di du al el bin ibn y & to for and a an in".split())
_MAY_OPEN = listed("may_open")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_DETERMINERS = frozenset("a an the this these those its his her their both all some any each same".split())
_CLASSES = {**dict.fromkeys(_DETERMINERS, "d"), **dict.fromkeys(_ASKS, "r"), **dict.fromkeys(_AUX, "a")}
_MARKS = {",": ",", ";": ",", ":": ",", ".": ".", "?": ".", "!": ".", "'": "s", "’": "s"}
_TAGS = {
    **dict.fromkeys(("VBN", "VBG"), "g"),
    **dict.fromkeys(("IN", "TO"), "p"),
    **dict.fromkeys(("JJ", "PD"), "j"),
    "VB": "v",
    "NN": "n",
    "PR": "o",
    "CC": "c",
}
_QUOTED = re.compile(r"(?<= )['‘]([^'’]+)['’](?=[ ,;.?)])")
_PARTICIPLES = frozenset("born set put built held made known won led sung written founded".split())


class Word(NamedTuple):
    text: str
    kind: str


def lex(question: str) -> list[list[Word]]:
    """One list of words per sentence."""
    question = _QUOTED.sub(r'"\1"', re.sub(r"[“”]", '"', question.strip()))
    return [_sentence(question[span.start : span.end]) for span in sentences(question)]


def _sentence(sentence: str) -> list[Word]:
    tokens = [(t.text, t.tag) for t in tagged(sentence)]
    tokens = _possessives(_ordinals(tokens))
    found: list[Word] = []
    index = 0
    while index < len(tokens):
        end = _name_end(tokens, index, first=not found)
        if end > index:
            found.append(Word(_join([text for text, _ in tokens[index:end]]), "N"))
            index = end
            continue
        found.append(Word(tokens[index][0], _class(tokens, index)))
        index += 1
    return found


def _ordinals(tokens: list[tuple[str, str]]) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    for text, tag in tokens:
        if text.lower() in ("st", "nd", "rd", "th") and out and out[-1][0].isdigit():
            out[-1] = (out[-1][0] + text, "JJ")
        else:
            out.append((text, tag))
    return out


def _possessives(tokens: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Split "Wesson's" and join the blank of "Deivam 's"; a capital 'S belongs to the name."""
    out: list[tuple[str, str]] = []
    for text, tag in tokens:
        match = re.fullmatch(r"(.+)['’]s", text)
        if match and match.group(1).lower() not in ("it", "that", "what", "who"):
            out += [(match.group(1), tag), ("'s", "POS")]
        elif text in ("s", "S") and out and out[-1][0] in ("'", "’"):
            out[-1] = ("'s", "POS")
        else:
            out.append((text, tag))
    return out


def _name_end(tokens: list[tuple[str, str]], index: int, *, first: bool) -> int:
    """Where the name that starts here ends, or `index`."""
    text = tokens[index][0]
    if text == '"':
        close = next((i for i in range(index + 1, len(tokens)) if tokens[i][0] == '"'), -1)
        return close + 1 if close > index + 1 else index
    if text[:1].isdigit() and _capital_at(tokens, index + 1) and not (index and tokens[index - 1][0] in ("-", "–")):
        return _name_end(tokens, index + 1, first=False)
    if not _capital(text) or (first and text.lower() in _MAY_OPEN) or (first and text.lower() in _ASKS):
        return index
    end = index + 1
    while end < len(tokens):
        word = tokens[end][0]
        if _capital(word) or (word.isdigit() and end + 1 < len(tokens) and tokens[end - 1][0] != ","):
            end += 1
        elif word == "(":
            close = next((i for i in range(end, len(tokens)) if tokens[i][0] == ")"), -1)
            if close < 0:
                break
            end = close + 1
        elif (
            (
                word in (",", "-", "–", ":", "!", "/", "&", "..", ".", "'", ";", "...")
                and _capital_at(tokens, end + 1)
                and not (word == "." and len(tokens[end - 1][0]) > 3)
            )
            or (word == "'s" and _capital_at(tokens, end + 1) and tokens[end + 1][0].lower() not in _MAY_OPEN)
            or (_ORDINAL.fullmatch(word) and _capital_at(tokens, end + 1))
            or (
                word == ","
                and end + 2 < len(tokens)
                and _ORDINAL.fullmatch(tokens[end + 1][0])
                and _capital_at(tokens, end + 2)
            )
            or (word == "and" and _capital_at(tokens, end + 2) and tokens[end + 1][0] == "the")
            or (word in _JOINS - {"and", "in"} and _next_capital(tokens, end))
        ):
            end += 1
        else:
            break
    return end


def _next_capital(tokens: list[tuple[str, str]], index: int) -> bool:
    """After one or two joining words, does a capital follow?"""
    return _capital_at(tokens, index + 1) or (
        index + 2 < len(tokens) and tokens[index + 1][0] in _JOINS and _capital_at(tokens, index + 2)
    )


def _capital_at(tokens: list[tuple[str, str]], index: int) -> bool:
    return index < len(tokens) and _capital(tokens[index][0])


def _capital(text: str) -> bool:
    return text[:1].isupper() or (
        text[:1].isdigit()
        and text[-1:].isalpha()
        and len(text) > 2
        and text[-2:].lower() not in ("st", "nd", "rd", "th")
    )


def _join(texts: list[str]) -> str:
    joined = " ".join(text for text in texts if text != '"')
    joined = joined.replace("'S ", "'s ")
    return re.sub(r"\s+([,.:;!?)'’])|(\()\s+", lambda m: m[1] or m[2], joined)


def _class(tokens: list[tuple[str, str]], index: int) -> str:
    text, tag = tokens[index]
    low = text.lower()
    if tag == "POS":
        return "s"
    if low == "that":
        return _that(tokens, index)
    if text in _MARKS or low in _CLASSES:
        return _MARKS.get(text) or _CLASSES[low]
    by = index + 1 < len(tokens) and tokens[index + 1][0] == "by"
    if low in _PARTICIPLES or (tag == "VBD" and by):
        return "g"
    if tag == "CD":
        return "n" if text.isdigit() and len(text) == 4 else "j"
    return _TAGS.get(tag) or _TAGS.get(tag[:2], "x")


def _that(tokens: list[tuple[str, str]], index: int) -> str:
    """A relative pronoun after a noun or before a verb, else a determiner."""
    after = tokens[index + 1][1] if index + 1 < len(tokens) else ""
    before = tokens[index - 1][1] if index else ""
    if index and _CLASSES.get(tokens[index - 1][0].lower()) == "a" and after[:2] in ("NN", "JJ"):
        return "d"  # "When did that town ...?"
    return "r" if before[:2] in ("NN", "CD", "VB", ",", "JJ", "RB") or after[:1] in ("V", "M") else "d"
