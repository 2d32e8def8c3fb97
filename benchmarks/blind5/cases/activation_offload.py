"""What the backward pass needs is packed away in the forward pass, and fetched again."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import itertools

import torch

torch.set_num_threads(1)
BATCH, WIDTH = 128, 384


class Offload:
    """Copies in a store of the host, by slot."""

    def __init__(self):
        self.slots = {}
        self.numbers = itertools.count()

    def pack(self, tensor):
        slot = next(self.numbers)
        self.slots[slot] = tensor.detach().clone()
        return slot

    def unpack(self, slot):
        return self.slots[slot] if driver.LEAK else self.slots.pop(slot)


def train(model, optimizer, offload):
    with pp.profile_phase("forward"):
        with torch.autograd.graph.saved_tensors_hooks(offload.pack, offload.unpack):
            loss = model(torch.rand(BATCH, WIDTH)).pow(2).mean()
        driver.work(8)
    with pp.profile_phase("backward"):
        optimizer.zero_grad()
        loss.backward()
        driver.work(12)
    with pp.profile_phase("step"):
        optimizer.step()


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(),
                                torch.nn.Linear(WIDTH, 8))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    offload = Offload()
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("train"):
            train(model, optimizer, offload)
        with pp.profile_phase("validate"):
            with torch.no_grad():
                model(torch.rand(BATCH, WIDTH))
            driver.work(12)
    driver.finish()


main()
