"""Every fifth epoch a model is validated with a loader whose worker stays."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch.utils.data import DataLoader, TensorDataset

import phaseprof as pp

torch.set_num_threads(1)


class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(64, 8)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.validators = []

    def train(self, batch):
        self.optimizer.zero_grad()
        self.model(batch).square().mean().backward()
        self.optimizer.step()

    def validate(self, rows):
        loader = DataLoader(TensorDataset(rows), batch_size=64, num_workers=1, persistent_workers=True)
        if driver.LEAK:
            self.validators.append(loader)
        with torch.no_grad():
            return sum(float(self.model(batch).mean()) for batch, in loader)


def main():
    torch.manual_seed(0)
    trainer = Trainer()
    window = torch.zeros(20, 600, 64)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("load"):
            window[generation % 20] = torch.randn(600, 64)
            driver.work(20)
        with pp.profile_phase("train"):
            trainer.train(window[generation % 20])
            driver.work(30)
        if generation % 5 == 4:
            with pp.profile_phase("validate"):
                trainer.validate(window[generation % 20][:256])
    driver.finish()


main()
