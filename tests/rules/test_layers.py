"""Who may import whom. A layer imports lower ones and its own; within a layer no two packages import each other."""

import pytest

from tests.rules.source import Source, check, tree

LAYERS: tuple[tuple[str, ...], ...] = (
    # Contracts stand below what implements them; `embedded/__init__` is the digest of its own code and nothing else.
    (
        "types",
        "errors",
        "folders",
        "text",
        "store",
        "redact",
        "llm.base",
        "llm.settings",
        "llm.weights",
        "retrieval.base",
        "retrieval.settings",
        "readers.base",
        "gates.base",
        "embedded.__init__",
        "shipped",
    ),
    ("config", "toml", "presets", "registry", "prompts", "agents.parse"),
    ("corpus", "readers", "retrieval", "llm", "embedded"),
    ("agents", "audit", "answers", "assess", "gates", "distractors"),
    (
        "strategies",
        "episode",
        "measure",
        "process",
        "plan",
        "cleaning",
        "encounters",
        "teaching",
        "branching",
        "adversary",
    ),
    ("run", "doctor"),
    ("views", "chat", "spellings", "report", "export", "serve", "review", "hub"),
    ("cli",),
    ("flows",),
)
NETWORK = (
    "requests",
    "urllib.request",
    "urllib3",
    "httpx",
    "socket",
    "http.client",
    "http.server",
    "aiohttp",
    "openai",
    "httpx2",
    "uvicorn",
    "fastapi",
    "starlette",
    "huggingface_hub",
)
WIRED = (
    "pipeline/llm/",
    # Training searches the very index that the data was made from, so it must be served; and the embedded model is.
    "pipeline/serve/door.py",
    "pipeline/serve/connections.py",
    # A team's own index is searched where it stands.
    "pipeline/retrieval/http.py",
    # A finished data set is pushed when a person asks for it.
    "pipeline/hub.py",
    # Prefect's own server is started, and asked on the loopback whether it is up.
    "flows/server.py",
)
"""The only files that talk to a network, and why."""


def unit(module: str) -> str:
    """The package or module of ours that a dotted name belongs to, and `flows` for all of it; empty for others."""
    parts = module.split(".")
    if parts[0] == "flows":
        return "flows"
    return parts[1] if parts[0] == "pipeline" and len(parts) > 1 else ""


def layer(module: str) -> int | None:
    """The longest entry of LAYERS that fits; none for what stands in no layer."""
    inside = module.removeprefix("pipeline.")
    package = f"{inside}.__init__"
    for name in (package, *(inside.rsplit(".", n)[0] for n in range(inside.count(".") + 1))):
        for level, names in enumerate(LAYERS):
            if name in names:
                return level
    return None


def layers(source: Source) -> list[str]:
    if source.module == "pipeline":
        return [source.at(source.tree, f"imports {i.module}") for i in source.imports if unit(i.module)]
    here = layer(source.module)
    if here is None:
        return [f"{source.path}: stands in no layer; give it one in tests/rules/test_layers.py"]
    found = []
    for item in source.imports:
        if item.relative:
            found.append(f"{source.path}:{item.line}: relative import")
        there = layer(item.module) if unit(item.module) else None
        # `from pipeline.embedded import x` names the package and then the module: the module is what counts.
        if there is not None and there > here:
            found.append(f"{source.path}:{item.line}: layer {here} imports {item.module} of layer {there}")
    return found


def prefect(source: Source) -> list[str]:
    bad = [i for i in source.imports if i.module.split(".")[0] == "prefect" and not source.path.startswith("flows/")]
    return [f"{source.path}:{i.line}: imports {i.module}; only flows/ may" for i in bad]


def flows(source: Source) -> list[str]:
    bad = [i for i in source.imports if i.module.split(".")[0] == "flows" and source.path.startswith("pipeline/")]
    return [f"{source.path}:{i.line}: imports {i.module}; the product does not know its flows" for i in bad]


def network(source: Source) -> list[str]:
    if source.path.startswith(WIRED):
        return []
    bad = [i for i in source.imports if any(i.module == name or i.module.startswith(f"{name}.") for name in NETWORK)]
    return [f"{source.path}:{i.line}: imports {i.module}; only {', '.join(WIRED)} talk to a network" for i in bad]


def one_level(source: Source) -> list[str]:
    return [f"{source.path}: packages are one level deep"] if source.path.count("/") > 2 else []


def cycles(sources: tuple[Source, ...]) -> list[str]:
    """Packages that import each other, when contracts (layer 0) are left out."""
    edges = {
        (unit(s.module), unit(i.module))
        for s in sources
        for i in s.imports
        if unit(s.module) and unit(i.module) and layer(s.module) != 0 and layer(i.module) != 0
    }
    return [f"{a} and {b} import each other" for a, b in sorted(edges) if a < b and (b, a) in edges]


@pytest.mark.parametrize("rule", [layers, prefect, flows, network, one_level], ids=lambda rule: rule.__name__)
def test_the_product_keeps_to(rule) -> None:
    check(rule, "pipeline", "flows")


def test_no_two_packages_import_each_other() -> None:
    assert cycles(tree("pipeline", "flows")) == []


PLANTED = [
    (layers, "pipeline/text.py", "from pipeline.config import RunConfig"),
    (layers, "pipeline/text.py", "def f():\n    import pipeline.corpus.loading"),
    (layers, "pipeline/assess.py", "from pipeline import episode"),
    (layers, "pipeline/embedded/__init__.py", "from pipeline.prompts import load"),
    (layers, "pipeline/registry.py", "from importlib import import_module\nimport_module('pipeline.views.qa')"),
    (layers, "pipeline/views/qa.py", "from . import base"),
    (layers, "pipeline/newcomer.py", "x = 1"),
    (layers, "pipeline/__init__.py", "from pipeline.run import generate"),
    (prefect, "pipeline/run.py", "from prefect import flow"),
    (prefect, "pipeline/cli/app.py", "def f():\n    import prefect.states"),
    (flows, "pipeline/cli/app.py", "from flows.generate import generate"),
    (flows, "pipeline/cli/app.py", "import importlib\nimportlib.import_module('flows.generate')"),
    (network, "pipeline/corpus/loading.py", "from urllib.request import urlopen"),
    (network, "pipeline/retrieval/lucene.py", "import requests"),
    (network, "flows/generate.py", "import httpx"),
    (network, "pipeline/cli/serve.py", "import uvicorn"),
    (network, "pipeline/serve/retrieval.py", "from fastapi import FastAPI"),
    (network, "pipeline/export.py", "from huggingface_hub import HfApi"),
    (one_level, "pipeline/audit/checks/deep.py", "x = 1"),
]


@pytest.mark.parametrize(("rule", "path", "text"), PLANTED)
def test_a_planted_import_is_caught(rule, path: str, text: str) -> None:
    assert rule(Source(path, text))


def test_a_planted_cycle_is_caught() -> None:
    one = Source("pipeline/audit/x.py", "from pipeline.agents.loop import converse")
    other = Source("pipeline/agents/x.py", "import pipeline.audit")
    assert cycles((one, other))
    assert not cycles((one,))


def test_what_is_allowed_is_not_caught() -> None:
    good = "from pipeline.types import Draft\nfrom pipeline.audit.evidence import gather\nimport numpy\n"
    assert [rule(Source("pipeline/audit/x.py", good)) for rule in (layers, prefect, flows, network)] == [[]] * 4
