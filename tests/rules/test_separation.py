"""Generator and solver of the demo model share neither code, nor tables, nor wording, nor a commit.

If they did, a question would be hard or easy for the solver because of what both were written with, and the measured
difficulty would mean nothing. Files named `solver*` are the solver's; those of SHARED belong to neither; all others of
pipeline/embedded are the generator's and refiner's, lists of words in `.toml` files too.
"""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterable
from itertools import product
from pathlib import PurePosixPath

import pytest

from tests.rules.source import ROOT, Source, docstrings, tree

HOME = "pipeline/embedded"
SHARED = ("__init__", "observed", "model", "judge", "reader")
OUTSIDE = (
    "pipeline.types",
    "pipeline.text",
    "pipeline.prompts",
    "pipeline.llm",
    "pipeline.llm.base",
    "pipeline.embedded.observed",
)
Sides = tuple[list[Source], list[Source]]


def side(path: str) -> str:
    """`solver`, `generator`, or nothing for a file of neither."""
    place = PurePosixPath(path)
    if place.parent.as_posix() != HOME or place.suffix not in (".py", ".toml") or place.stem in SHARED:
        return ""
    return "solver" if place.stem.startswith("solver") else "generator"


def sides(sources: Iterable[Source]) -> Sides:
    known = [(side(source.path), source) for source in sources]
    return [s for name, s in known if name == "solver"], [s for name, s in known if name == "generator"]


def imports(source: Source) -> list[str]:
    """Each side imports itself, the shared reading of observations and the contracts; nothing else of ours."""
    here = side(source.path)
    found = []
    for item in source.imports:
        if item.module.split(".")[0] not in ("pipeline", "flows", "tests") or item.module in (
            "pipeline",
            "pipeline.embedded",
        ):
            continue
        # `from pipeline.text import words` names no module beyond pipeline.text.
        if item.module not in OUTSIDE and side(item.module.replace(".", "/") + ".py") != here:
            found.append(f"{source.path}:{item.line}: the {here} imports {item.module}")
    return found


def strings(sources: list[Source]) -> dict[str, str]:
    """Every string constant that is no docstring, with where it stands; parts of f-strings too."""
    found: dict[str, str] = {}
    for source in sources:
        skip = docstrings(source.tree)
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skip:
                found.setdefault(node.value, f"{source.path}:{node.lineno}")
    return found


def shared_wording(both: Sides) -> list[str]:
    """A literal of three words or more, or a pattern of substance, that stands on both sides."""
    one, other = (strings(s) for s in both)
    common = [text for text in one.keys() & other.keys() if len(text.split()) >= 3 or _is_pattern(text)]
    return [f"{one[text]} and {other[text]} share {text[:60]!r}" for text in sorted(common)]


def _is_pattern(text: str) -> bool:
    """Long enough to say something, and with more in it than character classes and blanks."""
    return len(text) >= 15 and len(re.findall(r"[\\()\[\]|?*+]", text)) >= 4 and bool(re.search(r"[A-Za-z]{3}", text))


def tables(sources: list[Source]) -> list[tuple[str, frozenset[str]]]:
    """Every list of ten words or more: a literal to be split, or a set, list, tuple or dict of strings.

    Words of three letters or less are left out: articles, prepositions and name particles are nobody's table.
    """
    found = _listed(side(sources[0].path))
    for source in sources:
        skip = docstrings(source.tree)
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skip:
                entries = node.value.split()
            elif isinstance(node, ast.Set | ast.List | ast.Tuple | ast.Dict):
                items = node.keys if isinstance(node, ast.Dict) else node.elts
                entries = [i.value for i in items if isinstance(i, ast.Constant) and isinstance(i.value, str)]
            else:
                continue
            content = frozenset(entry for entry in entries if len(entry) > 3)
            if len(content) >= 10:
                found.append((f"{source.path}:{node.lineno}", content))
    return found


def _listed(of: str) -> list[tuple[str, frozenset[str]]]:
    """The lists of words in the data files of one side: texts to be split, lists of names, and keys of tables."""
    found = []
    for path in sorted((ROOT / HOME).glob("*.toml")):
        if side(f"{HOME}/{path.name}") != of:
            continue
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        tables = [table for table in data.values() if isinstance(table, dict)]
        for table in (data, *tables):
            texts = {key: value.split() if isinstance(value, str) else value for key, value in table.items()}
            lists = [*texts.items(), ("", [*table])] if table is not data else texts.items()
            found += [(f"{path.name}: {key}", frozenset(e for e in entries if len(e) > 3)) for key, entries in lists]
    return [(where, words) for where, words in found if len(words) >= 10]


def shared_tables(both: Sides) -> list[str]:
    pairs = product(tables(both[0]), tables(both[1]))
    return [f"{a} and {b} hold the same words" for (a, x), (b, y) in pairs if 2 * len(x & y) > len(x | y)]


