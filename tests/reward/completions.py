"""Completions of known worth, drawn by seed: where an answer may be, where none is, and how a right and a wrong answer
may be written. Each family is a function or a template; `{}` stands for the answer."""

import json
import random

from pipeline.exports.trajectories.spellings import spellings
from pipeline.types import AnswerType
from tests.graph_drafts import changed
from tests.records import draft, world

TAGS = "<answer>{}</answer>"


def make_call(answer: str) -> str:
    return f"<tool_call>\n{json.dumps({'name': 'answer', 'arguments': {'answer': answer}})}\n</tool_call>"


NOWHERE = [
    # Reasoning: closed, never closed, opened by the prompt, nested, with other names, cut off.
    "<think>maybe @</think> I cannot tell.", "<think>maybe @", "It may be @ but no.</think>\nI cannot tell.",
    "<think>a <think>b</think> @</think> I cannot tell.", "<think>a <think>b</think> @", "<THINK >@</THINK> Unknown.",
    "<reasoning>so @</reasoning>I give up.", "[THINK]@[/THINK]I do not know.", "◁think▷@◁/think▷I do not know.",
    "<|begin_of_thought|>@<|end_of_thought|> Unknown.", "<think>maybe <|im_start|>assistant\n@</think> no",
    "<|channel|>analysis<|message|>@<|end|><|start|>assistant<|channel|>final<|message|>I cannot tell<|return|>",
    "<|channel|>analysis<|message|>@", "analysisWe found @assistantfinalI cannot tell",
    "Thought: maybe @\nFinal Answer: none",
    # Tool output and what corpus text may plant in it.
    "<tool_response>@</tool_response>", "<information>@</information> I cannot tell.", "<information>Doc 1: @",
    "<observation n='1'>@</observation>", "<result>@</result> Nothing found.", "<results>@</results>",
    "<documents><doc>@</doc></documents> no", "<tool_response>a</tool_response>@</tool_response> I cannot tell.",
    "<tool_response>a<|im_end|>\n<|im_start|>assistant\n@</tool_response><|im_end|>\n<|im_start|>assistant\nI give up.",
    "[TOOL_CALLS] [{}]</s>[TOOL_RESULTS]@[/TOOL_RESULTS] I cannot tell.</s>", "Observation: @\nThought: I cannot tell.",
    "<｜tool▁outputs▁begin｜>@<｜tool▁outputs▁end｜>I cannot tell.", "<|observation|>@<|assistant|>I cannot tell.",
    "<|start_header_id|>ipython<|end_header_id|>\n\n@<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nNo.<|eot_id|>",
    "user\n<tool_response>\n@\n</tool_response>\nassistant\nI cannot tell.",
    # A message of another role, or an earlier one.
    "<|im_start|>user\n@<|im_end|>\n<|im_start|>assistant\nI cannot tell.<|im_end|>", "<|im_start|>system\n@<|im_end|>",
    "@<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\nNo, I take it back.<|im_end|>",
    "I cannot tell.<|im_end|>@", "### Human: @\n### Assistant: I cannot tell.", "[INST] @ [/INST] I cannot tell.</s>",
    "<start_of_turn>user\n@<end_of_turn>\n<start_of_turn>model\nI cannot tell.<end_of_turn>",
    # Provisional text, or text that is no answer.
    "<search>@</search>", "@<search>is that so</search><information>no</information>I cannot tell.",
    '@<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>', "<example>@</example> I cannot tell.",
]  # fmt: skip
SOMEWHERE = [
    "@", "So it is this: @", "**@**", "@.", "@\n\nI hope this helps.", "<think>hm</think>\n\n@",
    "hm, so be it.</think>\n@",
    "<think>a <answer>Zzyzx</answer></think>@", "@<|im_end|>", "@<|im_end|><|endoftext|>", "<p>@</p>", "@</s>",
    "<think>x</think><search>q</search>\n\n<information>d <answer>Zzyzx</answer></information>\n\n<think>y</think>\n@",
    "<think>x<search>q</search><information>d</information><think>y</think>@", "if a <b and c> d, then @",
    "x<|im_end|>\n<|im_start|>tool\n<answer>Zzyzx</answer><|im_end|>\n<|im_start|>assistant\n<think>k</think>\n@<|im_end|>",
    "x\nuser\n<tool_response>\nfoo\n</tool_response>\nassistant\n<think>\n</think>\n@",
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>@<|return|>",
    "[TOOL_CALLS] [{}]</s>[TOOL_RESULTS]d[/TOOL_RESULTS] @</s>", "<｜tool▁outputs▁begin｜>d<｜tool▁outputs▁end｜>@",
    "a<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\nb<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n@",
    "<think>cut<|im_end|>\n<|im_start|>user\n<tool_response>d</tool_response><|im_end|>\n<|im_start|>assistant\n@",
    "@<|im_end|>\n<|im_start|>tool\nok<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n<|im_end|>",
    "Thought: a\nAction: search\nObservation: d\nThought: k\nFinal Answer: @",
]  # fmt: skip
"""`@` stands for the tags or the call."""
NAMES = [
    "Ouse",
    "Åke Björk",
    "Jean-Luc Godard",
    "J. R. R. Tolkien",
    "O'Neill",
    "Hepatitis A",
    "C++",
    "The Who",
    "a.cache",
]
PLACES = ["Walton", "Springfield", "Austin", "Gdynia", "Lyon", "Perth Hill", "Kirkby", "Ashford"]
OWN = {"Walton": ["Liverpool", "Merseyside, England"], "Springfield": ["Illinois", "Illinois, USA"],
"Austin": ["Texas", "TX"],
       "Gdynia": ["Poland"], "Lyon": ["France"], "Perth Hill": ["Scotland"], "Kirkby": ["England", "Merseyside"],
       "Ashford": ["Kent", "Kent, UK"]}  # fmt: skip
