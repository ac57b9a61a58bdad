"""The tools of an environment for clients of the Model Context Protocol, by its official SDK.

A client gets the same tool messages as a rollout. The server keeps no state, as the protocol's newest version demands:
every passage of the corpus can be opened by its id, and the client keeps the limits of the environment itself.
"""

import asyncio
from typing import Any

from fastapi import APIRouter
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from starlette.routing import Route

from pipeline.agents.calls import AgentState
from pipeline.errors import DigsiteError
from pipeline.serve.retrieval_app import Served, answer_call

PATH = "/mcp"


def build_server(served: Served) -> Server[Any]:
    """Build a server with the environment's tools, except the last one: a client gives its answer as text."""
    manifest, environment = served.corpus.manifest, served.environment
    tools = [
        Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.parameters,
            annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        )
        for tool in environment.tools[:-1]
    ]

    async def list_tools(context: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        try:
            content, ok = await answer_call(served, _find_opened(served, arguments), params.name, arguments)
        except DigsiteError as error:  # the SDK would log a traceback
            raise MCPError(INTERNAL_ERROR, str(error)) from error
        return CallToolResult(content=[TextContent(type="text", text=content)], is_error=not ok)

    return Server(
        "digsite",
        title=f"Digsite: {manifest.name}",
        instructions=(
            f"Search the corpus '{manifest.name}' ({len(served.corpus.passages):,} passages, {manifest.licence}). "
            "Search first; then open a passage by the id in square brackets."
        ),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _find_opened(served: Served, arguments: dict[str, Any]) -> AgentState:
    """Return the state of a trajectory that has seen the passage of a call, if the corpus has it."""
    passage_id = arguments.get("passage_id")
    passage = served.corpus.find_shown(passage_id.strip()) if isinstance(passage_id, str) else None
    return AgentState(passages={passage.shown_id: passage} if passage else {})


def router(served: Served) -> APIRouter:
    """Return the route of MCP over streamable HTTP.

    Each request gets one JSON answer: no tool sends messages of its own, so there is no stream to keep open.
    """
    # The guard of all our servers checks host, origin and token.
    manager = StreamableHTTPSessionManager(build_server(served), json_response=True, stateless=True)
    route = Route(PATH, StreamableHTTPASGIApp(manager), methods=["POST"])
    return APIRouter(routes=[route], lifespan=lambda app: manager.run())


def serve_stdio(served: Served) -> None:
    """Answer the client on standard input and output until it closes them."""
    asyncio.run(_serve_streams(build_server(served)))


async def _serve_streams(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
