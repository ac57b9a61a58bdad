"""What counts as a plug-in: a module that has what the Protocol of its package's `base.py` asks for."""

import ast

from tests.rules.source import ROOT

PIPELINE = ROOT / "pipeline"


def asked(text: str) -> set[str]:
    """The methods that the Protocol of a `base.py` asks for."""
    protocols = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Protocol" for base in node.bases)
    ]
    return {name for node in protocols for name in functions(node)}


def has(text: str, methods: set[str]) -> bool:
    """Does the module define all of these, or a class in it more than half of them (it may inherit the rest)?"""
    tree = ast.parse(text)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return methods <= functions(tree) or any(2 * len(methods & functions(c)) > len(methods) for c in classes)


def functions(home: ast.Module | ast.ClassDef) -> set[str]:
    return {f.name for f in home.body if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)}


def plugins(folder: str) -> list[str]:
    methods = asked((PIPELINE / folder / "base.py").read_text())
    assert methods, f"pipeline/{folder}/base.py has no Protocol"
    files = [file for file in sorted((PIPELINE / folder).glob("*.py")) if file.stem not in ("__init__", "base")]
    return [file.stem for file in files if has(file.read_text(), methods)]
