"""Every prompt of the folder renders with exactly the inputs that it declares, and is called with exactly those."""

import ast
import tomllib
from itertools import pairwise

import jinja2.meta
import pytest
from jinja2 import Environment

from pipeline import prompts
from pipeline.agents import judge, readers, tools
from pipeline.distractors import checks
from pipeline.distractors.kinds import altered, base, hard_negative
from pipeline.loop import graph_review, question_writing, unanswerable
from tests.hostile_texts import HOSTILE
from tests.rules.source import Source, called, tree

NAMES = prompts.names()
OUTPUTS = {
    tool.name
    for tool in (tools.PROPOSE, tools.REVISE, tools.EXPLORE, tools.COMPOSE, tools.ANSWER, tools.GROUND, tools.REWRITE)
} | {
    judge.VERDICT.name,
    readers.READ,
    base.WRITE,
    readers.CHECK,
    graph_review.STEPS,
    question_writing.WORDINGS,
    readers.ABSENT,
    unanswerable.CHANGE,
    checks.DETECT,
    hard_negative.CHOOSE,
    altered.ALTER,
}
BOUNDARY = "0123456789abcdef"
ANY = " ".join(HOSTILE)


def read_source(name: str) -> tuple[str, str]:
    """Return front matter and body."""
    _, front, body = (prompts.ROOT / f"{name}.md").read_text().split("+++\n", 2)
    return front, body


REVISIONS = {"refiner/harden", "refiner/revise"}
"""Prompts that `sage.write_revision` takes by name; the tests of both strategies render them with their inputs."""


def find_variables(body: str) -> set[str]:
    """Return the variables of a Jinja body."""
    return jinja2.meta.find_undeclared_variables(Environment(autoescape=True).parse(body))


def find_calls(sources: tuple[Source, ...]) -> list[tuple[str, str, set[str], str]]:
    """Find every `prompts.load("x").render(boundary, a=…)` and `site.prompt("x", a=…)`.

    Returns prompt, method, inputs and location of each.
    """
    found_calls = []
    for file in sources:
        for node in (n for n in ast.walk(file.tree) if isinstance(n, ast.Call)):
            method = called(node).rpartition(".")[2]
            inner = node.func.value if method == "render" and isinstance(node.func, ast.Attribute) else node
            if not isinstance(inner, ast.Call) or called(inner).rpartition(".")[2] not in ("load", "prompt"):
                continue
            if (method == "prompt" or inner is not node) and inner.args:
                inputs = {k.arg or "**" for k in node.keywords}
                found_calls += [(name, method, inputs, file.at(node, "")) for name in find_names(inner.args[0])]
    return found_calls


def find_names(argument: ast.expr) -> list[str]:
    """Return the prompts that a first argument can name: one for a text, a folder's for `f"folder/{…}"`."""
    match argument:
        case ast.Constant(value=str(name)):
            return [name]
        case ast.JoinedStr(values=[ast.Constant(value=str(folder)), ast.FormattedValue()]) if folder.endswith("/"):
            return [name for name in NAMES if name.startswith(folder)]
    return []


def find_misuses(sources: tuple[Source, ...]) -> list[str]:
    wrong = [
        (place, name, inputs)
        for name, _, inputs, place in find_calls(sources)
        if inputs != set(prompts.load(name).inputs)
    ]
    return [f"{place} gives {name} {sorted(inputs)}" for place, name, inputs in wrong]


