"""What no file of the product does: run what it read, hide an error, listen to the world, change a value."""

import ast
import re
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.types import Data, Slotted
from pipeline.types.data import slotted
from tests.rules.source import Source, called, check, docstrings

MODULES = (
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "yaml",
    "ruamel",
    "diskcache",
    "litellm",
)
SWITCHES = ("trust_remote_code", "allow_pickle", "shell")
CALLS = ("eval", "exec", "compile", "os.system", "os.popen", "pty.spawn", "breakpoint")
WIDE_OPEN = re.compile(r"\b0\.0\.0\.0\b|^::$|\[::\]")
SERVERS = ("start_server", "create_server", "bind", "uvicorn.run", "HTTPServer", "ThreadingHTTPServer", "run_app")


def modules(source: Source) -> list[str]:
    bad = [i for i in source.imports if i.module.split(".")[0] in MODULES]
    return [f"{source.path}:{i.line}: imports {i.module}" for i in bad]


def calls(source: Source) -> list[str]:
    found = []
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        if called(node) in CALLS:
            found.append(source.at(node, f"calls {called(node)}"))
        found += [source.at(node, f"passes {k.arg}") for k in node.keywords if k.arg in SWITCHES and not _off(k.value)]
    return found


def _off(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def swallowed(source: Source) -> list[str]:
    """A bare `except`, or an `except Exception` whose body only passes, continues or returns nothing."""
    bad = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler):
            wide = node.type is None or (_all_errors(node.type) and all(map(_silent, node.body)))
        else:
            given = node.args if isinstance(node, ast.Call) and called(node).rpartition(".")[2] == "suppress" else []
            wide = any(map(_all_errors, given))
        bad += [node] if wide else []
    return [source.at(node, "hides every error") for node in bad]


def _all_errors(kind: ast.expr) -> bool:
    return ast.unparse(kind) in ("Exception", "BaseException")


def _silent(statement: ast.stmt) -> bool:
    constant = isinstance(statement, ast.Return | ast.Expr) and isinstance(statement.value, ast.Constant | None)
    return constant or isinstance(statement, ast.Pass | ast.Continue | ast.Break)


def wide_open(source: Source) -> list[str]:
    """The address of all interfaces, or a server that is given an empty host."""
    skip = docstrings(source.tree)
    bad: list[ast.AST] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skip:
            bad += [node] if WIDE_OPEN.search(node.value) else []
        elif isinstance(node, ast.Call) and called(node).rpartition(".")[2] in SERVERS:
            bad += [node] if any(isinstance(a, ast.Constant) and a.value == "" for a in ast.walk(node)) else []
    return [source.at(node, "listens to the world; servers bind 127.0.0.1") for node in bad]


def prints(source: Source) -> list[str]:
    """Text for a terminal goes through pipeline/cli, which takes its escapes out."""
    if source.path.startswith("pipeline/cli/"):
        return []
    bad = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and called(n) in ("print", "rich.print")]
    return [source.at(node, "prints; only pipeline/cli does") for node in bad]


def encodings(source: Source) -> list[str]:
    """Text that is read as the machine happens to write it: digests and prompts would differ between two."""
    bad = [
        n
        for n in ast.walk(source.tree)
        if isinstance(n, ast.Call) and called(n).endswith("read_text") and not n.keywords
    ]
    return [source.at(node, 'reads text without encoding="utf-8"') for node in bad]


def models(source: Source) -> list[str]:
    """Every model is a `Data` or `Slotted` of `types` and leaves its rules alone: frozen, nothing unknown, no NaN."""
    if source.path == "pipeline/types/data.py":
        return []
    lax = [i for i in source.imports if i.module.startswith("pydantic.dataclasses")]
    found = [f"{source.path}:{i.line}: imports {i.module}; a class is @slotted instead" for i in lax]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
            if bases & {"BaseModel", "RootModel", "BaseSettings", "TypedDict"}:
                found.append(source.at(node, f"{node.name} is no types.Data"))
            if any("model_config" in ast.unparse(s).partition("=")[0] for s in node.body):
                found.append(source.at(node, f"{node.name} changes the configuration of types.Data"))
            if "Slotted" in bases and "slotted" not in map(ast.unparse, node.decorator_list):
                found.append(source.at(node, f"{node.name} is not @slotted, and checks nothing"))
    return found


