"""A data set's environment for OpenRLHF 0.11: `--train.agent_func_path recipes/openrlhf/agent.py`.

It is for the view `rl_openrlhf`, whose prompts have the tools in words; DIGSITE_DATASET names the data set. Calls and
results have the form of `sft_openrlhf`.
"""

import asyncio
import json
import os
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import torch
from openrlhf.utils.agent import AgentInstanceBase, MultiTurnAgentExecutor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from trajectory import Trajectory

ADDRESS = os.environ.get("DIGSITE_ADDRESS", "http://127.0.0.1:8000")
DATASET = Path(os.environ["DIGSITE_DATASET"])
LIMITS = json.loads((DATASET / "environment.json").read_text())["limits"]
CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
spec = spec_from_file_location("reward", DATASET / "code" / "reward.py")
reward = module_from_spec(spec)
spec.loader.exec_module(reward)


class AgentInstance(AgentInstanceBase):  # type: ignore[misc]
    """One trajectory. It ends with the call of `answer`, with a turn without a call, or at the limit of turns."""

    tokenizer: Any = None

    def __init__(self) -> None:
        self._trajectory, self._turns = Trajectory(ADDRESS), 0

    async def step(self, states: dict[str, Any], **options: Any) -> dict[str, Any]:
        texts = CALL.findall(states["action_text"])
        results = [await asyncio.to_thread(self._call, text, place) for place, text in enumerate(texts)]
        self._turns += 1
        # The environment answers every call but that of `answer`.
        if results and all(results) and self._turns < LIMITS["turns"]:
            return _end_step(0.0, feedback=format_results(self.tokenizer, results))
        answer = reward.final_answer(states["action_text"])
        return _end_step(reward.score(answer, json.loads(states["label"])), done=True)

    def _call(self, text: str, place: int) -> str:
        try:
            call = json.loads(text)
            name, arguments = str(call["name"]), call["arguments"]
        except (ValueError, TypeError, KeyError):
            return 'Error: A call is {"name": "NAME", "arguments": {...}}.'
        return self._trajectory.call(name, arguments, place)


def _end_step(score: float, *, feedback: str = "", done: bool = False) -> dict[str, Any]:
    return {
        "rewards": torch.tensor(score),
        "scores": torch.tensor(score),
        "environment_feedback": feedback,
        "done": done,
        "extra_logs": {"exact_match": torch.tensor(score)},
    }


def format_results(tokenizer: Any, results: list[str]) -> str:
    """Return what the chat template prints from the end of a turn to the start of the next, with the results."""
    turn = {"role": "assistant", "content": "digsite-turn"}
    content = "\n\n".join(f"<tool_response>\n{result}\n</tool_response>" for result in results)
    messages = [{"role": "user", "content": "?"}, turn, {"role": "user", "content": content}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    # The model itself writes the token that ends its turn.
    return text.partition(turn["content"])[2].removeprefix(tokenizer.eos_token)


class AgentExecutor(MultiTurnAgentExecutor):  # type: ignore[misc]
    """What OpenRLHF looks for in this file."""

    def __init__(self) -> None:
        super().__init__(AgentInstance)

    async def execute(
        self,
        prompt: str,
        label: str,
        sampling_params: Any,
        max_length: int,
        hf_tokenizer: Any,
        *rest: Any,
        **options: Any,
    ) -> Any:
        AgentInstance.tokenizer = hf_tokenizer
        return await super().execute(prompt, label, sampling_params, max_length, hf_tokenizer, *rest, **options)