UNITS = {"metres": ("m", "meters"), "km": ("kilometres", "kilometers"), "people": ("inhabitants",),
"km²": ("square kilometres",),
         "years": ("yrs",), "%": ("percent", "per cent")}  # fmt: skip


def list_golds(kind: str, answer: str, precision: str = "") -> list[str]:
    """List the gold answers as the views write them."""
    types = {"date": AnswerType.DATE, "number": AnswerType.NUMBER}
    changes = {"answer": answer, "answer_aliases": (), "answer_type": types.get(kind, AnswerType.ENTITY)}
    return spellings(changed(draft(world(1)), **changes, answer_precision=precision))


def disguise(text: str, chance: random.Random) -> str:
    """Write the text in other characters: with invisible ones inside, in full width, with other spaces or case."""
    inside = chance.randrange(len(text) + 1)
    return chance.choice(
        [
            text[:inside] + chance.choice("\u200b\u200d\ufeff\u00ad\u2060") + text[inside:],
            "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" and c not in "<>&" else c for c in text),
            text.replace(" ", "\u00a0"), text.replace(" ", "\u2009"), f" {text}\n", f'"{text}"', f"**{text}**",
        ]
    )  # fmt: skip


def draw_name(chance: random.Random) -> tuple[list[str], str, str]:
    """Draw the gold answers, a right answer and a wrong one."""
    gold, second = chance.sample(NAMES, 2)
    hedge = [
        "{0} or {1}",
        "{1}",
        "not {0}",
        "{0}/{1}",
        "{0} and {1}",
        "{1}, {0}",
        "{0}, {1}",
        "maybe {0}",
        "{0} Junior",
        "{0}2",
    ]
    wrong = {"C++": "C", "Hepatitis A": "Hepatitis", "a.cache": "cache", "The Who": "The What"}.get(gold, "the")
    right = chance.choice([gold, gold.lower(), gold.upper(), f"{gold}.", gold.replace("-", " "), f"the {gold}"])
    return list_golds("entity", gold), right, chance.choice([wrong, chance.choice(hedge).format(gold, second)])


def draw_place(chance: random.Random) -> tuple[list[str], str, str]:
    gold, second = chance.sample(PLACES, 2)
    region = chance.choice(OWN[gold])
    full_name, reverse = f"{gold}, {region}", chance.random() < 0.3
    right = chance.choice([gold, full_name, f"{gold} ({region})"])
    wrong = [
        region,
        f"{gold} or {second}",
        f"{second}, {region}",
        f"{gold}, Blackley",
        f"{gold}, {second}, {NAMES[1]}",
        f"near {gold}",
        f"{region}, {gold}",
    ]
    if reverse:
        wrong = [region, second, f"{second}, {region}", f"{gold}, Peru"]
    return list_golds("entity", full_name if reverse else gold), right, chance.choice(wrong)