RULES = (modules, calls, swallowed, wide_open, prints, encodings, models)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_product_is_free_of(rule) -> None:
    check(rule, "pipeline", "flows")


def test_data_is_frozen_and_knows_its_fields() -> None:
    class Pair(Data):
        x: float

    with pytest.raises(ValidationError):
        Pair(x=1.0).x = 2.0  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Pair(x=1.0, y=2)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        Pair(x=float("nan"))


def test_so_is_what_has_slots_and_so_are_its_copies() -> None:
    @slotted
    class Pair(Slotted):
        x: float

    with pytest.raises(AttributeError):
        Pair(x=1.0).x = 2.0  # type: ignore[misc]
    wrongs: tuple[dict[str, Any], ...] = ({"y": 2}, {"x": float("nan")}, {"x": "one"})
    for wrong in wrongs:
        with pytest.raises(ValidationError):
            Pair(**{"x": 1.0, **wrong})
        with pytest.raises(ValidationError):
            Pair(x=1.0).model_copy(update=wrong)
    assert Pair(x=1.0).model_copy(update={"x": 2.0}) == Pair(x=2.0)
    assert not hasattr(Pair(x=1.0), "__dict__")


PLANTED = [
    (modules, "import pickle"),
    (modules, "from yaml import safe_load"),
    (modules, "def f():\n    import litellm.utils"),
    (modules, "import importlib\nimportlib.import_module('diskcache')"),
    (calls, "eval(text)"),
    (calls, "exec('x = 1')"),
    (calls, "load(name, trust_remote_code=True)"),
    (calls, "load(name, trust_remote_code=flag)"),
    (calls, "np.load(path, allow_pickle=True)"),
    (calls, "subprocess.run(line, shell=True)"),
    (swallowed, "try:\n    f()\nexcept:\n    raise"),
    (swallowed, "try:\n    f()\nexcept Exception:\n    pass"),
    (swallowed, "def g():\n    try:\n        f()\n    except BaseException as e:\n        return None"),
    (swallowed, "with contextlib.suppress(Exception):\n    f()"),
    (wide_open, "serve(host='0.0.0.0')"),
    (wide_open, "HOST = 'http://0.0.0.0:80'"),
    (wide_open, "listener.bind(('', 8000))"),
    (prints, "print(passage.text)"),
    (encodings, "Path('a').read_text()"),
    (encodings, "(ROOT / name).read_text().splitlines()"),
    (models, "class A(BaseModel):\n    x: int"),
    (models, "class A(pydantic.BaseModel):\n    x: int"),
    (models, "class A(Data):\n    model_config = ConfigDict(frozen=False)"),
    (models, "class A(TypedDict):\n    x: int"),
    (models, "class A(Slotted):\n    x: int"),
    (models, "from pydantic.dataclasses import dataclass"),
]


@pytest.mark.parametrize(("rule", "text"), PLANTED)
def test_a_planted_misdeed_is_caught(rule, text: str) -> None:
    assert rule(Source("pipeline/dataset/views/planted.py", text))


@pytest.mark.parametrize(
    "text",
    [
        "re.compile('x')",
        "try:\n    f()\nexcept OSError:\n    pass",
        "try:\n    f()\nexcept Exception as error:\n    raise DigsiteError(str(error)) from error",
        "'''Servers never bind 0.0.0.0.'''",
        "VERSION = '10.0.0.0'",
        "np.load(path, allow_pickle=False)",
        "Path('a').read_text(encoding='utf-8')",
        "class A(Data):\n    x: int",
        "@slotted\nclass A(Slotted):\n    x: int",
    ],
)
def test_what_is_fine_is_not_caught(text: str) -> None:
    assert [message for rule in RULES for message in rule(Source("pipeline/dataset/views/planted.py", text))] == []
