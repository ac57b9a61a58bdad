"""Fine-tune an encoder on the view `retriever_triplets` of a data set.

    pip install "sentence-transformers[train]"
    python recipes/retriever/train.py outputs/wiki/latest/dataset --model sentence-transformers/all-MiniLM-L6-v2

docs/howto/train-retriever.md says what the rows are.
"""

import argparse

import torch
from datasets import Dataset, load_dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.losses import MultipleNegativesRankingLoss
from sentence_transformers.training_args import BatchSamplers

TEXTS = ["anchor", "positive", "negative"]


def fine_tune(
    model: SentenceTransformer,
    triplets: Dataset,
    *,
    epochs: float = 2,
    batch: int = 32,
    seed: int = 0,
    bf16: bool = False,
) -> SentenceTransformer:
    """Train on the columns anchor, positive and, if there is one, negative, and return the model.

    Each anchor learns to be nearer to its positive than to all other texts of the batch.
    """
    arguments = SentenceTransformerTrainingArguments(
        output_dir="trainer",
        num_train_epochs=epochs,
        per_device_train_batch_size=batch,
        learning_rate=2e-5,
        warmup_steps=0.1,
        seed=seed,
        bf16=bf16,
        # On a CPU the trainer refuses bfloat16 unless it is told of it.
        use_cpu=bf16 and not torch.cuda.is_available(),
        # Two queries of one pair share a passage, which must not be a negative of either.
        batch_sampler=BatchSamplers.NO_DUPLICATES,
        save_strategy="no",
        report_to="none",
        logging_strategy="no",
        disable_tqdm=True,
    )
    loss = MultipleNegativesRankingLoss(model)
    SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=triplets.select_columns([name for name in TEXTS if name in triplets.column_names]),
        loss=loss,
    ).train()
    return model


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("dataset", help="folder or Hub name of a data set")
    asked.add_argument("--model", default="sentence-transformers/all-MiniLM-L6-v2")
    asked.add_argument("--kinds", default="sub_question", help="of question,sub_question,search; see docs/trains.md")
    asked.add_argument("--demo", action="store_true", help="take rows of the demo model too, to try it out")
    asked.add_argument("--epochs", type=float, default=2)
    asked.add_argument("--out", default="encoder")
    given = asked.parse_args()
    kinds = given.kinds.split(",")
    rows = load_dataset(given.dataset, "retriever_triplets", split="train")
    rows = rows.filter(lambda row: row["kind"] in kinds and (given.demo or row["trainable"]))
    if not len(rows):
        asked.error("the data set has no such rows to train on; rows of the demo model need --demo")
    model = fine_tune(SentenceTransformer(given.model), rows, epochs=given.epochs)
    model.save_pretrained(given.out)


if __name__ == "__main__":
    main()
