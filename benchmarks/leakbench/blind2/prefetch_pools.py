"""Each epoch gets a pool of threads that prepares its batches."""

import time
from concurrent.futures import ThreadPoolExecutor

import torch

from leakbench import Case, Truth


def prepare(seed):
    return torch.randn(32, 40, generator=torch.Generator().manual_seed(seed))


class Loader:
    def __init__(self, close):
        self.close = close
        self.pools = []

    def batches(self, epoch):
        pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix=f"prefetch-{epoch}")
        self.pools.append(pool)
        waiting = [pool.submit(prepare, 10 * epoch + i) for i in range(6)]
        for future in waiting:
            yield future.result()
        if self.close:
            self.pools.pop().shutdown()


class Regression:
    def __init__(self, leaky):
        torch.manual_seed(8)
        self.model = torch.nn.Linear(40, 1)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.loader = Loader(close=not leaky)

    def generation(self, pp, index):
        with pp.phase("epoch"):
            for batch in self.loader.batches(index):
                loss = (self.model(batch) - batch.sum(1, keepdim=True)).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            time.sleep(0.12)
        with pp.phase("evaluate"):
            with torch.no_grad():
                self.model(prepare(0))
            time.sleep(0.08)


CASE = Case(
    name="blind2_prefetch_pools",
    build=Regression,
    truth=Truth(
        phase="epoch",
        kind="threads",
        subject="Thread",
        holder=("pools",),
        also=("objects",),
        subject_also=("ThreadPoolExecutor", "prefetch"),
    ),
    source="https://github.com/rohanpm/more-executors/issues/87",
    generations=30,
)
