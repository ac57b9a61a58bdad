"""Where a model is served: its addresses, the headers and query parameters of its requests, and whom TLS trusts."""

import os
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from string import Template
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from pydantic import BeforeValidator

from pipeline.errors import UsageError

_SECRET_NAME = re.compile(
    r"(?<!port)key|token|secret|passw|auth(?!or)|credential|cookie|session|signature|\b(?:sig|code|sas)\b",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"\b(?:Bearer|Basic) +\S|\b(?:(?:sk|pk|gsk|xai|nvapi)[-_]|(?:hf|ghp)_|AIza|eyJ)\w"
    r"|(?=[A-Za-z]{0,15}[0-9])[A-Za-z0-9]{16}|[A-Za-z0-9]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-"
)
_OWN_HEADERS = {"accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"}
"""Headers that belong to the HTTP client."""


def _check_query(values: Any) -> Any:
    return _check_values(values, "query", str) if isinstance(values, Mapping) else values


def _check_headers(values: Any) -> Any:
    """Return the headers with names in lower case. Raise ValueError for one that cannot be sent."""
    if not isinstance(values, Mapping):
        return values
    for name, value in values.items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", str(name)) or str(name).lower() in _OWN_HEADERS:
            raise ValueError(f"cannot have a header '{show_name(str(name))}'")
        if not re.fullmatch(r"[ -~]*", str(value)):
            raise ValueError(f"headers.{show_name(str(name))} must be one line of ASCII text")
    return _check_values(values, "headers", str.lower)


Query = Annotated[dict[str, str], BeforeValidator(_check_query)]
Headers = Annotated[dict[str, str], BeforeValidator(_check_headers)]


def _check_values(values: Mapping[Any, Any], table: str, normalise: Callable[[str], str]) -> dict[str, str]:
    # Convert to text, since TOML reads 2024-10-21 as a date.
    texts = {normalise(str(name)): str(value) for name, value in values.items()}
    for name, text in texts.items():
        setting = f"{table}.{show_name(name)}"
        if not Template(text).is_valid():
            raise ValueError(f'{setting}: write ${{NAME}} for an environment variable, and $$ for a "$"')
        if may_be_secret(name, text):
            raise ValueError(
                f"{setting} may be a secret: put it into an environment variable and name that, {setting}='${{NAME}}'"
            )
    return texts


def may_be_secret(name: str, text: str) -> bool:
    """Return whether a value may be a secret, apart from the environment variables in it."""
    literal = Template(text).substitute(dict.fromkeys(Template(text).get_identifiers(), " ")).strip()
    # A short word beside a variable is a scheme, such as `Basic ${TOKEN}`.
    has_literal = literal if literal == text.strip() else re.search(r"\S{8}", literal)
    has_secret_name = _SECRET_NAME.search(name.replace("_", "-"))
    return bool((has_literal and has_secret_name) or _SECRET_VALUE.search(literal) or _SECRET_VALUE.search(name))


def show_name(name: str) -> str:
    """Return a name that is safe in a message, since the user may have put a secret in its place."""
    return "NAME" if _SECRET_VALUE.search(name) else name


def fill_values(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values with their environment variables filled in. Raise UsageError for a variable without a value."""
    return {name: Template(text).substitute(_variables(text)) for name, text in values.items()}


def secrets(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each environment variable with its value, and with the value as quoted in a URL."""
    for text in values.values():
        for name, value in _variables(text).items():
            yield from (
                (name, spelling) for spelling in dict.fromkeys((value, quote(value, safe=""), quote_plus(value)))
            )


def _variables(text: str) -> dict[str, str]:
    variables = {name: os.environ.get(name, "").strip() for name in Template(text).get_identifiers()}
    for name, value in variables.items():
        if not value:
            raise UsageError(f"set the environment variable {name}: a header or query of a model needs it")
        if not re.fullmatch(r"[ -~]*", value):
            raise UsageError(f"the value of {name} cannot be sent: it may only hold printable ASCII characters")
    return variables


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
    """Return whether the address leads to this machine, where no proxy is."""
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

    def change_subtables(table: Any) -> Any:
        if not isinstance(table, dict):
            return table
        return {name: change(value) if isinstance(value, dict) else value for name, value in table.items()}

    policies = {name: change_subtables(value) for name, value in models.items() if name == "policies"}
    return {**change_subtables({name: value for name, value in models.items() if name != "policies"}), **policies}


_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def context_from_environment() -> ssl.SSLContext | None:
    """Return a context that trusts the authorities that the environment names, or None if it names none.

    Raises UsageError for a path without certificates.
    """
    paths = {name: Path(value) for name in _VARIABLES if (value := os.environ.get(name, "").strip())}
    return _load_context(tuple((name, path, _changed_at(path)) for name, path in paths.items())) if paths else None


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=4)
def _load_context(certificates: tuple[tuple[str, Path, int], ...]) -> ssl.SSLContext:
    """Load certificates by variable, path and time of the last change.

    It is cached because loading takes tens of milliseconds, and each client and each check of the models needs them.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for name, path, _ in certificates:
        try:
            context.load_verify_locations(**{"capath" if path.is_dir() else "cafile": str(path)})
        except OSError as error:
            cause = error.strerror or str(error)
            raise UsageError(
                f"the environment variable {name} names {path}, which contains no certificates: {cause}"
            ) from None
    return context
