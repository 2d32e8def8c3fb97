"""Visits of the cells of a big maze are counted in a sparse tensor, for a bonus that fades."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)
GENERATIONS = driver.generations(150)
SIZE = 1500
VISITS = 5000


class VisitModel:
    def __init__(self):
        self.counts = torch.sparse_coo_tensor(torch.empty(2, 0, dtype=torch.long), torch.empty(0), (SIZE, SIZE))

    def add(self, cells):
        visits = torch.sparse_coo_tensor(cells, torch.ones(cells.shape[1]), (SIZE, SIZE))
        self.counts = self.counts + visits
        if not driver.LEAK:
            self.counts = self.counts.coalesce()

    def rows(self):
        return torch.sparse.sum(self.counts, 1).to_dense()


def main():
    torch.manual_seed(2)
    model = VisitModel()
    replay = collections.deque(maxlen=50)
    places = torch.randint(0, SIZE, (2, 20_000))
    bonus = 0.0
    for _ in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("explore"):
            cells = places[:, torch.randint(0, places.shape[1], (VISITS,))]
            replay.append(torch.randn(200, 80))
            driver.work(40)
        with pp.profile_phase("count"):
            model.add(cells)
            driver.work(30)
        with pp.profile_phase("bonus"):
            bonus += float((1 + model.rows()).rsqrt().mean())
            driver.work(45)
    driver.finish()


main()