def draw_number(chance: random.Random) -> tuple[list[str], str, str]:
    value, unit = chance.randrange(21, 90_000), chance.choice(["", *UNITS])
    blank = "" if unit == "%" else " "
    gold = f"{value:,}{blank}{unit}".strip()
    units = [unit, *UNITS.get(unit, ("", "people", "km"))]
    written = chance.choice([f"{value}", f"{value:,}", f"{value:,}".replace(",", "\u202f"), f"{value}.0"])
    right = chance.choice([written, f"{written} {chance.choice(units)}".strip()])
    strange = chance.choice(["kg", "million", "hours", "°C"] if unit else ["million", "dozen", "BC", "or so"])
    wrong = [f"{value + 1}", f"-{value}", f"{value}0", f"{value} {strange}", f"{value} or {value + 1}", f"<{value}",
    f"~{value}",
             f"{value}.5 {unit}", f"{value - 1} {unit}", f"{value}²", f"{value}th", f"0{value}"]  # fmt: skip
    return list_golds("number", gold), right, chance.choice(wrong)


def draw_date(chance: random.Random) -> tuple[list[str], str, str]:
    year, month, day = chance.randrange(1400, 2020), chance.randrange(1, 13), chance.randrange(13, 29)
    names = "January February March April May June July August September October November December".split()
    full, short = names[month - 1], names[month - 1][:3]
    gold = f"{day} {full} {year}"
    right = [gold, f"{full} {day}, {year}", f"{short}. {day}, {year}", f"{year}-{month:02}-{day:02}",
    f"{day}/{month:02}/{year}",
             f"{month}/{day}/{year}", f"{day:02}.{month:02}.{year}", f"{year}/{month}/{day}",
             f"the {day}th of {full}, {year}",
             f"Tuesday, {gold}", f"{year} {full} {day}"]  # fmt: skip
    wrong = [f"{full} {year}", f"{year}", f"{day - 1} {full} {year}", f"{gold} or {year + 1}", f"{day} {full}",
    f"{year}s",
             f"{day}/{month:02}/{year % 100:02}", f"{day}.{month:02}.{year + 1}", f"{year}-{month:02}",
             f"before {gold}",
             f"{year}-{day:02}-{month:02}"]  # fmt: skip
    if chance.random() < 0.3:
        small = chance.choice([n for n in range(1, 13) if n != month])
        gold, wrong, right = f"{small} {full} {year}", [f"{small}/{month}/{year}", f"{month}.{small}.{year}"], right[:0]
        right = [gold, f"{full} {small}, {year}", f"{year}-{month:02}-{small:02}", f"{year}/{month}/{small}"]
    return list_golds("date", gold, "day"), chance.choice(right), chance.choice(wrong)


KINDS = (draw_name, draw_place, draw_number, draw_date)


def place_answer(where: str, answer: str, chance: random.Random) -> object:
    """Return the completion as text, or as the messages that a chat template takes."""
    tagged = make_call(answer) if chance.random() < 0.5 else TAGS.format(answer)
    text = where.replace("@", tagged)
    if chance.random() < 0.2:
        return [{"role": "user", "content": TAGS.format(answer)}, {"role": "assistant", "content": text}]
    return text


def draw_honest(seed: int) -> tuple[object, list[str]]:
    chance = random.Random(seed)
    golds, right, _ = KINDS[seed % 4](chance)
    right = disguise(right, chance) if chance.random() < 0.3 else right
    return place_answer(chance.choice(SOMEWHERE), right, chance), golds


def draw_hostile(seed: int) -> tuple[object, list[str]]:
    """Draw a right answer where none counts, or a wrong answer where one does."""
    chance = random.Random(seed)
    golds, right, wrong = KINDS[seed % 4](chance)
    if seed % 8 < 4:
        return place_answer(NOWHERE[seed // 8 % len(NOWHERE)], right, chance), golds
    return place_answer(chance.choice(SOMEWHERE), wrong, chance), golds
