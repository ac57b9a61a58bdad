"""Addresses of servers, and the settings that name them."""

import os
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pipeline.config.request_values import may_be_secret, show_name

BASE_URL_ENV = "OPENAI_BASE_URL"


def check_url(url: str) -> str:
    """Return the address without slashes at its end. Raise ValueError if it is not a plain address."""
    parts = urlsplit(url)
    # `port` raises ValueError if it is not a number.
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError("must be an address such as http://localhost:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must not contain a user, password, query or fragment: api_key_env names the key's variable")
    return url.rstrip("/")


def base_url_from_environment() -> str:
    return os.environ.get(BASE_URL_ENV, "").strip()


def is_server_from_environment(url: str) -> bool:
    return bool(base := base_url_from_environment()) and servers([url]) == servers([base.partition("?")[0]])


def add_default_url(tree: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the address of OPENAI_BASE_URL if they have none."""
    if "base_urls" in tree or not (url := base_url_from_environment()):
        return tree
    try:
        completed = move_query({**tree, "base_urls": [url]})
        check_url(completed["base_urls"][0])
    except ValueError as error:
        raise ValueError(f"the environment variable {BASE_URL_ENV}: {error}") from None
    return completed


def move_query(tree: dict[str, Any]) -> dict[str, Any]:
    """Move the query of a model's addresses to its setting `query`.

    Raises ValueError for a query that may hold a secret, since addresses are shown and written to disk.
    """
    urls, query = tree.get("base_urls"), tree.get("query", {})
    if not isinstance(urls, list | tuple) or not all(isinstance(url, str) for url in urls):
        return tree
    queries = [parse_qsl(url.partition("#")[0].partition("?")[2], keep_blank_values=True) for url in urls]
    if not any(queries) or not isinstance(query, dict):
        return tree
    if any(queries[0] != parameters for parameters in queries):
        raise ValueError("base_urls must all have the same query: it is sent to each of them")
    for name, value in queries[0]:
        if may_be_secret(name, value.replace("$", "$$")):
            raise ValueError(
                f"the address must not contain a secret ('{show_name(name)}'): put it into an environment variable, "
                f"and set query.{show_name(name)}='${{NAME}}'"
            )
        if str(query.get(name, value)) != value:
            raise ValueError(f"query.{name} and the query of the address differ: leave one of them out")
    parameters = {name: value.replace("$", "$$") for name, value in queries[0]}
    return {**tree, "base_urls": [_without_query(url) for url in urls], "query": {**parameters, **query}}


def _without_query(url: str) -> str:
    # A fragment is left for `check_url` to refuse.
    before, _, after = url.partition("?")
    return before + ("#" + after.partition("#")[2] if "#" in after else "")


def on_loopback(url: str) -> bool:
    """Does the address lead to this machine, where no proxy is?"""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def servers(urls: Any) -> set[str]:
    """Return scheme, host and port of each address. Invalid addresses are refused elsewhere."""
    return {"/".join(str(url).split("/")[:3]) for url in urls} if isinstance(urls, list | tuple) else {str(urls)}


def normalize_url(model: dict[str, Any]) -> dict[str, Any]:
    """Return a model's settings with `base_url` replaced by `base_urls`, unless both are set."""
    if "base_url" not in model or "base_urls" in model:
        return dict(model)
    return {**{key: value for key, value in model.items() if key != "base_url"}, "base_urls": [model["base_url"]]}


def normalize_urls(tree: dict[str, Any]) -> dict[str, Any]:
    models = tree.get("models")
    return {**tree, "models": map_models(models, normalize_url)} if isinstance(models, dict) else tree


def map_models(models: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Apply `change` to every model in the table `models`, and in `policies`. Values that are no tables stay."""

    def map_table(table: Any) -> Any:
        if not isinstance(table, dict):
            return table
        return {name: change(value) if isinstance(value, dict) else value for name, value in table.items()}

    policies = {name: map_table(value) for name, value in models.items() if name == "policies"}
    return {**map_table({name: value for name, value in models.items() if name != "policies"}), **policies}
