"""The size and shape of the house: small files, small functions, plain names, nothing left undone.

A function's lines run from its `def` to its end without its docstring. `self` and `cls` are no parameters, and a
command's parameters (public functions of pipeline/cli) are the user's options: they have no limit.
"""

import ast
import re

import pytest

from tests.rules.source import ROOT, Source, check, docstrings

FILE, FUNCTION, PARAMETERS = 300, 40, 6
NAMES = ("utils", "util", "helpers", "helper", "manager", "handler", "handlers", "misc")
UNDONE = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
ELSEWHERE = re.compile(r"(?<![\w.])/work(?![\w-])|\.\./shared|\bissue #?\d+\b", re.IGNORECASE)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(source: Source) -> list[Function]:
    return [node for node in ast.walk(source.tree) if isinstance(node, Function)]


def file_size(source: Source) -> list[str]:
    lines = len(source.text.splitlines())
    return [f"{source.path}: {lines} lines, {FILE} at most"] if lines > FILE else []


def function_size(source: Source) -> list[str]:
    sizes = [(node, (node.end_lineno or 0) - node.lineno + 1 - _docstring(node)) for node in functions(source)]
    return [source.at(n, f"{n.name} has {size} lines, {FUNCTION} at most") for n, size in sizes if size > FUNCTION]


def _docstring(node: Function) -> int:
    first = node.body[0]
    is_one = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return (first.end_lineno or 0) - first.lineno + 1 if is_one else 0


def parameters(source: Source) -> list[str]:
    found = []
    for node in functions(source):
        a = node.args
        names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if p]
        count = len([name for name in names if name not in ("self", "cls")])
        command = source.path.startswith("pipeline/cli/") and not node.name.startswith("_")
        if count > PARAMETERS and not command:
            found.append(source.at(node, f"{node.name} has {count} parameters, {PARAMETERS} at most"))
    return found


def name(source: Source) -> list[str]:
    bad = [part for part in source.module.split(".") if part.strip("_") in NAMES or part.rpartition("_")[2] in NAMES]
    return [f"{source.path}: '{part}' says nothing; name it after what is in it" for part in bad]


def module_docstring(source: Source) -> list[str]:
    text, least = ast.get_docstring(source.tree), 2 if source.path.endswith("__init__.py") else 5
    said = not source.tree.body or (text and len(text.split()) >= least)
    return [] if said else [f"{source.path}: no module docstring that says why it is there"]


def undone(source: Source) -> list[str]:
    lines = enumerate(source.text.splitlines(), 1)
    return [f"{source.path}:{n}: left undone: {line.strip()[:60]}" for n, line in lines if UNDONE.search(line)]


def elsewhere(source: Source) -> list[str]:
    lines = enumerate(source.text.splitlines(), 1)
    return [f"{source.path}:{n}: names a place of the workshop" for n, line in lines if ELSEWHERE.search(line)]


def empty_body(source: Source) -> list[str]:
    """A function of the product that only passes; Protocols end in `...` and are no such thing."""
    skip = docstrings(source.tree)
    found = []
    for node in functions(source):
        rest = [s for s in node.body if not (isinstance(s, ast.Expr) and id(s.value) in skip)]
        raises = [s for s in rest if isinstance(s, ast.Raise) and "NotImplementedError" in ast.unparse(s)]
        if raises or (rest and all(isinstance(s, ast.Pass) for s in rest)):
            found.append(source.at(node, f"{node.name} does nothing"))
    return found


PRODUCT = (file_size, function_size, parameters, name, module_docstring, undone, elsewhere, empty_body)
TESTS = (file_size, function_size, parameters, name, undone)


@pytest.mark.parametrize("rule", PRODUCT, ids=lambda rule: rule.__name__)
def test_the_product_keeps_its_shape(rule) -> None:
    check(rule, "pipeline", "flows")


@pytest.mark.parametrize("rule", TESTS, ids=lambda rule: rule.__name__)
def test_so_do_its_tests(rule) -> None:
    # The planted violations of this folder are the one place where the words may stand.
    check(rule, "tests", but="tests/rules/test_shape.py")


def test_other_files_of_the_product_name_no_place_of_the_workshop() -> None:
    loose = [ROOT / name for name in ("Makefile", "prefect.yaml", "pyproject.toml", "README.md")]
    files = [*loose, *(ROOT / "corpora").glob("*.toml"), *(ROOT / "prompts").rglob("*.md")]
    sources = [Source(f.relative_to(ROOT).as_posix(), f.read_text()) for f in files if f.is_file()]
    assert [message for source in sources for message in elsewhere(source)] == []


PLANTED = [
    (file_size, "pipeline/x.py", "x = 1\n" * 301),
    (function_size, "pipeline/x.py", "def f():\n" + "    x = 1\n" * 40),
    (function_size, "pipeline/x.py", "class A:\n    async def f(self):\n" + "        x = 1\n" * 40),
    (parameters, "pipeline/x.py", "def f(a, b, *, c, d, e, f, g): ..."),
    (parameters, "pipeline/cli/x.py", "def _f(a, b, c, d, e, f, *rest): ..."),
    (name, "pipeline/utils.py", ""),
    (name, "pipeline/llm/retry_helpers.py", ""),
    (name, "pipeline/manager/x.py", ""),
    (module_docstring, "pipeline/x.py", '"""Things."""'),
    (undone, "pipeline/x.py", "x = 1  # TODO: more"),
    (elsewhere, "pipeline/x.py", "PATH = '/work/main'"),
    (elsewhere, "pipeline/x.py", "# see ../shared/DESIGN.md"),
    (elsewhere, "Makefile", "# as issue 2 says"),
    (empty_body, "pipeline/x.py", "def f():\n    pass"),
    (empty_body, "pipeline/x.py", "def f():\n    'Later.'\n    raise NotImplementedError"),
]


@pytest.mark.parametrize(("rule", "path", "text"), PLANTED)
def test_a_planted_misshape_is_caught(rule, path: str, text: str) -> None:
    assert rule(Source(path, text))


def test_what_just_fits_is_not_caught() -> None:
    text = (
        '"""Why this is here at all."""\ndef f(self, a, b, c, d, e, f):\n    """\n    Long.\n    """\n'
        + "    x = 1\n" * 39
    )
    source = Source("pipeline/framework.py", text)
    assert [rule(source) for rule in PRODUCT] == [[]] * len(PRODUCT)
    assert not elsewhere(Source("pipeline/x.py", "URL = 'https://example.org/work-of-art'\ntissue = 3"))
