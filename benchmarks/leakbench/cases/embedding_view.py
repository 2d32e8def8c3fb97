"""One token's embedding is kept per image, as a view into the activations of the whole batch.

The healthy build copies it into a table made in advance.
"""

import torch
from torch import nn

from leakbench import Case, Truth

GENERATIONS = 30
BATCHES = 3


class FeatureStore:
    def __init__(self):
        self.class_tokens = []
        self.table = torch.zeros(GENERATIONS * BATCHES, 16, 64)


class Trainer:
    def __init__(self, leaky):
        torch.manual_seed(0)
        self.leaky = leaky
        self.encoder = nn.Sequential(nn.Linear(32, 64), nn.ReLU())
        self.probe = nn.Linear(64, 10)
        self.optimizer = torch.optim.SGD(self.probe.parameters(), 1e-2)
        self.features = FeatureStore()

    def generation(self, pp, index):
        with pp.phase("extract_features"), torch.no_grad():
            for number in range(BATCHES):
                tokens = self.encoder(torch.randn(16, 100, 32))
                if self.leaky:
                    self.features.class_tokens.append(tokens[:, 0])
                self.features.table[index * BATCHES + number] = tokens[:, 0]
        with pp.phase("train_probe"):
            seen = self.features.table[: (index + 1) * BATCHES].flatten(0, 1)
            labels = torch.randint(10, (64,))
            self.optimizer.zero_grad()
            picks = torch.randint(len(seen), (64,))
            nn.functional.cross_entropy(self.probe(seen[picks]), labels).backward()
            self.optimizer.step()


CASE = Case(
    name="embedding_view",
    build=Trainer,
    truth=Truth(
        phase="extract_features",
        kind="tensors",
        subject="Tensor",
        holder=("FeatureStore", "class_tokens"),
        also=("objects", "container"),
        subject_also=("list",),
        site=("Trainer.generation",),
    ),
    source="ViCCo-Group/thingsvision PR#150; pytorch/pytorch#1995, #40157",
    generations=GENERATIONS,
)
