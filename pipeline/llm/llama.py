"""A GGUF file on this machine's CPU, through llama.cpp's own server, which listens on the loopback alone."""

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
    """The weights of `config.file`, which are loaded with the first call."""

    def __init__(self, config: ModelConfig, run_seed: int) -> None:
        self._config, self._seed = config, run_seed
        self._client: OpenAIModel | None = None
        self._starting = threading.Lock()

    async def complete(self, request: Request) -> Completion:
        """Raises ProviderError, which stops the run, if the weights cannot be loaded."""
        client = await asyncio.to_thread(self._started)
        return await client.complete(request)

    def served(self) -> ModelConfig:
        """The model at the address of its server, which is started if need be. Raises ProviderError."""
        return self._started().config

    def _started(self) -> OpenAIModel:
        with self._starting:
            if self._client is None:
                self._client = OpenAIModel(self._config.model_copy(update={"base_urls": (self._start(),)}), self._seed)
            return self._client

    def _start(self) -> str:
        """The address of the server, whose threads end with this process."""
        import xllamacpp

        slots = self._config.limits.concurrency
        settings = xllamacpp.CommonParams()
        settings.model.path, settings.port = str(self._config.file), 0
        settings.n_parallel, settings.n_ctx = slots, self._config.context * slots
        # A command that is interrupted waits for the batch that is being computed.
        settings.n_batch = 256
        settings.use_jinja, settings.warmup, settings.verbosity = True, False, -1
        # One thread less than there are cores: on two busy cores two threads were up to thirty times slower than one.
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) - 1)
        try:
            self._server = xllamacpp.Server(settings)
        except RuntimeError as error:
            why = clean(str(error))[:200]
            raise ProviderError(f"llama.cpp cannot run {self._config.file}: {why}", then="stop") from error
        # While Python ends it is too late: the threads of the server would run into what is gone.
        atexit.register(self.close)
        return f"{self._server.listening_address}/v1"

    def close(self) -> None:
        """End the server."""
        self._server = None
