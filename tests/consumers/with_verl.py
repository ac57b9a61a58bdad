"""verl's data set classes and reward functions."""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pyarrow.parquet as pq
import torch
import verl
from hydra import compose, initialize_config_dir
from hydra.utils import get_class
from omegaconf import OmegaConf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap
from verl.experimental.agent_loop.tool_parser import ToolParser
from verl.experimental.reward_loop import RewardLoopWorker
from verl.tools.tool_registry import load_all_tools
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.utils.import_utils import load_extern_object
from verl.utils.reward_score import default_compute_score

FOLDER, HOME = Path(sys.argv[1]), Path(__file__).parents[2]
sys.path.append(str(HOME))
TEMPLATE = (HOME / "tests/recipes/chatml.jinja").read_text()


def tokenizer():
    model_of_bytes = Tokenizer(models.BPE())
    model_of_bytes.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model_of_bytes.decoder = decoders.ByteLevel()
    marks, alphabet = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], pre_tokenizers.ByteLevel.alphabet()
    model_of_bytes.train_from_iterator(
        [], trainers.BpeTrainer(initial_alphabet=alphabet, special_tokens=marks, show_progress=False)
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=model_of_bytes, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = TEMPLATE
    return fast


def shards(view, folder=FOLDER):
    return [str(path) for path in sorted((folder / view).glob("train-*.parquet"))]


def report_check(view, check):
    print("result", json.dumps({"view": view, "version": version("verl"), "check": check}))


def sft(view="sft"):
    words = tokenizer()
    kind = load_extern_object(str(FOLDER / "code" / "verl_sft.py"), "JsonSFTDataset")
    data = kind(shards(view), words, OmegaConf.create({"max_length": 65536, "pad_mode": "no_padding"}))
    assert len(data) == sum(pq.read_metadata(path).num_rows for path in shards(view))
    for index in range(len(data)):
        row = data[index]
        learned, full_text = words.decode(row["input_ids"][row["loss_mask"] == 1]), words.decode(row["input_ids"])
        observed = [message["content"] for message in data.messages[index] if message["role"] == "tool"]
        assert '"name": "answer"' in learned
        assert "passage_id" in full_text
        assert "null" not in full_text
        assert all(text in full_text and text not in learned for text in observed)
    report_check(
        view, "MultiTurnSFTDataset through verl_sft.py: its sanity check holds, what is learnt holds no observation"
    )


def thinking(view="sft"):
    """Check that each turn of a trajectory without resent thoughts is a row, and trained on only there."""
    words, folder = tokenizer(), FOLDER.parent / "thinking"
    kind = load_extern_object(str(folder / "code" / "verl_sft.py"), "JsonSFTDataset")
    data = kind(shards(view, folder), words, OmegaConf.create({"max_length": 65536, "pad_mode": "no_padding"}))
    for place in range(len(data)):
        row, (*_, turn) = data[place], data.messages[place]
        learned = words.decode(row["input_ids"][row["loss_mask"] == 1])
        assert learned.count("<|im_end|>") == 1
        assert all(json.dumps(call["function"]["arguments"])[1:-1] in learned for call in turn["tool_calls"])
    report_check(view, "verl_sft.py: of rows for single turns that one is learnt")


def rl(view):
    words = tokenizer()
    data = RLHFDataset(shards(view), words, OmegaConf.create({"max_prompt_length": 4096, "cache_dir": "verl"}))
    assert len(data) == sum(pq.read_metadata(path).num_rows for path in shards(view))
    spec = importlib.util.spec_from_file_location("reward", FOLDER / "code" / "reward.py")
    reward = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reward)
    for index in range(len(data)):
        row = data[index]
        prompt = " ".join(message["content"] for message in row["raw_prompt"])
        truth, gold = row["reward_model"]["ground_truth"], row["reward_model"]["ground_truth"]["target"][0]
        for answer, expected in ((gold, 1), ("no such thing", 0), (None, 0)):
            response = respond(view, answer)
            if view == "rl_search_r1":
                assert default_compute_score(f"searchR1_{row['data_source']}", response, truth) == expected
            assert reward.compute_score(row["data_source"], response, truth) == expected
        assert row["raw_prompt"][-1]["role"] == "user"
        assert ("answer `not found`" if view == "rl_verl_tool" else "the answer is: not found") in prompt
        assert row["band"] is None, "no policy was measured"
        assert row["order"] is None
        if view == "rl_verl_tool":
            assert row["agent_name"] == "tool_agent"
    kinds = {data[index]["answer_type"] for index in range(len(data))}
    assert kinds == {"date", "boolean", "unanswerable"} | ({"list"} if view == "rl_verl_tool" else set())
    scorers = "reward.py gives" if view == "rl_verl_tool" else "its scorer and reward.py give"
    report_check(view, f"RLHFDataset drops no row; {scorers} 1 to the gold answer and 0 to others")


