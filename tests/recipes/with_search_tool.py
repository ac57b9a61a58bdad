"""Run by a verl 0.7 environment, `with_search_tool.py TOOLS < queries`: its own SearchTool answers, through Ray."""

import asyncio
import json
import sys

import ray  # type: ignore[import-not-found]
from omegaconf import OmegaConf  # type: ignore[import-not-found]
from verl.tools.schemas import OpenAIFunctionToolSchema  # type: ignore[import-not-found]
from verl.tools.search_tool import SearchTool  # type: ignore[import-not-found]


async def main() -> list[str]:
    (entry,) = OmegaConf.to_container(OmegaConf.load(sys.argv[1]))["tools"]
    assert entry["class_name"] == "verl.tools.search_tool.SearchTool"
    tool = SearchTool(entry["config"], OpenAIFunctionToolSchema.model_validate(entry["tool_schema"]))
    instance, _ = await tool.create()
    texts = []
    for query in json.load(sys.stdin):
        response, _, _ = await tool.execute(instance, {"query_list": [query]})
        texts.append(response.text)
    return texts


if __name__ == "__main__":
    # On a machine without a network the address that Ray finds by itself does not answer.
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    answers = asyncio.run(main())
    print("\n" + json.dumps(answers))
