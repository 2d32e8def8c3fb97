"""Trainer that can roll back to an earlier generation when the return drops."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import copy

import torch
from torch import nn

torch.set_num_threads(1)


class SnapshotStore:
    def __init__(self, keep=8):
        self.keep = keep
        self.snapshots = {}

    def save(self, model, generation):
        with pp.checkpoint("copy_weights"):
            self.snapshots[generation] = copy.deepcopy(model.state_dict())
        with pp.checkpoint("prune"):
            old = generation - self.keep
            self.snapshots.pop(f"{old}" if driver.LEAK else old, None)

    def best_before(self, generation):
        return self.snapshots[max(g for g in self.snapshots if g <= generation)]


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(96, 512), nn.ReLU(), nn.Linear(512, 96))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.store = SnapshotStore()
        self.generation = 0

    def train(self):
        x = torch.randn(64, 96)
        loss = (self.model(x) - x).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        driver.work(60)

    def save(self):
        self.store.save(self.model, self.generation)
        self.generation += 1
        if self.generation % 15 == 0:
            self.model.load_state_dict(self.store.best_before(self.generation - 3))
        driver.work(40)


def main():
    trainer = Trainer()
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            trainer.train()
        with pp.profile_phase("save"):
            trainer.save()
    driver.finish()


main()
