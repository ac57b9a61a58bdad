"""Which settings of the default model a role takes."""

from typing import Any

from pipeline.config import address, toml
from pipeline.config.providers import BUILT_IN

_OF_ONE_MODEL = {"prices", "context", "trainable", "tools"}
_OF_ONE_SERVER = {"api_key_env", "headers", "query"}


def inherit(base: dict[str, Any], role: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a role, filled up from those of the base model.

    A role with another model takes no prices, context or terms; one at another server takes no key, headers or query;
    one of another provider takes no name or weights. `sampling` and `limits` are filled up key by key.
    """
    kept, role = address.listed(base), address.listed(role)
    if role.get("model", base.get("model")) != base.get("model"):
        kept = {key: value for key, value in kept.items() if key not in _OF_ONE_MODEL}
    if not address.servers(role.get("base_urls", kept.get("base_urls"))) <= address.servers(kept.get("base_urls")):
        kept = {key: value for key, value in kept.items() if key not in _OF_ONE_SERVER}
    if role.get("provider", base.get("provider", BUILT_IN)) != base.get("provider", BUILT_IN):
        kept = {key: value for key, value in kept.items() if key not in {"model", "file", *_OF_ONE_MODEL}}
    tables: dict[str, Any] = {name: role[name] for name in ("sampling", "limits") if name in role}
    return toml.merge(kept, tables) | {key: value for key, value in role.items() if key not in tables}
