"""The tree as the rules see it: every source file parsed once, with its imports resolved to module names."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

BY_NAME = ("import_module", "importlib.import_module", "__import__")
ROOT = Path(__file__).resolve().parents[2]
FOREIGN = (
    "pipeline.reward.taskset",
    "pipeline.reward.verl_sft",
    *(f"pipeline.exports.environments.{name}" for name in ("nemo_gym", "openenv", "shared", "verifiers")),
)
"""Modules that import a trainer, or files that are beside them only where they are shipped."""


@dataclass(frozen=True)
class Import:
    """`module` is absolute; `from a import b` gives `a.b` too where that is a module of ours."""

    module: str
    line: int
    relative: bool = False


@dataclass(frozen=True)
class Source:
    """One file. `path` is relative to the root, with forward slashes."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, as `ast.walk` yields them."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def module(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(_imports(self.tree))

    def at(self, node: ast.AST, what: str) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}: {what}"


@cache
def tree(*folders: str) -> tuple[Source, ...]:
    """Every Python file below the folders, in order."""
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return tuple(Source(path.relative_to(ROOT).as_posix(), path.read_text()) for path in files)


def _imports(node: ast.AST) -> Iterator[Import]:
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = child.module or ""
            yield Import(base, child.lineno, bool(child.level))
            for alias in child.names:
                if _is_module(f"{base}.{alias.name}"):
                    yield Import(f"{base}.{alias.name}", child.lineno, bool(child.level))
        elif isinstance(child, ast.Call) and called(child) in BY_NAME and isinstance(child.args[0], ast.Constant):
            yield Import(str(child.args[0].value), child.lineno)


@cache
def _is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or path.is_dir()


def called(node: ast.Call) -> str:
    """The dotted name of what is called: `open`, `shutil.copy`; of `x().y()` only `.y`."""
    return dotted(node.func)


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def docstrings(node: ast.AST) -> set[int]:
    """Ids of the nodes that are docstrings, or strings under a field that say what it is."""
    return {
        id(child.value)
        for parent in ast.walk(node)
        if isinstance(parent, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for child in parent.body
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
    }
