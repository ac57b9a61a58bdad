"""Which settings of the default model a role inherits."""

from typing import Any

from pipeline.config import address, toml
from pipeline.config.providers import BUILT_IN

_OF_ONE_MODEL = {"prices", "context", "trainable", "tools"}
_OF_ONE_SERVER = {"api_key_env", "headers", "query"}


def inherit(base: dict[str, Any], role: dict[str, Any]) -> dict[str, Any]:
    """Complete the settings of a role with those of the base model.

    Another model does not inherit prices, context, tool mode and terms; one at another server does not inherit key,
    headers and query; one of another provider does not inherit name and weights. `sampling` and `limits` are inherited
    key by key.
    """
    inherited, role = address.normalize_url(base), address.normalize_url(role)
    if role.get("model", base.get("model")) != base.get("model"):
        inherited = _without(inherited, _OF_ONE_MODEL)
    base_urls = inherited.get("base_urls")
    if not address.servers(role.get("base_urls", base_urls)) <= address.servers(base_urls):
        inherited = _without(inherited, _OF_ONE_SERVER)
    if role.get("provider", base.get("provider", BUILT_IN)) != base.get("provider", BUILT_IN):
        inherited = _without(inherited, {"model", "file", *_OF_ONE_MODEL})
    tables: dict[str, Any] = {name: role[name] for name in ("sampling", "limits") if name in role}
    return toml.merge(inherited, tables) | _without(role, set(tables))


def _without(tree: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key not in keys}
