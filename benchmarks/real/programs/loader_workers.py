"""A training fed by two workers that stay: python loader_workers.py healthy|leaky EPOCHS."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

LEAKY, EPOCHS = sys.argv[1] == "leaky", int(sys.argv[2])


class Pictures(Dataset):
    """Decodes pictures, cut at random."""

    def __init__(self):
        self.decoded = {}

    def __len__(self):
        return 512

    def __getitem__(self, index):
        cut = int(torch.randint(0, 1_000_000, ()))
        picture = np.random.default_rng(cut).random((3, 32, 32), np.float32)
        self.decoded[index, cut if LEAKY else 0] = picture
        return torch.from_numpy(picture), index % 10


def epoch(net, optimizer, loader):
    total = 0.0
    for pictures, labels in loader:
        for _ in range(4):
            loss = nn.functional.cross_entropy(net(pictures), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(1024, 10))
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    loader = DataLoader(Pictures(), 32, num_workers=2, persistent_workers=True)
    losses = [epoch(net, optimizer, loader) for _ in range(EPOCHS)]
    print("RESULT", losses[-1])


if __name__ == "__main__":
    main()
