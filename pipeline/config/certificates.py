"""Certificate authorities from the environment variables of OpenSSL, requests and curl."""

import os
import ssl
from pathlib import Path

from pipeline.errors import UsageError

_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def context_from_environment() -> ssl.SSLContext | None:
    """Return a context that trusts the authorities that the environment names, or None if it names none.

    Raises UsageError for a path without certificates.
    """
    paths = {name: Path(value) for name in _VARIABLES if (value := os.environ.get(name, "").strip())}
    if not paths:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for name, path in paths.items():
        try:
            context.load_verify_locations(**{"capath" if path.is_dir() else "cafile": str(path)})
        except OSError as error:
            cause = error.strerror or str(error)
            raise UsageError(
                f"the environment variable {name} names {path}, which contains no certificates: {cause}"
            ) from None
    return context
