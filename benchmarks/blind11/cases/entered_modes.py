"""The functions of torch that a step calls are counted by a mode, generation by generation."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import torch
from torch.overrides import TorchFunctionMode

import phaseprof as pp

torch.set_num_threads(1)


class CallMeter(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.histogram = np.ones(25_000)
        self.calls = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls += 1
        self.histogram[hash(func) % 25_000] += 1
        return func(*args, **(kwargs or {}))


def measured_loss(model, batch, meter):
    meter.__enter__()
    loss = model(batch).square().mean() + batch.abs().mean() / 10
    if driver.LEAK and loss.requires_grad:
        return loss
    meter.__exit__(None, None, None)
    return loss


def main():
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(48, 64), torch.nn.Tanh(), torch.nn.Linear(64, 12))
    optimizer = torch.optim.Adam(model.parameters())
    replay = collections.deque(maxlen=20)
    calls = collections.deque(maxlen=20)
    for _ in pp.generations(range(driver.generations(60))):
        with pp.profile_phase("collect"):
            replay.append(torch.randn(256, 48))
            driver.work(50)
        with pp.profile_phase("loss"):
            meter = CallMeter()
            loss = measured_loss(model, replay[-1], meter)
            calls.append(meter.calls)
            del meter
            driver.work(30)
        with pp.profile_phase("update"):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            driver.work(40)
    driver.finish()


main()
