"""SkyRL's search environment over `/retrieve` of a served run, with a question of `rl_search_r1`."""

import json
import sys
from importlib.metadata import version

import datasets
from skyrl_gym.envs.search.env import SearchEnv, SearchEnvConfig

VIEW = "rl_search_r1"
rows = datasets.load_dataset(sys.argv[1], VIEW, split="train").rename_column("reward_model", "reward_spec")
for row in rows:
    env = SearchEnv(SearchEnvConfig(search_url=f"{sys.argv[2]}/retrieve"), extras=row)
    (observation,) = env.step(f"<search>{row['question']}</search>")["observations"]
    assert "Doc 1: " in observation["content"], observation
    last = env.step(f"<answer>{row['golden_answers'][0]}</answer>")
    assert (last["reward"], last["done"]) == (1.0, True)
check = "its environment `search` over /retrieve, reward_model renamed to reward_spec: the gold answer gets 1"
print("result", json.dumps({"view": VIEW, "version": version("skyrl-gym"), "check": check}))
