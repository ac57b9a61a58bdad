"""Headers and query parameters that the user adds to every request to a model.

A value may name environment variables, as in `"Bearer ${TOKEN}"`. Settings are written to disk, so a secret must come
from the environment: a value that looks like a secret is refused, and messages never repeat it.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from string import Template
from typing import Annotated, Any
from urllib.parse import quote, quote_plus

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
            raise UsageError(f"the environment variable {name} is not set, which a header or query of a model needs")
        if not re.fullmatch(r"[ -~]*", value):
            raise UsageError(f"the value of {name} cannot be sent: it has odd characters")
    return variables
