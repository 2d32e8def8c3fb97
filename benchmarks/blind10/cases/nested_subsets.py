"""A model is fitted to a pool of examples, which is drawn again in every generation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch.utils.data import Subset, TensorDataset

import phaseprof as pp

torch.set_num_threads(1)
GENERATIONS = driver.generations(120)
POOL = 6000


class Curriculum:
    def __init__(self, dataset):
        self.dataset = dataset
        self.pool = Subset(dataset, list(range(POOL)))

    def draw(self):
        order = torch.randint(0, POOL, (POOL,)).tolist()
        if driver.LEAK:
            self.pool = Subset(self.pool, order)
        else:
            self.pool = Subset(self.dataset, [self.pool.indices[place] for place in order])

    def batch(self):
        return torch.stack([self.pool[place][0] for place in range(64)])


def main():
    torch.manual_seed(4)
    curriculum = Curriculum(TensorDataset(torch.randn(POOL, 48)))
    model = torch.nn.Linear(48, 48)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = torch.zeros(GENERATIONS // 3, 20_000)
    for generation in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("curriculum"):
            curriculum.draw()
            driver.work(35)
        with pp.profile_phase("load"):
            batch = curriculum.batch()
            driver.work(40)
        with pp.profile_phase("train"):
            optimizer.zero_grad()
            loss = (model(batch) - batch).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses[generation % len(losses)] = loss.detach()
            driver.work(60)
    driver.finish()


main()