def respond(view, answer):
    if answer is None:
        return "none"
    call = json.dumps({"name": "answer", "arguments": {"answer": answer}})
    return f"<tool_call>\n{call}\n</tool_call>" if view == "rl_verl_tool" else f"<answer>{answer}</answer>"


class Index(BaseHTTPRequestHandler):
    """A server of the recipe's calls, which knows one passage."""

    def do_POST(self):
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = "" if call["name"] == "answer" else "Doc 1 [p000000000001] Dunmere\nFounded in 1208."
        body = json.dumps({"content": content, "shown": [], "calls": call["calls"] + 1}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def first_turn(folder, view="rl_verl_tool"):
    """Compare the rollouts of the agent loop of the recipe with the rows for SFT, token by token."""
    words, config = tokenizer(), load_config(folder=folder)
    kind = load_extern_object(str(folder / "code" / "verl_sft.py"), "JsonSFTDataset")
    trained = kind(shards("sft", folder), words, OmegaConf.create({"max_length": 65536, "pad_mode": "no_padding"}))
    places = {trained.messages[place][1]["content"]: place for place in range(len(trained))}
    data = RLHFDataset(list(config.data.train_files), words, config.data)
    in_words = not trained.tools[0]
    assert in_words or data.tool_schemas == trained.tools[0]
    rows = [data[index] for index in range(len(data)) if data[index]["raw_prompt"][-1]["content"] in places]
    assert len(rows) > 5
    for row in rows:
        place = places[row["raw_prompt"][-1]["content"]]
        turns = [message for message in trained.messages[place] if message["role"] == "assistant"]
        prompt, response = roll_out(words, config, row, [render_turn(words, turn) for turn in turns])
        assert words.decode(trained[place]["input_ids"]).startswith(prompt)
        assert prompt.endswith("<|im_start|>assistant\n")
        assert "Founded in 1208." in response
        if not in_words:
            parse_turns(words, config, turns)
    check = (
        "its agent loop under recipes/verl/train.sh begins with the tokens of `sft` and ends with the call of `answer`"
    )
    report_check(
        view, f"with tools in words, {check}" if in_words else f"{check}; its parser reads every call of `sft`"
    )


def roll_out(words, config, row, replies):
    """Run the agent loop on an engine that gives the first, the last and then again the first of these replies."""
    (entry,) = OmegaConf.load(HOME / config.actor_rollout_ref.rollout.agent.agent_loop_config_path)
    assert entry.name == row["agent_name"]
    engine = Replies(words, [replies[0], replies[-1], replies[0]])
    loop = get_class(entry._target_)(
        trainer_config=DictConfigWrap(config),
        server_manager=engine,
        tokenizer=words,
        processor=None,
        dataset_cls=RLHFDataset,
        data_config=DictConfigWrap(config.data),
        tools=ToolListWrap(load_all_tools(config.actor_rollout_ref.rollout.multi_turn.tool_config_path, None)),
    )
    output = asyncio.get_event_loop().run_until_complete(loop.run({}, raw_prompt=row["raw_prompt"]))
    assert engine.replies == replies[:1], "the call of `answer` ends the rollout"
    return words.decode(output.prompt_ids), words.decode(output.response_ids)


def parse_turns(words, config, turns):
    parser = ToolParser.get_tool_parser(config.actor_rollout_ref.rollout.multi_turn.format, words)
    for turn in turns:
        ids = words(render_turn(words, turn))["input_ids"]
        _, calls = asyncio.get_event_loop().run_until_complete(parser.extract_tool_calls(ids))
        functions = [call["function"] for call in turn["tool_calls"]]
        assert [{"name": call.name, "arguments": json.loads(call.arguments)} for call in calls] == functions


def render_turn(words, turn):
    """Return what the model has to write for this turn."""
    question = [{"role": "user", "content": "?"}]
    start = words.apply_chat_template(question, tokenize=False, add_generation_prompt=True)
    return words.apply_chat_template([*question, turn], tokenize=False)[len(start) :].removesuffix("\n")


class Replies:
    """An engine that gives these replies."""

    def __init__(self, words, replies):
        self.words, self.replies = words, list(replies)

    async def generate(self, prompt_ids, **_):
        ids = self.words(self.replies.pop(0))["input_ids"]
        return SimpleNamespace(token_ids=ids, log_probs=None, num_preempted=0, extra_fields={}, routed_experts=None)


def load_config(*without, folder=FOLDER):
    """verl's own configuration under all settings of the recipe, but for those that begin so."""
    (scripts := Path("recipe").resolve()).mkdir(exist_ok=True)
    (scripts / "python").write_text(f'#!/bin/sh\n[ "$1" = -m ] || exec {sys.executable} "$@"\nprintf "%s\\n" "$@"\n')
    (scripts / "python").chmod(0o755)
    paths = {"PATH": f"{scripts}:{os.environ['PATH']}", "TOOLS": str(scripts / "tools.json")}
    process = subprocess.run(
        ["sh", "recipes/verl/train.sh", folder, "tiny"],
        cwd=HOME,
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
        check=True,
    )
    settings = [line for line in process.stdout.splitlines() if "=" in line and not line.startswith(without)]
    with initialize_config_dir(str(Path(verl.__file__).parent / "trainer/config"), version_base=None):
        # This tokenizer has one token for each byte.
        return compose("ppo_trainer", [*settings, "data.max_prompt_length=65536"])


def rewards(view="rl_verl_tool"):
    """Check the rewards of verl's worker, as the recipe configures it, for a list and an unanswerable question."""
    words, config = tokenizer(), load_config()
    words.save_pretrained("tiny")
    data = RLHFDataset(list(config.data.train_files), words, config.data)
    assert len(data) == sum(pq.read_metadata(path).num_rows for path in shards(view))
    rows = {data[place]["answer_type"]: data[place] for place in range(len(data))}
    cases = [
        ("list", "Lund; Dal; Grim", 1.0),
        ("list", "Grim and Lund", 0.8),
        ("list", "not found", 0.0),
        ("unanswerable", "not found", 1.0),
        ("unanswerable", "It cannot be found in the corpus.", 1.0),
        ("unanswerable", "1399", 0.0),
        ("boolean", f"{rows['boolean']['reward_model']['ground_truth']['target'][0].title()}.", 1.0),
        ("boolean", "not found", 0.0),
        ("date", "not found", 0.0),
    ]
    worker = RewardLoopWorker(config)
    cases = [(kind, respond(view, answer), expected) for kind, answer, expected in cases]
    assert [compute_reward(worker, words, rows[kind], response) for kind, response, _ in cases] == [
        expected for *_, expected in cases
    ]
    report_check(
        view, 'its reward worker under recipes/verl/train.sh: F1 for a list, 1 for "not found" without an answer'
    )
    stock = RewardLoopWorker(load_config("reward.custom_reward_function."))
    try:
        compute_reward(stock, words, rows["list"], cases[0][1])
    except NotImplementedError as refusal:
        assert "digsite" in str(refusal)
    else:
        raise AssertionError("verl's own scorer took a row")
    report_check(view, "its reward worker without code/reward.py refuses the rows by name")


def compute_reward(worker, words, row, response):
    """Return the reward of one response, passed to the worker as verl's agent loop does."""
    ids = words(f"{response}<|im_end|>", return_tensors="pt")["input_ids"]
    batch = DataProto.from_dict({"responses": ids, "attention_mask": torch.ones_like(ids)}, collate_fn([row]))
    return round(worker.reward_manager.loop.run_until_complete(worker.compute_score(batch))["reward_score"], 6)


sft()
thinking()
rl("rl_verl_tool")
rl("rl_search_r1")
server = HTTPServer(("127.0.0.1", 0), Index)
Thread(target=server.serve_forever, daemon=True).start()
os.environ["DIGSITE_ADDRESS"] = f"http://127.0.0.1:{server.server_port}"
first_turn(FOLDER)
first_turn(FOLDER.parent / "words")
rewards()
