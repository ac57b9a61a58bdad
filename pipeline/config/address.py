"""Addresses of servers, and the settings that name them."""

from collections.abc import Callable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit


def checked(url: str) -> str:
    """Raises ValueError where it is no plain address."""
    parts = urlsplit(url)
    # `port` raises ValueError where it is none.
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError("must be an address such as http://localhost:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must not contain a key, query or fragment: api_key_env names the key's variable")
    return url.rstrip("/")


def on_loopback(url: str) -> bool:
    """Does the address lead to this machine, where no proxy is?"""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def servers(urls: Any) -> set[str]:
    """Scheme, host and port of each; what is no address is refused elsewhere."""
    return {"/".join(str(url).split("/")[:3]) for url in urls} if isinstance(urls, list | tuple) else {str(urls)}


def listed(model: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model with `base_url`, if that is what they have, as `base_urls`; both are left as they are."""
    if "base_url" not in model or "base_urls" in model:
        return dict(model)
    return {**{key: value for key, value in model.items() if key != "base_url"}, "base_urls": [model["base_url"]]}


def normalize_urls(tree: dict[str, Any]) -> dict[str, Any]:
    """A tree of settings with every model `listed`."""
    models = tree.get("models")
    return {**tree, "models": each_model(models, listed)} if isinstance(models, dict) else tree


def each_model(models: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """The table `models` with every model in it changed, those of `policies` too. What is no table stays as it is."""

    def changed(table: Any) -> Any:
        if not isinstance(table, dict):
            return table
        return {name: change(one) if isinstance(one, dict) else one for name, one in table.items()}

    policies = {name: changed(one) for name, one in models.items() if name == "policies"}
    return {**changed({name: one for name, one in models.items() if name != "policies"}), **policies}
