"""The tools of an environment as methods: standard library only, so that it can be copied into any trainer."""

import inspect
from collections.abc import Callable
from typing import Any

TYPES = {"string": str, "integer": int}


def add_tools(base: type, tools: list[dict[str, Any]]) -> type:
    """Return a subclass of `base` with one method for each tool of environment.json.

    The methods call `_call(name, arguments)` of `base`. TRL takes a tool's name from `__name__`, and sorts methods by
    the name of the attribute.
    """
    methods = {f"tool{index}_{tool['name']}": _make_method(tool) for index, tool in enumerate(tools)}
    return type(base.__name__, (base,), methods)


def _make_method(tool: dict[str, Any]) -> Callable[..., str]:
    """Make a method with the signature and docstring from which transformers builds the schema of the tool."""

    def method(self: Any, **arguments: Any) -> str:
        return str(self._call(tool["name"], arguments))

    properties, kind = tool["parameters"]["properties"], inspect.Parameter.POSITIONAL_OR_KEYWORD
    hints = {name: TYPES[part["type"]] for name, part in properties.items()}
    optional = properties.keys() - {*tool["parameters"]["required"]}
    parameters = [
        inspect.Parameter(name, kind, annotation=hint, default=None if name in optional else inspect.Parameter.empty)
        for name, hint in hints.items()
    ]
    described = "\n".join(f"    {name}: {part['description']}" for name, part in properties.items())
    method.__name__, method.__annotations__ = tool["name"], hints
    method.__doc__ = f"{tool['description']}\n\nArgs:\n{described}\n"
    method.__signature__ = inspect.Signature([inspect.Parameter("self", kind), *parameters])  # type: ignore[attr-defined]
    return method
