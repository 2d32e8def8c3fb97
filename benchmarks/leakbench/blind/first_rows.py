"""The first row of each batch is kept for plots: as a view of the whole batch, or copied into a table."""

import time

import torch

from leakbench import Case, Truth


class PlotRows:
    def __init__(self, leaky):
        self.leaky = leaky
        self.rows = [] if leaky else torch.zeros(4096, 96)
        self.used = 0

    def keep(self, row):
        if self.leaky:
            self.rows.append(row)
        else:
            self.rows[self.used] = row
        self.used += 1


class Autoencoding:
    def __init__(self, leaky):
        torch.manual_seed(27)
        self.net = torch.nn.Sequential(torch.nn.Linear(96, 16), torch.nn.Linear(16, 96))
        self.optimizer = torch.optim.SGD(self.net.parameters(), 1e-3)
        self.plots = PlotRows(leaky)

    def generation(self, pp, index):
        with pp.phase("sample"):
            batches = [torch.randn(512, 96) for _ in range(4)]
            time.sleep(0.1)
        with pp.phase("train"):
            for batch in batches:
                loss = (self.net(batch) - batch).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            time.sleep(0.1)
        with pp.phase("plot"):
            for batch in batches:
                self.plots.keep(batch[0])
            time.sleep(0.1)


CASE = Case(
    name="blind_first_rows",
    build=Autoencoding,
    truth=Truth(phase="sample", kind="tensors", subject="Tensor", holder=("plots", "rows"), also=("objects", "native")),
    source="synthetic",
    generations=24,
)
