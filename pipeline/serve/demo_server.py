"""The demo model over OpenAI's Chat Completions API, so that a run can use real HTTP.

The model's randomness depends on its inputs and the sample index, which is not sent. The seed in a request is a hash of
run seed and sample, so that the run seed reveals the index. Any other seed is used as the sample itself.
"""

from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import JSONResponse, Response

from pipeline.demo import VERSION
from pipeline.demo.role_dispatch import DemoModel
from pipeline.llm.base import LLM
from pipeline.llm.chat_body import wire_seed
from pipeline.prompts import unfence
from pipeline.serve.chat_api import ChatRequest, chat_completion, chat_events, model_request
from pipeline.serve.http_server import JsonRoute

NAME = "embedded"
_SAMPLES = 4096


def samples(run_seed: int) -> dict[int, int]:
    """Map the seeds in requests to samples, for more samples than a run ever has."""
    return {wire_seed(run_seed, sample): sample for sample in range(_SAMPLES)}


def router(run_seed: int = 0, model: LLM | None = None) -> APIRouter:
    """Build the routes of a server, where `model` (default: the demo model) has the name `embedded`."""
    llm, sample_by_seed = model or DemoModel(), samples(run_seed)
    routes = APIRouter(prefix="/v1", route_class=JsonRoute)

    @routes.post("/chat/completions")
    async def complete(body: ChatRequest) -> Response:
        if body.model != NAME:
            raise HTTPException(404, f"there is no model '{body.model[:80]}' here, only '{NAME}'")
        if (body.n or 1) != 1:
            raise HTTPException(400, "answers come one at a time: leave out `n`")
        seed = body.seed or 0
        try:
            request = model_request(body, sample_by_seed.get(seed, seed))
            if request.output and not any(unfence(message.content) for message in request.messages):
                line = f"'{request.output.name[:80]}' is answered to the product's own prompts alone"
                raise HTTPException(400, line)
            completion = await llm.complete(request)
            if body.stream:
                return Response(chat_events(completion, NAME), media_type="text/event-stream")
            return JSONResponse(chat_completion(completion, NAME))
        except ValueError as error:
            raise HTTPException(400, f"{error}: it plays the roles of the product and no others") from error
        except HTTPException:
            raise
        except Exception as error:
            # The model is a pure function of the request, so the request is at fault.
            line = f"the demo model cannot read this history ({type(error).__name__})"
            raise HTTPException(400, line) from error

    @routes.get("/models")
    async def models() -> dict[str, Any]:
        model = {"id": NAME, "object": "model", "created": 0, "owned_by": "digsite", "root": f"{NAME}-{VERSION}"}
        return {"object": "list", "data": [model]}

    return routes