def test_the_folder_holds_prompts_for_every_role() -> None:
    assert set(NAMES) >= {
        "generator/propose",
        "refiner/revise",
        "solver/answer",
        "judge/verdict",
        "oracle/read",
        "oracle/steps",
        "closed_book/recall",
        "rival/weigh",
    }
    assert {tomllib.loads(read_source(name)[0])["output"] for name in NAMES} == OUTPUTS


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_uses_exactly_its_declared_inputs(name: str) -> None:
    front, body = read_source(name)
    declared = prompts.load(name).inputs
    assert set(tomllib.loads(front)) == {"inputs", "output"}
    assert len(declared) == len(set(declared)) > 0
    assert "inputs" not in declared
    # `inputs` stands for the fenced block of all of them.
    assert find_variables(body) == {"inputs"} or find_variables(body) == set(declared)


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_renders_with_exactly_its_inputs(name: str) -> None:
    prompt = prompts.load(name)
    values = dict.fromkeys(prompt.inputs, ANY)
    roles = [message.role for message in prompt.render(BOUNDARY, **values)]
    assert roles == ["system", "user"]
    with pytest.raises(ValueError, match="takes"):
        prompt.render(BOUNDARY, **values, one_more="")
    for left_out in prompt.inputs:
        with pytest.raises(ValueError, match="takes"):
            prompt.render(BOUNDARY, **{key: value for key, value in values.items() if key != left_out})


@pytest.mark.parametrize("name", NAMES)
def test_hostile_values_reach_only_the_user_part_and_unchanged(name: str) -> None:
    prompt = prompts.load(name)
    # How many searches a solver has is a setting, and stands in the system part.
    values = {key: "12" if key == "searches" else f"{key} {ANY}" for key in prompt.inputs}
    hostile = {key: value for key, value in values.items() if key != "searches"}
    system, user = prompt.render(BOUNDARY, **values)
    assert (prompts.unfence(user.content) or {"question": user.content}) == hostile
    plain, _ = prompt.render(BOUNDARY, **values | dict.fromkeys(hostile, ""))
    assert system == plain


def test_every_call_gives_a_prompt_exactly_its_inputs() -> None:
    found_calls = find_calls(tree("pipeline"))
    # `RunContext.prompt` substitutes the prompts of `IN_BAND` for others, with its own inputs.
    assert {name for name, *_ in found_calls} == set(NAMES) - {*prompts.IN_BAND.values(), *REVISIONS}, (
        "a prompt that nothing uses, or that is not there"
    )
    assert find_misuses(tree("pipeline")) == []


@pytest.mark.parametrize(
    "text",
    [
        'site.prompt("judge/verdict", question=q)',
        'prompts.load("solver/answer").render("", question=q, answer=a)',
        'load("solver/answer").render("")',
        'site.prompt("solver/answer", **values)',
        'site.prompt(f"distractor/{kind}", question=q)',
    ],
)
def test_a_planted_misuse_is_found(text: str) -> None:
    assert find_misuses((Source("pipeline/planted.py", text),))
    assert not find_misuses((Source("pipeline/planted.py", 'site.prompt("solver/answer", question=q, searches=n)'),))


def test_planted_variables_are_found() -> None:
    assert find_variables("{{ question }} {% if other %}x{% endif %}") == {"question", "other"}


def test_no_two_prompts_are_the_same() -> None:
    digests = sorted(prompts.load(name).digest for name in NAMES)
    assert all(a != b for a, b in pairwise(digests))


@pytest.mark.parametrize("name", NAMES)
def test_line_breaks_of_the_file_never_reach_a_model(name: str) -> None:
    prompt = prompts.load(name)
    system, _ = prompt.render(BOUNDARY, **dict.fromkeys(prompt.inputs, ""))
    for line, after in pairwise(system.content.split("\n")):
        apart = not after or after.lstrip().startswith(("-", *"123456789"))
        assert apart or not line or line.endswith((".", ":")), (
            f"broken within a sentence: {line[-40:]!r} {after[:40]!r}"
        )


def test_lists_fences_and_headings_stay_as_they_are() -> None:
    broken = "# A\nlong\nline\n\n- one\n  more\n- two\nNext\none.\n1. x\n   y\n   - z\n"
    joined = "# A\nlong line\n\n- one more\n- two\nNext one.\n1. x y\n   - z\n"
    unchanged = "```\na\nb\n```\n| a |\n| b |\n{{ inputs }}"
    assert prompts.unwrap_lines(broken + unchanged) == joined + unchanged


def test_values_keep_their_line_breaks() -> None:
    _, user = prompts.load("solver/answer").render("", question="One\ntwo\n- three", searches=12)
    assert user.content == "One\ntwo\n- three"
