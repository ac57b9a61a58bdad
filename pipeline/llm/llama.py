"""A GGUF file on this machine's CPU, served by llama.cpp's own server on the loopback address."""

import asyncio
import atexit
import os
import threading

from pipeline.config.models import ModelConfig
from pipeline.errors import ProviderError
from pipeline.llm.base import Completion, Request
from pipeline.llm.openai import OpenAIModel
from pipeline.text.redact import clean


class LlamaModel:
    """The model in `config.file`. The first call loads the weights."""

    def __init__(self, config: ModelConfig, run_seed: int) -> None:
        self._config, self._seed = config, run_seed
        self._client: OpenAIModel | None = None
        self._starting = threading.Lock()

    async def complete(self, request: Request) -> Completion:
        """Answer one request. Raises ProviderError, which stops the run, if the weights cannot be loaded."""
        client = await asyncio.to_thread(self._start_once)
        return await client.complete(request)

    def serve(self) -> ModelConfig:
        """Start the server if it is not running, and return the model at its address. Raises ProviderError."""
        return self._start_once().config

    def _start_once(self) -> OpenAIModel:
        with self._starting:
            if self._client is None:
                self._client = OpenAIModel(self._config.model_copy(update={"base_urls": (self._start(),)}), self._seed)
            return self._client

    def _start(self) -> str:
        """Start the server and return its address. Its threads end with this process."""
        import xllamacpp  # an optional dependency

        slots = self._config.limits.concurrency
        settings = xllamacpp.CommonParams()
        settings.model.path, settings.port = str(self._config.file), 0
        settings.n_parallel, settings.n_ctx = slots, self._config.context * slots
        # An interrupted command waits for the batch that is being computed.
        settings.n_batch = 256
        settings.use_jinja, settings.warmup, settings.verbosity = True, False, -1
        # Use one thread less than there are cores: on two busy cores, two threads were up to 30 times slower than one.
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) - 1)
        try:
            self._server = xllamacpp.Server(settings)
        except RuntimeError as error:
            why = clean(str(error))[:200]
            raise ProviderError(f"llama.cpp cannot run {self._config.file}: {why}", then="stop") from error
        # Close before Python shuts down: the threads of the server would use objects that are gone.
        atexit.register(self.close)
        return f"{self._server.listening_address}/v1"

    def close(self) -> None:
        self._server = None
