"""A model's address, queries, headers, certificates and proxies, and the secrets that are sent there."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from pipeline.config import RunConfig, build
from pipeline.config.endpoints import may_be_secret
from pipeline.config.models import ModelConfig
from pipeline.errors import ProviderError, UsageError
from pipeline.llm import reach, retry
from pipeline.llm.openai import OpenAIModel
from pipeline.run import prepare
from tests.chaos.faulty_server import FaultyServer, Reply
from tests.llm.wire import GOOD, REQUEST

SECRET = "canary/8f3a61+e"


@pytest.fixture(autouse=True)
def clear_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(retry, "BASE", 0.002)
    monkeypatch.setenv("GATEWAY_SECRET", SECRET)


def make_config(**model: Any) -> RunConfig:
    return build(values={"models": {"default": {"provider": "openai", "model": "m", **model}}})


def start_server(**options: Any) -> FaultyServer:
    return FaultyServer(script=lambda number, body: GOOD, **options)


async def ask(model: ModelConfig) -> None:
    await reach.reach(model, 0.0)
    await OpenAIModel(model, 0).complete(REQUEST)


# OPENAI_BASE_URL and OPENAI_API_KEY


@pytest.mark.slow
async def test_openai_base_url_is_asked_with_its_key(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with start_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-or-v1-0000")
        settings = make_config()
        prepare.check_models(settings)
        await ask(settings.models.default)
    assert settings.models.default.base_urls == (server.url,)
    assert server.headers[0]["authorization"] == "Bearer sk-or-v1-0000"
    assert f"OPENAI_BASE_URL: 'm' is asked at {server.url}" in caplog.text


@pytest.mark.parametrize(
    ("base", "url", "sent"),
    [
        ("https://openrouter.ai/api/v1", "", True),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/", True),
        ("https://openrouter.ai/api/v1?x=1", "", True),
        ("https://openrouter.ai/api/v1", "https://api.openai.com/v1", False),
        ("https://openrouter.ai/api/v1", "http://openrouter.ai/api/v1", False),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai.evil.example/v1", False),
        ("https://openrouter.ai/api/v1", "http://localhost:8000/v1", False),
        ("https://api.openai.com/v1", "https://api.openai.com/v1", True),
        (" ", "", True),
    ],
)
def test_openai_api_key_belongs_to_one_server(base: str, url: str, sent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("OPENAI_BASE_URL", base)
    address = {"base_url": url} if url else {}
    assert make_config(**address).models.default.key() == ("sk-canary" if sent else "")
    assert make_config(**address, api_key_env="OPENAI_API_KEY").models.default.key() == "sk-canary"


def test_a_key_for_another_server_is_not_sent_to_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://user:canary@openrouter.ai/api/v1?key=canary")
    message = r"OPENAI_API_KEY is for the server in OPENAI_BASE_URL: .*api_key_env"
    with pytest.raises(UsageError, match=message) as caught:
        prepare.check_models(make_config(base_url="https://api.openai.com/v1"))
    assert "canary" not in str(caught.value)


def test_a_resumed_run_keeps_its_address_without_another_environments_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://openrouter.ai/api/v1")
    stored = make_config().model_dump_json()
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    model = RunConfig.model_validate_json(stored).models.default
    assert (model.base_url, model.key()) == ("https://openrouter.ai/api/v1", "")


def test_an_address_in_the_environment_changes_no_run_of_the_demo_model(monkeypatch: pytest.MonkeyPatch) -> None:
    before = build().model_dump_json()
    monkeypatch.setenv("OPENAI_BASE_URL", "https://openrouter.ai/api/v1")
    assert build().model_dump_json() == before


def test_a_bad_openai_base_url_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "openrouter.ai/api/v1")
    with pytest.raises(UsageError, match="the environment variable OPENAI_BASE_URL: must be an address"):
        make_config()


# Queries and headers


async def test_query_and_headers_are_sent_with_their_secrets(caplog: pytest.LogCaptureFixture) -> None:
    headers = {"API-Key": "${GATEWAY_SECRET}", "cf-aig-authorization": "Bearer $GATEWAY_SECRET", "X-Title": "Digsite"}
    async with start_server() as server:
        settings = make_config(
            base_url=f"{server.url}/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
            headers=headers, query={"code": "${GATEWAY_SECRET}"},
        )  # fmt: skip
        with caplog.at_level(logging.DEBUG):
            await ask(settings.models.default)
    target = httpx2.URL(f"http://x{server.targets[-1]}")
    assert target.path == "/v1/deployments/gpt-4o/chat/completions"
    assert dict(target.params) == {"api-version": "2024-10-21", "code": SECRET}
    received = server.headers[-1]
    assert (received["api-key"], received["x-title"]) == (SECRET, "Digsite")
    assert received["cf-aig-authorization"] == f"Bearer {SECRET}"
    assert "authorization" not in received
    for text in (caplog.text, settings.model_dump_json(), str(settings.digest_input()), repr(settings)):
        assert "canary" not in text


def test_neither_query_nor_headers_change_the_digest() -> None:
    plain = make_config(base_url="http://localhost:1/v1")
    extended = make_config(base_url="http://localhost:1/v1?a=b", headers={"x-a": "b"})
    assert plain.digest() == extended.digest()
    assert extended.models.default.query == {"a": "b"}


def test_settings_of_the_command_line_are_read_as_text() -> None:
    sets = ["models.default.query.api-version=2024-10-21", "models.default.headers.X-Count=3"]
    model = build(values={"models": {"default": {"provider": "openai", "model": "m"}}}, sets=sets).models.default
    assert (model.query, model.headers) == ({"api-version": "2024-10-21"}, {"x-count": "3"})


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"base_url": "https://h/v1?key=canary"}, "must not contain a secret ('key')"),
        ({"base_url": "https://h/v1?subscription-key=canary"}, "must not contain a secret"),
        ({"base_url": "https://h/v1?code=canary"}, "must not contain a secret"),
        ({"base_url": "https://h/v1?x=sk-canary"}, "must not contain a secret"),
        ({"base_url": "https://h/v1?x=canary8f3a61canary8f"}, "must not contain a secret"),
        ({"base_url": "https://canary@h/v1?x=1"}, "must not contain a user"),
        ({"base_url": "https://h/v1#canary"}, "fragment"),
        ({"base_url": "https://h/v1?x=1#canary"}, "fragment"),
        ({"headers": {"x-api-key": "canary"}}, "headers.x-api-key='${NAME}'"),
        ({"headers": {"X-Portkey-Virtual-Key": "canary"}}, "headers.x-portkey-virtual-key='${NAME}'"),
        ({"headers": {"Helicone-Auth": "Bearer canary"}}, "may be a secret"),
        ({"headers": {"x-a": "sk-canary"}}, "may be a secret"),
        ({"headers": {"x-a": "Bearer canary-canary ${GATEWAY_SECRET}"}}, "may be a secret"),
        ({"headers": {"CF-Access-Client-Id": "8f3a61canary8f3a61.access"}}, "may be a secret"),
        ({"headers": {"x-a": "$ canary"}}, "write ${NAME}"),
        ({"headers": {"Content-Length": "1"}}, "cannot have a header 'Content-Length'"),
        ({"headers": {"x a": "1"}}, "cannot have a header"),
        ({"headers": {"x-a": "1\r\nx-b: canary"}}, "headers.x-a must be one line"),
        ({"headers": {"x-a": "ü canary"}}, "headers.x-a must be one line"),
        ({"headers": {"sk-canary": "1"}}, "headers.NAME may be a secret"),
        ({"base_url": "https://h/v1?sk-canary"}, "must not contain a secret ('NAME')"),
        ({"query": {"api-version": "1"}, "base_url": "https://h/v1?api-version=2"}, "differ"),
        ({"base_urls": ["https://a/v1?x=1", "https://b/v1"]}, "the same query"),
        ({"query": "a=b"}, "must be a table"),
    ],
)  # fmt: skip
def test_a_secret_in_the_settings_is_refused_in_one_line_without_it(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_config(**settings)
    assert line in str(caught.value)
    causes = [caught.value, caught.value.__cause__]
    assert "canary" not in "".join(map(str, causes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api-version", "2025-04-01-preview"), ("x-portkey-provider", "openai"), ("x-hf-bill-to", "my-organisation"),
        ("http-referer", "https://example.com/projects/search-questions"), ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "interleaved-thinking-2025-05-14"), ("x-author", "someone"), ("x-a", "${A}-${B}"),
        ("authorization", "Basic ${A}"), ("x-api-key", "${A}"),
    ],
)  # fmt: skip
def test_a_value_that_is_no_secret_is_allowed_in_the_settings(name: str, value: str) -> None:
    assert not may_be_secret(name, value)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, "set the environment variable NOWHERE"),
        (" ", "set the environment variable NOWHERE"),
        ("can\nary", "NOWHERE cannot be sent"),
    ],
)
def test_a_variable_without_a_value_is_named(value: str | None, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is not None:
        monkeypatch.setenv("NOWHERE", value)
    with pytest.raises(UsageError, match=line):
        prepare.check_models(make_config(base_url="http://localhost:1/v1", headers={"x-api-key": "$NOWHERE"}))


@pytest.mark.parametrize("status", [200, 400, 401, 404, 500])
async def test_secrets_that_a_server_echoes_are_not_shown(status: int, caplog: pytest.LogCaptureFixture) -> None:
    echoes: list[str] = []

    def echo(number: int, body: dict[str, Any]) -> Reply:
        echoes.append(f"{server.targets[-1]} {server.headers[-1]}")
        text = f"no: {echoes[-1]}"
        content = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        return Reply(status, orjson.dumps(content if status == 200 else {"error": {"message": text}}))

    async with FaultyServer(script=echo) as server:
        model = make_config(
            base_url=server.url, headers={"x-secret": "${GATEWAY_SECRET}"}, query={"code": "${GATEWAY_SECRET}"},
            limits={"attempts": 2},
        ).models.default  # fmt: skip
        output = ""
        try:
            output = (await OpenAIModel(model, 0).complete(REQUEST)).message.content
        except ProviderError as error:
            output = str(error)
    assert "canary" in echoes[0]
    assert output
    assert "canary" not in output + caplog.text


def test_a_role_at_another_server_inherits_no_key_header_or_query() -> None:
    table = {"api_key_env": "ONE_KEY", "headers": {"x-api-key": "$A"}, "query": {"v": "1"}}
    base = {"provider": "openai", "model": "m", "base_url": "https://one/v1", **table}
    roles = {
        "judge": {"model": "j", "base_url": "https://two/v1"},
        "solver": {"model": "s", "base_url": "https://one/other"},
        "teacher": {"model": "t", "base_url": "https://two/v1", "api_key_env": "TWO_KEY"},
    }
    models = build(values={"models": {"default": base, **roles}}).models
    assert [models.of(role).api_key_env for role in ("generator", *roles)] == ["ONE_KEY", "", "ONE_KEY", "TWO_KEY"]
    judge, solver = models.of("judge"), models.of("solver")
    assert (judge.headers, judge.query) == ({}, {})
    assert (solver.headers, solver.query) == ({"x-api-key": "$A"}, {"v": "1"})


# Where the API begins


@pytest.mark.parametrize(
    ("home", "path", "base"),
    [
        ("/v1/", "", "/v1"),
        ("/v1/", "/v1/", "/v1"),
        ("/v1/", "/v1/chat/completions", "/v1"),
        ("/v1/", "/chat/completions/", "/v1"),
        ("/v1/", "/v1/models", "/v1"),
        ("/api/v1/", "", "/api/v1"),
        ("/openai/v1/", "", "/openai/v1"),
        ("/v1beta/openai/", "/v1beta/openai", "/v1beta/openai"),
        ("/openai/deployments/", "/openai/deployments/gpt-4o", "/openai/deployments/gpt-4o"),
    ],
)
async def test_the_address_of_the_api_is_found_below_the_given_one(
    home: str, path: str, base: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with start_server(home=home) as server:
        root = server.url.removesuffix("/v1")
        model = OpenAIModel(make_config(base_url=root + path).models.default, 0)
        answers = await asyncio.gather(*(model.complete(REQUEST) for _ in range(5)))
        assert {answer.message.content for answer in answers} == {"yes"}
        before = len(server.targets)
        await model.complete(REQUEST)
    assert server.targets[before:] == [f"{base}/chat/completions"], "later requests go there at once"
    lines = [record.getMessage() for record in caplog.records if "begins" in record.getMessage()]
    assert lines == ([f"{root}{path.rstrip('/')} is not where the API begins: it is asked at {root}{base}"]
                     if path.rstrip("/") != base else [])  # fmt: skip


@pytest.mark.parametrize(
    "page",
    [
        Reply(405),
        Reply(200, b"<!DOCTYPE html><title>UI</title>"),
        Reply(200, b'{"error":"Unexpected endpoint or method."}'),
    ],
)
async def test_a_server_that_answers_every_path_is_no_api(page: Reply) -> None:
    async with FaultyServer(script=lambda number, body: GOOD if "/v1/" in server.targets[-1] else page) as server:
        model = OpenAIModel(make_config(base_url=server.url.removesuffix("/v1")).models.default, 0)
        assert (await model.complete(REQUEST)).message.content == "yes"


async def test_an_unknown_model_is_reported_in_the_servers_words() -> None:
    async with FaultyServer(script=lambda number, body: Reply(404, b'{"error": "no model m here"}')) as server:
        for url in (server.url, server.url.removesuffix("/v1")):
            with pytest.raises(ProviderError, match="no model m here"):
                await OpenAIModel(make_config(base_url=url).models.default, 0).complete(REQUEST)


# Certificates and proxies


def make_certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """Make our own certificate authority for 127.0.0.1; return its file and the server's context."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "Digsite test")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    public, private = folder / "ca.pem", folder / "key.pem"
    public.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    pkcs8, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, pkcs8, none))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return public, context


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
async def test_an_authority_from_the_environment_is_trusted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, context = make_certificate(tmp_path)
    async with start_server(tls=context) as server:
        model = make_config(base_url=server.url).models.default
        with pytest.raises(ProviderError, match="REQUESTS_CA_BUNDLE"):
            await ask(model)
        monkeypatch.setenv(name, str(file))
        await ask(model)
    assert len(server.asked) == 1


