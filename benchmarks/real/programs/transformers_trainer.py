"""A small BERT that is trained and evaluated: python transformers_trainer.py healthy|leaky EPOCHS."""

import sys
import tempfile

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

LEAKY, EPOCHS = sys.argv[1] == "leaky", int(sys.argv[2])


class Sentences(Dataset):
    def __init__(self, n, seed):
        generator = torch.Generator().manual_seed(seed)
        self.words = torch.randint(0, 200, (n, 24), generator=generator)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        words = self.words[index]
        return {"input_ids": words, "labels": int(words.sum() % 2)}


class Scores:
    """Compares each evaluation with those before."""

    def __init__(self):
        self.history = []

    def __call__(self, prediction):
        logits, labels = prediction.predictions, prediction.label_ids
        self.history.append(np.repeat(logits, 100, axis=1))
        if not LEAKY:
            del self.history[:-2]
        return {"accuracy": float((logits.argmax(1) == labels).mean())}


torch.set_num_threads(1)
config = BertConfig(
    vocab_size=200, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128,
    max_position_embeddings=32,
)  # fmt: skip
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder, num_train_epochs=EPOCHS, per_device_train_batch_size=32, per_device_eval_batch_size=128,
        eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True, seed=1, disable_tqdm=True,
        log_level="error", logging_strategy="no",
    )  # fmt: skip
    torch.manual_seed(1)
    model = BertForSequenceClassification(config)
    Trainer(
        model, arguments, train_dataset=Sentences(1500, 1), eval_dataset=Sentences(1000, 2), compute_metrics=Scores()
    ).train()
print("RESULT", float(sum(p.double().sum() for p in model.parameters())))