def shared_code(both: Sides) -> list[str]:
    """A function of three statements or more that is the same but for its names."""
    one, other = ({_bones(node): s.at(node, node.name) for s in of for node in _long(s)} for of in both)
    return [f"{one[bones]} is {other[bones]}" for bones in one.keys() & other.keys()]


def _long(source: Source) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, kinds)]
    return [node for node in nodes if sum(isinstance(n, ast.stmt) for n in ast.walk(node)) > 3]


def _bones(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The function's body with all names, annotations and its docstring taken out."""
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return re.sub(r"(\b(?:id|arg|attr|name)=)'[^']*'", r"\1_", "".join(map(ast.dump, body)))


def shared_commits(log: str) -> list[str]:
    """Commits that change both sides, from `git log --name-only --format=%x00%h %s`."""
    found = []
    for entry in log.split("\0")[1:]:
        title, *paths = entry.strip().splitlines()
        if {side(path) for path in paths} >= {"solver", "generator"}:
            found.append(f"commit {title} changes generator and solver together")
    return found


def _both() -> Sides:
    both = sides(tree(HOME))
    if not all(both):
        pytest.skip("one side is not there")
    return both


@pytest.mark.parametrize("rule", [shared_wording, shared_tables, shared_code], ids=lambda rule: rule.__name__)
def test_generator_and_solver_have_nothing_in_common(rule) -> None:
    assert not (found := rule(_both())), "\n".join(found)


def test_neither_imports_the_other() -> None:
    found = [message for of in _both() for source in of for message in imports(source)]
    assert not found, "\n".join(found)


def test_no_commit_changes_both() -> None:
    command = ["git", "log", "--no-merges", "--name-only", "--format=%x00%h %s", "--", HOME]
    try:
        log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no history here")
    if "\0" not in log:
        pytest.skip("no history here")
    assert not (found := shared_commits(log)), "\n".join(found)


SOLVER, GENERATOR = f"{HOME}/solver_x.py", f"{HOME}/generator.py"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (SOLVER, "from pipeline.embedded import model"),
        (SOLVER, "from pipeline.embedded.lexicon import NOUNS"),
        (GENERATOR, "import pipeline.embedded.solver_lexis"),
        (GENERATOR, "from importlib import import_module\nimport_module('pipeline.embedded.solver')"),
        (GENERATOR, "from pipeline.embedded.judge import same"),
        (SOLVER, "from pipeline.agents.tools import render"),
        (SOLVER, "from pipeline.embedded.model import EmbeddedModel"),
    ],
)
def test_a_planted_import_is_caught(path: str, text: str) -> None:
    assert imports(Source(path, text))


def test_what_both_may_import_is_not_caught() -> None:
    text = "from pipeline.text import words\nfrom pipeline.embedded.observed import seen\nimport pipeline.llm.base"
    assert imports(Source(SOLVER, text)) == imports(Source(GENERATOR, text)) == []


JOBS = "actor singer painter poet novelist composer footballer senator bishop engineer architect sculptor"
BODY = "    x = {0}.split()\n    if not x:\n        return None\n    return x[0]\n"


@pytest.mark.parametrize(
    ("rule", "one", "other"),
    [
        (shared_wording, "x = 'the city where'", "y = ['the city where']"),
        (shared_wording, "x = f'the man who {y}'", "z = 'the man who '"),
        (shared_wording, r"re.compile(r'\b(?:born|raised) (in|at)\b')", r"P = r'\b(?:born|raised) (in|at)\b'"),
        (shared_tables, f"x = {JOBS.split()}", f"y = '{JOBS} monarch'.split()"),
        (
            shared_tables,
            f"x = {dict.fromkeys(JOBS.split(), 1)}",
            f"y = {{*{JOBS.split()[2:]}, 'monarch'}}".replace("*[", "").replace("]", ""),
        ),
        (shared_code, "def a(t):\n" + BODY.format("t"), "def b(u):\n    'Why.'\n" + BODY.format("u")),
    ],
)
def test_planted_common_ground_is_caught(rule, one: str, other: str) -> None:
    assert rule(([Source(SOLVER, one)], [Source(GENERATOR, other)]))
    assert not rule(([Source(SOLVER, one)], [Source(GENERATOR, '"""the city where the man who"""')]))


def test_a_planted_commit_is_caught() -> None:
    apart = f"\0abc Tune\n\n{SOLVER}\n{HOME}/observed.py\n\0abd Write\n\n{GENERATOR}\n"
    assert shared_commits(apart) == []
    assert shared_commits(f"{apart}\0abe Change the world\n\n{SOLVER}\n{HOME}/frames.py\n") == [
        "commit abe Change the world changes generator and solver together"
    ]
