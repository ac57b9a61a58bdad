"""llama.cpp's own HTTP server over a GGUF file, in a process of its own: `python -m tests.llm.serve_gguf FILE PORT`."""

import signal
import sys

import xllamacpp


def main(path: str, port: int, context: int = 8192) -> None:
    settings = xllamacpp.CommonParams()
    settings.model.path, settings.port = path, port
    settings.n_ctx, settings.n_parallel, settings.use_jinja, settings.warmup = context, 4, True, False
    # With more than one thread on two cores its speed falls by a factor of thirty at times.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
