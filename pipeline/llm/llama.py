"""A GGUF file on this machine's CPU, through llama.cpp's server in a process of its own.

The server starts with the first call, listens on the loopback only, and ends with the process that started it, however
that ends: its standard input closes then. `python -m pipeline.llm.llama FILE SLOTS CONTEXT` is that process; it prints
its address, or one line with what is wrong.
"""

import asyncio
import atexit
import os
import subprocess
import sys
import threading

from pipeline.config.models import ModelConfig
from pipeline.errors import ProviderError
from pipeline.llm.base import Completion, Request
from pipeline.llm.openai import OpenAIModel
from pipeline.text.redact import clean


class LlamaModel:
    """The weights of `config.file`, behind the contract of every model."""

    def __init__(self, config: ModelConfig, run_seed: int) -> None:
        self._config, self._seed = config, run_seed
        self._server: subprocess.Popen[str] | None = None
        self._client: OpenAIModel | None = None
        self._starting = threading.Lock()

    async def complete(self, request: Request) -> Completion:
        """Raises ProviderError, which stops the run, if the server does not start or has ended."""
        client = self._client
        if client is None:
            client = await asyncio.to_thread(self._started)
        try:
            return await client.complete(request)
        except ProviderError as error:
            if self._server is not None and (code := self._server.poll()) is not None:
                line = f"llama.cpp's server has ended (exit {code}); is the memory enough for {self._config.file}?"
                raise ProviderError(line, then="stop") from error
            raise

    def served(self) -> ModelConfig:
        """The model at the address of its server, which is started if need be. Raises ProviderError."""
        return self._started().config

    def close(self) -> None:
        """End the server; a later call starts another."""
        server, self._server, self._client = self._server, None, None
        if server is not None:
            server.kill()
            server.wait()

    def _started(self) -> OpenAIModel:
        with self._starting:
            if self._client is None:
                self._client = self._start()
            return self._client

    def _start(self) -> OpenAIModel:
        command = [sys.executable, "-m", "pipeline.llm.llama", str(self._config.file)]
        command += [str(self._config.limits.concurrency), str(self._config.context)]
        pipe = subprocess.PIPE
        # In a session of its own Ctrl-C does not reach it; this process ends it.
        self._server = subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        atexit.register(self.close)
        line = self._server.stdout.readline().strip() if self._server.stdout else ""
        if not line.startswith("http"):
            self.close()
            why = clean(line)[:200] or "it ended without a message; is the memory enough?"
            raise ProviderError(f"llama.cpp cannot run {self._config.file}: {why}", then="stop")
        return OpenAIModel(self._config.model_copy(update={"base_urls": (f"{line}/v1",)}), self._seed)


def serve(file: str, slots: int, context: int) -> None:
    """Serve until standard input ends. `context` is in tokens, for each of the slots."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.port = file, 0
    settings.n_parallel, settings.n_ctx = slots, context * slots
    settings.use_jinja, settings.warmup = True, False
    # One thread less than there are cores: on two busy cores two threads were up to thirty times slower than one.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) - 1)
    try:
        server = xllamacpp.Server(settings)
    except Exception as error:  # noqa: BLE001 - the parent process reads the reason
        sys.stdout.write(" ".join(str(error).split()))
        return
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
