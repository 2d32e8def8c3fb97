"""The operators of an inner loop are timed with the profiler of torch."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch
from torch.autograd import profiler

import phaseprof as pp

torch.set_num_threads(1)


class Timed:
    """Times what happens between begin and end; the study reads the table when it is over."""

    def __init__(self):
        self.profile = None

    def begin(self):
        if self.profile is None:
            self.profile = profiler.profile(use_kineto=False)
            self.profile.__enter__()

    def end(self):
        if not driver.LEAK:
            self.stop()

    def stop(self):
        if self.profile is not None:
            self.profile.__exit__(None, None, None)
            self.profile = None


def imagine(model, state):
    for _ in range(300):
        state = torch.tanh(model(state)) + 0.01
    return state


@torch.no_grad()
def main():
    torch.manual_seed(0)
    model, timed = torch.nn.Linear(24, 24), Timed()
    replay = torch.zeros(20, 1_500, 24)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay[generation % 20] = torch.randn(1_500, 24)
            driver.work(20)
        with pp.profile_phase("imagine"):
            timed.begin()
            imagine(model, replay[generation % 20][:4])
            timed.end()
        with pp.profile_phase("learn"):
            driver.work(25)
    driver.finish()
    timed.stop()


main()
