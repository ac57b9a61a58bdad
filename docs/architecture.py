"""The page of the packages: what each is for, from its docstring, and what it imports, as grimp finds it."""

import tomllib
from ast import get_docstring, parse
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import NamedTuple

import grimp

from docs.tables import code, made, table

ROOT = Path(__file__).parent.parent
ROW, LEFT, WIDTH = 30, 250, 1000
INTRODUCTION = """Each package imports only packages that stand below it. The command `lint-imports` checks this rule. The picture
leaves out an import if a package also reaches the imported package through another package. The table lists all imports.

![The packages of pipeline, from top to bottom](architecture.svg)
"""
STYLE = """text { font: 15px system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; fill: #52606d; }
.name { font-weight: 600; fill: #1f2933; }
.line { fill: none; stroke: #627d98; stroke-width: 1.2; }
circle { fill: #3b82c4; }
@media (prefers-color-scheme: dark) { text { fill: #9fb3c8; } .name { fill: #e6edf3; } .line { stroke: #9fb3c8; } }"""


class Package(NamedTuple):
    name: str
    purpose: str
    """The first sentence of its docstring."""
    imports: tuple[str, ...]
    """Names of those below it that it imports, from top to bottom."""


def packages() -> list[Package]:
    """Return the packages and single modules of `pipeline`, in the order of the contract in pyproject.toml."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    order = [name.strip() for layer in layers for name in layer.split("|")]
    graph = grimp.build_graph("pipeline", cache_dir=None)
    for name in order:
        graph.squash_module(f"pipeline.{name}")
    found = {name: graph.find_modules_directly_imported_by(f"pipeline.{name}") for name in order}
    return [
        Package(
            name, purpose(name), tuple(other for other in order[number + 1 :] if f"pipeline.{other}" in found[name])
        )
        for number, name in enumerate(order)
    ]


def purpose(name: str) -> str:
    path = ROOT / "pipeline" / name
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = " ".join((get_docstring(parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".") + "."


def page() -> str:
    rows = [(code(one.name), one.purpose, ", ".join(map(code, one.imports))) for one in packages()]
    return made("Architecture", INTRODUCTION) + "\n" + table(["package", "what it is for", "imports"], rows)


def picture() -> str:
    """Draw the packages from top to bottom, with an arc for each import that no chain of other arcs shows."""
    shown = packages()
    place = {one.name: number for number, one in enumerate(shown)}
    behind: dict[str, set[str]] = {}
    for one in reversed(shown):
        behind[one.name] = {*one.imports}.union(*(behind[name] for name in one.imports))
    text = []
    for number, one in enumerate(shown):
        y = (number + 1) * ROW
        text.append(
            f'<circle cx="{LEFT}" cy="{y - 5}" r="4"/><text class="name" x="{LEFT + 14}" y="{y}">{one.name}</text>'
        )
        said = shorten(one.purpose.replace("`", ""), 76, placeholder=" …")
        text.append(f'<text x="{LEFT + 130}" y="{y}">{escape(said)}</text>')
        for other in one.imports:
            if not any(other in behind[middle] for middle in one.imports if middle != other):
                below = (place[other] + 1) * ROW
                radius = (below - y) / 2
                text.append(
                    f'<path class="line" d="M{LEFT} {y - 5}A{min(radius, LEFT - 10)} {radius} 0 0 0 {LEFT} {below - 5}"/>'
                )
    size = f'viewBox="0 0 {WIDTH} {(len(shown) + 1) * ROW}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>The packages of pipeline</title>'
    return "\n".join([head, f"<style>\n{STYLE}\n</style>", *text, "</svg>\n"])
