"""JSON schemas of tools and answers: as they are sent, and what they make of a value that a model wrote."""

import json
import re
from typing import Any

import orjson

_SURROGATES = re.compile(r"[\ud800-\udfff]")
_CHOICES = ("anyOf", "oneOf")
_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "integer": (int,),
    "number": (int, float), "null": (type(None),),
}  # fmt: skip
_LEAST = {"string": "...", "integer": 1, "number": 1, "boolean": True}
_STRUCTURES = frozenset({"object", "array"})


def inlined(schema: Any) -> Any:
    """The schema with every `$ref` replaced by what it names, since some servers drop `$defs` and leave the model to
    guess; a schema that holds itself is open at that place."""
    return _inlined(schema, schema.get("$defs", {}) if isinstance(schema, dict) else {}, frozenset())


def _inlined(schema: Any, defined: dict[str, Any], within: frozenset[str]) -> Any:
    if isinstance(schema, list):
        return [_inlined(item, defined, within) for item in schema]
    if not isinstance(schema, dict):
        return schema
    tree: dict[str, Any] = {}
    if isinstance(ref := schema.get("$ref"), str):
        name = ref.rpartition("/")[2]
        tree = {} if name in within else _inlined(defined.get(name, {}), defined, within | {name})
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            tree[key] = {name: _inlined(item, defined, within) for name, item in value.items()}
        elif key not in ("$ref", "$defs"):
            tree[key] = _inlined(value, defined, within)
    return tree


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Does the value have the shape of an inlined schema: types, names and choices? Lengths are not asked for."""
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    choices = next((schema[key] for key in _CHOICES if key in schema), None)
    if choices is not None and not any(fits(value, choice) for choice in choices):
        return False
    kinds = _kinds(schema)
    if kinds and not any(isinstance(value, _KINDS[kind]) for kind in kinds):
        return False
    if kinds and isinstance(value, bool) and "boolean" not in kinds:
        return False
    if isinstance(value, list):
        return "items" not in schema or all(fits(item, schema["items"]) for item in value)
    if not isinstance(value, dict):
        return True
    properties = schema.get("properties", {})
    if not set(schema.get("required", ())) <= value.keys():
        return False
    if schema.get("additionalProperties") is False and not value.keys() <= properties.keys():
        return False
    return all(fits(value[name], part) for name, part in properties.items() if name in value)


def skeleton(schema: dict[str, Any]) -> Any:
    """The least value of the shape of an inlined schema, with dots for every text: what a model is shown as right."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if choices := next((schema[key] for key in _CHOICES if key in schema), None):
        return skeleton(choices[0])
    properties = schema.get("properties", {})
    if "array" in _kinds(schema):
        return [skeleton(schema["items"])] if "items" in schema else []
    if "object" in _kinds(schema):
        return {name: skeleton(properties[name]) for name in schema.get("required", ()) if name in properties}
    return next((least for kind, least in _LEAST.items() if kind in _kinds(schema)), "...")


def decoded(value: Any, schema: dict[str, Any], *, scalars: bool = False) -> Any:
    """The value with every text that is the JSON of a structure as that structure, where an inlined schema wants one
    and takes no text; with `scalars` numbers, truth values and null too. The very value where there is nothing to do.
    """
    kinds = _kinds(schema) or {kind for key in _CHOICES for choice in schema.get(key, ()) for kind in _kinds(choice)}
    wanted = kinds if scalars else kinds & _STRUCTURES
    if isinstance(value, str) and wanted and "string" not in kinds:
        read = read_json(value)
        if not any(isinstance(read, _KINDS[kind]) for kind in wanted):
            return value
        value = read
    for choice in (choice for key in _CHOICES for choice in schema.get(key, ())):
        if any(isinstance(value, _KINDS[kind]) for kind in _kinds(choice) & _STRUCTURES):
            return decoded(value, choice, scalars=scalars)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        parts = {
            name: decoded(value[name], part, scalars=scalars) for name, part in properties.items() if name in value
        }
        return {**value, **parts} if any(part is not value[name] for name, part in parts.items()) else value
    if isinstance(value, list) and "items" in schema:
        items = [decoded(item, schema["items"], scalars=scalars) for item in value]
        return items if any(item is not old for item, old in zip(items, value, strict=True)) else value
    return value


def read_json(text: str, *, strict: bool = False) -> Any:
    """The value of a JSON text, in which raw control characters are allowed unless it is `strict`; the text itself
    where it is none."""
    try:
        return json.loads(text, strict=strict)
    except (ValueError, RecursionError):
        return text


def written(value: Any) -> str:
    """The value as JSON text, without lone surrogates; nothing where it is none or is nested too deep."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        pass
    try:
        return scrubbed(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return ""


def scrubbed(text: str) -> str:
    """The text without lone surrogates, which are no Unicode."""
    return _SURROGATES.sub("\ufffd", text)


def _kinds(schema: Any) -> set[str]:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return {kind} & _KINDS.keys() if isinstance(kind, str) else set(kind or ()) & _KINDS.keys()
