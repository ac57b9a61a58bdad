"""Start vLLM on the loopback with the parsers that a model's family needs: `python serving/serve.py MODEL [PORT ...]`.

Without its tool parser a server hands calls out as text, and without its reasoning parser thoughts as an answer.
Further arguments go to vLLM. `TOOL_PARSER` and `REASONING_PARSER` in the environment win; `none` is none. The standard
library alone, so that it runs in the serving environment.
"""

import os
import re
import sys
from pathlib import Path
from typing import NamedTuple, NoReturn


class Family(NamedTuple):
    """The first whose pattern is in the model's name, in lower case, counts."""

    pattern: str
    tools: str
    reasoning: str = ""
    more: tuple[str, ...] = ()


_MISTRAL = ("--tokenizer-mode", "mistral", "--config-format", "mistral", "--load-format", "mistral")
FAMILIES = (
    Family(r"qwen3.*coder", "qwen3_coder"),
    Family(r"qwen3\.[5-9]", "qwen3_coder", "qwen3"),
    Family(r"qwen3.*instruct", "hermes"),
    Family(r"qwen3", "hermes", "qwen3"),
    Family(r"qwq", "hermes", "deepseek_r1"),
    Family(r"qwen|hermes", "hermes"),
    Family(r"llama-?4", "llama4_pythonic"),
    Family(r"llama-?3", "llama3_json"),
    Family(r"magistral", "mistral", "mistral", _MISTRAL),
    Family(r"mistral|mixtral|ministral|devstral", "mistral", "", _MISTRAL),
    Family(r"deepseek.*v3\.2", "deepseek_v32", "deepseek_v3"),
    Family(r"deepseek.*v3\.1", "deepseek_v31", "deepseek_v3"),
    Family(r"deepseek.*r1", "deepseek_v3", "deepseek_r1"),
    Family(r"deepseek.*v3", "deepseek_v3"),
    Family(r"gpt-oss", "openai", "openai_gptoss"),
    Family(r"glm-?4\.7|glm-?5", "glm47", "glm45"),
    Family(r"glm-?4\.[56]", "glm45", "glm45"),
    Family(r"kimi-k2", "kimi_k2", "kimi_k2"),
    Family(r"minimax-m2", "minimax_m2", "minimax_m2"),
    Family(r"granite", "granite", "granite"),
)


def family(model: str) -> Family | None:
    name = Path(model).name.lower()
    return next((family for family in FAMILIES if re.search(family.pattern, name)), None)


def arguments(model: str, port: int, more: list[str]) -> list[str]:
    """Return the arguments of vLLM. Raise LookupError if the model's tool parser is unknown."""
    found = family(model)
    tools = os.environ.get("TOOL_PARSER") or (found.tools if found else "")
    if not tools:
        known = ", ".join(sorted({family.tools for family in FAMILIES}))
        raise LookupError(f"no tool parser is known for '{model}'; name it: TOOL_PARSER=... (such as {known}, or none)")
    reasoning = os.environ.get("REASONING_PARSER") or (found.reasoning if found else "")
    command = ["--model", model, "--host", "127.0.0.1", "--port", str(port)]
    # The share of prompts that it had read before is told, and shown on our ledger.
    command += ["--enable-prefix-caching", "--enable-prompt-tokens-details"]
    command += ["--enable-auto-tool-choice", "--tool-call-parser", tools] if tools != "none" else []
    command += ["--reasoning-parser", reasoning] if reasoning not in ("", "none") else []
    return [*command, *(found.more if found else ()), *more]


def main(given: list[str]) -> NoReturn:
    if not given or (len(given) > 1 and not given[1].isdigit()):
        sys.exit("usage: serve.py MODEL [PORT [ARGUMENTS OF VLLM]]")
    try:
        told = arguments(given[0], int(given[1]) if len(given) > 1 else 8000, given[2:])
    except LookupError as error:
        sys.stderr.write(f"digsite: {error}\n")
        sys.exit(2)
    # Not `vllm serve`: its builds of other names do not know themselves by that command.
    os.execv(sys.executable, [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *told])  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