def test_missing_certificates_are_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "none.pem"))
    with pytest.raises(UsageError, match="REQUESTS_CA_BUNDLE names .*none.pem, which contains no certificates"):
        prepare.check_models(make_config(base_url="http://localhost:1/v1"))
    (tmp_path / "none.pem").write_text("nothing")
    with pytest.raises(UsageError, match="contains no certificates"):
        prepare.check_models(make_config(base_url="http://localhost:1/v1"))


@asynccontextmanager
async def start_proxy(port: int) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Start an HTTP and SOCKS 5 proxy that forwards everything to a local port; yield its port and its requests."""
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(1)
        if first == b"\x05":
            await reader.readexactly((await reader.readexactly(1))[0])
            writer.write(b"\x05\x00")
            head = await reader.readexactly(5)
            requests.append(await reader.readexactly(head[4] + 2))
            writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
            first = b""
        else:
            requests.append(first + await reader.readline())
            line = b"POST /v1/chat/completions" if b"POST" in requests[-1] else b"GET /v1/models"
            first = line + b" HTTP/1.1\r\n"
        behind, ahead = await asyncio.open_connection("127.0.0.1", port)
        ahead.write(first)
        await asyncio.gather(_pump(reader, ahead), _pump(behind, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        yield listening.sockets[0].getsockname()[1], requests


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
    writer.close()


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
async def test_a_proxy_from_the_environment_is_used_for_other_machines(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start_server() as server, start_proxy(int(server.url.split(":")[2].split("/")[0])) as (port, requests):
        monkeypatch.setenv("ALL_PROXY", f"{scheme}://127.0.0.1:{port}")
        await ask(make_config(base_url="http://models.example/v1").models.default)
        assert len(server.asked) == 1
        assert b"models.example" in requests[0]
        monkeypatch.setenv("NO_PROXY", "models.example")
        with pytest.raises(ProviderError, match="cannot be reached"):
            await ask(make_config(base_url="http://models.example/v1").models.default)
    assert len(server.asked) == 1


@pytest.mark.parametrize("address", ["socks9://127.0.0.1:1", "http://user:canary@127.0.0.1:1", "canary://x:canary@y"])
async def test_a_broken_proxy_is_reported_without_its_password(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", address)
    with pytest.raises(ProviderError) as caught:
        await ask(make_config(base_url="http://models.example/v1").models.default)
    assert ":canary" not in str(caught.value)
