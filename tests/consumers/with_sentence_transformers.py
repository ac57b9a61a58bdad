"""sentence-transformers trains an encoder and a reranker on the views as they are, and BEIR loads their files."""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import torch
from beir.datasets.data_loader import GenericDataLoader
from datasets import load_dataset
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

FOLDER = Path(sys.argv[1])
sys.path.insert(0, str(Path(__file__).parents[2]))
from recipes.retriever import forms
from recipes.retriever.train import fine_tune

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def rows(view):
    return load_dataset(str(FOLDER), view, split="train")


def make_tiny_model(folder, kind, texts, **settings):
    """Make a random BERT with the words of the texts, so that nothing has to be downloaded."""
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=MARKS, show_progress=False))
    marks = [(mark, words.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    kind(BertConfig(vocab_size=words.get_vocab_size(), **shape, **settings)).save_pretrained(folder)
    return folder


def report_check(view, check, package="sentence-transformers"):
    print("result", json.dumps({"view": view, "version": version(package), "check": check}))


def main():
    with tempfile.TemporaryDirectory() as folder:
        triplets = rows("retriever_triplets")
        encoder = SentenceTransformer(
            make_tiny_model(f"{folder}/encoder", BertModel, triplets["positive"]), device="cpu"
        )
        vector_before = encoder.encode(triplets["anchor"][:1])
        vector_after = fine_tune(encoder, triplets, epochs=1).encode(triplets["anchor"][:1])
        assert (vector_before != vector_after).any()
        report_check("retriever_triplets", "recipes/retriever/train.py, one epoch of MultipleNegativesRankingLoss")

        pairs = rows("reranker").select_columns(["query", "passage", "label"])
        assert set(pairs["label"]) == {0, 1}
        path = make_tiny_model(f"{folder}/reranker", BertForSequenceClassification, pairs["passage"], num_labels=1)
        reranker = CrossEncoder(path, num_labels=1, device="cpu", max_length=128)
        arguments = CrossEncoderTrainingArguments(output_dir=folder, max_steps=2, report_to="none", use_cpu=True)
        loss = BinaryCrossEntropyLoss(reranker)
        CrossEncoderTrainer(model=reranker, args=arguments, train_dataset=pairs, loss=loss).train()
        report_check("reranker", "two steps of a CrossEncoder with BinaryCrossEntropyLoss")

        forms.beir(rows("retriever"), Path(folder) / "beir")
        corpus, queries, judgements = GenericDataLoader(f"{folder}/beir").load(split="test")
        assert set(judgements) == set(queries)
        assert all(set(documents) <= set(corpus) for documents in judgements.values())
        report_check("retriever", "BEIR's GenericDataLoader on what recipes/retriever/forms.py writes", "beir")


main()
