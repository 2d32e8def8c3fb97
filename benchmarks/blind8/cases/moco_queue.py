"""Contrastive learning of a state encoder, with a queue of negative keys from a momentum encoder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import contextlib

import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)
BATCH, WIDTH, KEYS = 192, 256, 768


def encoder():
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
                               torch.nn.Linear(512, 64))


class Contrast:
    def __init__(self):
        self.query_encoder, self.key_encoder = encoder(), encoder()
        self.optimizer = torch.optim.Adam(self.query_encoder.parameters(), lr=1e-4)
        self.queue = torch.randn(KEYS, 64)
        self.position = 0

    def encode_keys(self, states):
        with contextlib.nullcontext() if driver.LEAK else torch.no_grad():
            return self.key_encoder(states)

    def enqueue(self, keys):
        self.queue[self.position:self.position + BATCH] = keys
        self.position = (self.position + BATCH) % KEYS

    def step(self, states):
        keys = self.encode_keys(states)
        queries = self.query_encoder(states + 0.1 * torch.randn_like(states))
        candidates = torch.cat([keys.detach(), self.queue.detach()])
        loss = torch.nn.functional.cross_entropy(queries @ candidates.T, torch.arange(BATCH))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.enqueue(keys)
        with torch.no_grad():
            for old, new in zip(self.key_encoder.parameters(), self.query_encoder.parameters(), strict=True):
                old.lerp_(new, 0.01)


def main():
    torch.manual_seed(0)
    contrast = Contrast()
    replay = torch.zeros(20, 6 * BATCH, WIDTH)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            replay[generation % 20] = torch.rand(6 * BATCH, WIDTH)
            driver.work(25)
        with pp.profile_phase("contrast"):
            contrast.step(replay[generation % 20, :BATCH])
            driver.work(10)
    driver.finish()


main()
