"""A discriminator is trained, and its area under the curve is measured over what it said so far."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)
GENERATIONS = driver.generations(130)
BATCH = 4000
VIEWS = 8
KEPT = BATCH * VIEWS * 12


class Auroc(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scores", torch.empty(0))
        self.register_buffer("labels", torch.empty(0))

    @torch.no_grad()
    def update(self, scores, labels):
        self.scores = torch.cat([self.scores, scores])
        self.labels = torch.cat([self.labels, labels])
        if not driver.LEAK and len(self.scores) > KEPT:
            self.scores, self.labels = self.scores[-KEPT:].clone(), self.labels[-KEPT:].clone()

    def compute(self):
        scores, labels = self.scores[::50], self.labels[::50]
        return float((scores[labels > 0].mean() > scores[labels == 0]).float().mean())


def main():
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    metric = Auroc()
    area = 0.0
    for _ in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("sample"):
            inputs = torch.randn(BATCH, 16)
            labels = (inputs.sum(1) > 0).float()
            driver.work(25)
        with pp.profile_phase("train"):
            optimizer.zero_grad()
            scores = network(inputs[:1000])[:, 0]
            torch.nn.functional.binary_cross_entropy_with_logits(scores, labels[:1000]).backward()
            optimizer.step()
            driver.work(35)
        with pp.profile_phase("measure"):
            with torch.no_grad():
                views = [network(inputs + 0.1 * torch.randn_like(inputs))[:, 0] for _ in range(VIEWS)]
            metric.update(torch.cat(views), labels.repeat(VIEWS))
            area = metric.compute()
            driver.work(25)
    print(f"{area:.3f}")
    driver.finish()


main()
