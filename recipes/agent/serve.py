"""Weights behind the OpenAI API, on a GPU or a CPU: `python recipes/agent/serve.py MODEL [--port 8100]`, until Ctrl-C.

It is there so that `digsite measure` can ask small weights where no vLLM is: requests that wait are answered together,
greedily, in the chat template that `train.py` trains on. Calls come as the model wrote them, in the content.
"""

import argparse
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from typing import Any

from train import bfloat16, tokenizer, weights

GATHER = 0.03
"""Seconds that the first of a batch waits for others."""


@dataclass
class Asked:
    """A prompt that waits; `done` is set when `answer` is there, or `error`."""

    ids: list[int]
    tokens: int
    answer: list[int] = field(default_factory=list)
    error: str = ""
    done: threading.Event = field(default_factory=threading.Event)


def prompt(words: Any, body: dict[str, Any]) -> tuple[str, str]:
    """Return the text that the model continues, and the part of its answer that this text already holds.

    If a tool must be called, that part is the beginning of the call.
    """
    messages = [dict(message) for message in body["messages"]]
    for message in messages:
        message["content"] = message.get("content") or ""
        message["tool_calls"] = [
            call | {"function": call["function"] | {"arguments": json.loads(call["function"]["arguments"])}}
            for call in message.get("tool_calls") or []
        ]
    text = words.apply_chat_template(messages, tools=body.get("tools"), tokenize=False, add_generation_prompt=True)
    choice = body.get("tool_choice")
    begun = f'<tool_call>{{"name": "{choice["function"]["name"]}", "arguments": ' if isinstance(choice, dict) else ""
    return text + begun, begun


class Batches:
    """One thread that generates; whoever asks waits for it."""

    def __init__(self, model: str, most: int) -> None:
        import torch

        self.words = tokenizer(model)
        device, number = "cuda" if torch.cuda.is_available() else "cpu", torch.bfloat16 if bfloat16() else torch.float32
        self._model = weights(model).to(device, number).eval()
        self._context = self._model.config.max_position_embeddings
        self._most = most
        self._queue: Queue[Asked] = Queue()
        threading.Thread(target=self._work, daemon=True).start()

    def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        text, begun = prompt(self.words, body)
        one = Asked(self.words(text, add_special_tokens=False).input_ids, body.get("max_completion_tokens") or 256)
        if len(one.ids) + one.tokens > self._context:
            raise ValueError(f"maximum context length is {self._context} tokens, {len(one.ids)} were given")
        self._queue.put(one)
        one.done.wait()
        if one.error:
            raise RuntimeError(one.error)
        finish = "stop" if self.words.eos_token_id in one.answer else "length"
        said = begun + self.words.decode(one.answer, skip_special_tokens=True)
        usage = {"prompt_tokens": len(one.ids), "completion_tokens": len(one.answer)}
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": finish}
        return {"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}

    def _work(self) -> None:
        while True:
            waiting = [self._queue.get()]
            until = time.monotonic() + GATHER
            while len(waiting) < self._most:
                try:
                    waiting.append(self._queue.get(timeout=max(0.0, until - time.monotonic())))
                except Empty:
                    break
            try:
                for one, answer in zip(waiting, self._generated(waiting), strict=True):
                    one.answer = answer
            except RuntimeError as error:  # out of memory, above all: who asked tries again
                for one in waiting:
                    one.error = str(error)
            for one in waiting:
                one.done.set()

    def _generated(self, waiting: list[Asked]) -> list[list[int]]:
        import torch

        longest, end = max(len(one.ids) for one in waiting), self.words.eos_token_id
        pads = [longest - len(one.ids) for one in waiting]
        ids = torch.tensor([[end] * pad + one.ids for pad, one in zip(pads, waiting, strict=True)])
        mask = torch.tensor([[0] * pad + [1] * (longest - pad) for pad in pads])
        device = self._model.device
        found = self._model.generate(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            max_new_tokens=max(one.tokens for one in waiting),
            do_sample=False,
            eos_token_id=end,
            pad_token_id=end,
        )
        answers = [row[: one.tokens] for row, one in zip(found[:, longest:].tolist(), waiting, strict=True)]
        return [row[: row.index(end) + 1] if end in row else row for row in answers]


def handler(batches: Batches) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(200, {"object": "list", "data": [{"id": "local", "object": "model"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                self._send(200, batches.ask(body))
            except (ValueError, KeyError, TypeError) as error:
                self._send(400, {"error": {"message": str(error)}})
            except RuntimeError as error:
                self._send(503, {"error": {"message": str(error)}})

        def _send(self, status: int, tree: Any) -> None:
            raw = json.dumps(tree).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            """Says nothing: there is a line for every turn of every rollout."""

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="as for train.py")
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--batch", type=int, default=64, help="requests answered together")
    asked = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", asked.port), handler(Batches(asked.model, asked.batch)))
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
