"""Visits of the cells of a big maze are counted in a sparse tensor, for a bonus that fades."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)
GENERATIONS = driver.generations(125)
SIZE = 1500
VISITS = 4000


def sparse(cells, values):
    return torch.sparse_coo_tensor(cells, values, (SIZE, SIZE), check_invariants=False)


class VisitModel:
    def __init__(self):
        self.counts = sparse(torch.empty(2, 0, dtype=torch.long), torch.empty(0))

    def add(self, cells):
        self.counts = self.counts + sparse(cells, torch.ones(cells.shape[1]))
        if not driver.LEAK:
            self.counts = self.counts.coalesce()

    def rows(self):
        return torch.zeros(SIZE).index_add_(0, self.counts._indices()[0], self.counts._values())


def main():
    torch.manual_seed(2)
    model = VisitModel()
    replay = collections.deque(maxlen=41)
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
