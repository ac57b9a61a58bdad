"""JSON schemas of tools and answers: their form in a request, and how a model's value is matched and decoded."""

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
_EXAMPLES = {"string": "...", "integer": 1, "number": 1, "boolean": True}
_STRUCTURES = frozenset({"object", "array"})


def inline_refs(schema: Any) -> Any:
    """Return the schema with every `$ref` replaced by its definition.

    Some servers drop `$defs`, so that the model has to guess. A recursive schema accepts anything where it recurs.
    """
    return _inline(schema, schema.get("$defs", {}) if isinstance(schema, dict) else {}, frozenset())


def _inline(schema: Any, definitions: dict[str, Any], outer_names: frozenset[str]) -> Any:
    if isinstance(schema, list):
        return [_inline(part, definitions, outer_names) for part in schema]
    if not isinstance(schema, dict):
        return schema
    tree: dict[str, Any] = {}
    if isinstance(ref := schema.get("$ref"), str):
        name = ref.rpartition("/")[2]
        tree = {} if name in outer_names else _inline(definitions.get(name, {}), definitions, outer_names | {name})
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            tree[key] = {name: _inline(part, definitions, outer_names) for name, part in value.items()}
        elif key not in ("$ref", "$defs"):
            tree[key] = _inline(value, definitions, outer_names)
    return tree


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Return whether the value has the types, names and choices of an inlined schema. Lengths do not matter."""
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
    """Return a minimal example of an inlined schema for a prompt, with dots as texts."""
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
    return next((example for kind, example in _EXAMPLES.items() if kind in _kinds(schema)), "...")


def decode_texts(value: Any, schema: dict[str, Any], *, scalars: bool = False) -> Any:
    """Decode each text in the value that is the JSON of an object or list, if an inlined schema requires that there.

    With `scalars`, decode numbers, booleans and null too. Returns the same object if there is nothing to decode.
    """
    kinds = _kinds(schema) or {kind for key in _CHOICES for choice in schema.get(key, ()) for kind in _kinds(choice)}
    required_kinds = kinds if scalars else kinds & _STRUCTURES
    if isinstance(value, str) and required_kinds and "string" not in kinds:
        parsed = read_json(value)
        if not any(isinstance(parsed, _KINDS[kind]) for kind in required_kinds):
            return value
        value = parsed
    for choice in (choice for key in _CHOICES for choice in schema.get(key, ())):
        if any(isinstance(value, _KINDS[kind]) for kind in _kinds(choice) & _STRUCTURES):
            return decode_texts(value, choice, scalars=scalars)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        parts = {
            name: decode_texts(value[name], part, scalars=scalars) for name, part in properties.items() if name in value
        }
        return {**value, **parts} if any(part is not value[name] for name, part in parts.items()) else value
    if isinstance(value, list) and "items" in schema:
        items = [decode_texts(item, schema["items"], scalars=scalars) for item in value]
        return items if any(item is not old for item, old in zip(items, value, strict=True)) else value
    return value


def read_json(text: str, *, strict: bool = False) -> Any:
    """Return the value of a JSON text, or the text itself if it is not JSON.

    Raw control characters are allowed unless `strict` is true.
    """
    try:
        return json.loads(text, strict=strict)
    except (ValueError, RecursionError):
        return text


def dump_json(value: Any) -> str:
    """Return the value as JSON without lone surrogates, or an empty text if it cannot be dumped."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        pass
    try:
        return replace_surrogates(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return ""


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which are not valid Unicode."""
    return _SURROGATES.sub("\ufffd", text)


def _kinds(schema: Any) -> set[str]:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return {kind} & _KINDS.keys() if isinstance(kind, str) else set(kind or ()) & _KINDS.keys()
