"""A Qwen3 of 0.2 million random weights with its own tokeniser: `python tests/llm/tiny_checkpoint.py FOLDER`.

It puts noise on a real server's wire. Runs in the serving environment, which has torch.
"""

import random
import sys

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

VOCABULARY, CONTEXT = 1024, 16_384
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TAGS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"]
TEMPLATE = """
{%- if tools %}{{- '<|im_start|>system\n# Tools' }}
{%- for tool in tools %}{{- '\n' }}{{- tool | tojson }}{%- endfor %}{{- '<|im_end|>\n' }}{%- endif %}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\n' }}{%- if message.content %}{{- message.content }}{%- endif %}
    {%- for call in message.tool_calls or [] %}
        {{- '\n<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
        {{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}
        {{- '}\n</tool_call>' }}
    {%- endfor %}{{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}
"""
WORDS = (
    "search query open passage answer the of and in to is was by for with who what when where which person city film "
    "author name arguments title text question correct reason true false"
).split()


def build_tokeniser() -> PreTrainedTokenizerFast:
    chance = random.Random(0)
    texts = [" ".join(chance.choices(WORDS, k=20)) for _ in range(2000)]
    tokeniser = Tokenizer(models.BPE())
    tokeniser.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokeniser.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    size = VOCABULARY - len(TAGS)
    tokeniser.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=size, special_tokens=SPECIAL, initial_alphabet=alphabet)
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokeniser, eos_token="<|im_end|>", pad_token="<|endoftext|>", model_max_length=CONTEXT
    )
    fast.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in TAGS])
    fast.chat_template = TEMPLATE
    return fast


def main(folder: str) -> None:
    torch.manual_seed(0)
    words = build_tokeniser()
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
        dtype="float32",
    )
    Qwen3ForCausalLM(config).float().save_pretrained(folder)
    words.save_pretrained(folder)


if __name__ == "__main__":
    main(sys.argv[1])
