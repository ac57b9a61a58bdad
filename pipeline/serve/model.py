"""The embedded model over OpenAI's Chat Completions, so that the whole job can be run through a real wire.

It draws its chance from its inputs and the sample index. The index is not on the wire, but can be told from the seed
there, which is a hash of run seed and sample: so the run seed must be known. A seed that is no such hash is taken for a
sample of its own.
"""

from collections.abc import Mapping

from pipeline.embedded import digest
from pipeline.embedded.model import EmbeddedModel
from pipeline.llm.base import LLM
from pipeline.llm.wire import wire_seed
from pipeline.prompts import unfence
from pipeline.serve import wire
from pipeline.serve.bodies import Refused
from pipeline.serve.door import Endpoint

NAME = "embedded"
_SAMPLES = 4096


def samples(run_seed: int) -> dict[int, int]:
    """Wire seed → sample, for more samples than a rollout ever has."""
    return {wire_seed(run_seed, sample): sample for sample in range(_SAMPLES)}


def endpoints(run_seed: int = 0, model: LLM | None = None) -> Mapping[tuple[str, str], Endpoint]:
    """`model` answers under the name `embedded`."""
    service = _Service(run_seed, model or EmbeddedModel())
    return {("POST", "/v1/chat/completions"): service.complete, ("GET", "/v1/models"): service.models}


class _Service:
    def __init__(self, run_seed: int, model: LLM) -> None:
        self._model = model
        self._samples = samples(run_seed)

    async def complete(self, raw: bytes) -> object:
        body = wire.body(raw)
        if body.model != NAME:
            raise Refused(404, f"there is no model '{body.model[:80]}' here, only '{NAME}'")
        if body.stream or (body.n or 1) != 1:
            raise Refused(400, "answers come whole and one at a time: leave out `stream` and `n`")
        seed = body.seed or 0
        try:
            request = wire.heard(body, self._samples.get(seed, seed))
            if request.output and not any(unfence(message.content) for message in request.messages):
                raise Refused(400, f"'{request.output.name[:80]}' is answered to the product's own prompts alone")
            return wire.said(await self._model.complete(request), NAME)
        except Refused:
            raise
        except ValueError as error:
            raise Refused(400, f"{error}: it plays the roles of the product and no others") from error
        except Exception as error:
            # It is a pure function of the request: what it cannot read stands in there.
            raise Refused(400, f"the embedded model cannot read this history ({type(error).__name__})") from error

    async def models(self, raw: bytes) -> object:
        # The digest tells which version of its rules answers.
        model = {"id": NAME, "object": "model", "created": 0, "owned_by": "digsite", "root": digest()}
        return {"object": "list", "data": [model]}
