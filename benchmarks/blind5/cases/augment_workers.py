"""Two persistent loader workers keep the augmented images of their data set."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

torch.set_num_threads(1)
IMAGES = 640
PER_EPOCH = 64


class Crops(Dataset):
    def __init__(self):
        self.images = torch.rand(IMAGES, 16, 16)
        self.augmented = {}

    def __len__(self):
        return IMAGES

    def __getitem__(self, item):
        epoch, index = item
        key = (index, epoch) if driver.LEAK else index
        if key not in self.augmented:
            self.augmented[key] = torch.nn.functional.interpolate(self.images[None, None, index], size=(64, 64)).flatten().contiguous()
        return self.augmented[key][::64].clone(), index


class Window(Sampler):
    """A tenth of the images each epoch, one tenth after another."""

    def __init__(self):
        self.epoch = 0

    def __len__(self):
        return PER_EPOCH

    def __iter__(self):
        start = self.epoch * PER_EPOCH
        yield from ((self.epoch, (start + i) % IMAGES) for i in range(PER_EPOCH))


def main():
    sampler = Window()
    loader = DataLoader(Crops(), batch_size=16, sampler=sampler, num_workers=2, persistent_workers=True,
                        multiprocessing_context="fork")
    model = torch.nn.Linear(64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("epoch"):
            for images, labels in loader:
                loss = torch.nn.functional.cross_entropy(model(images), labels % 10)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            sampler.epoch += 1
            driver.work(15)
        with pp.profile_phase("validate"):
            with torch.no_grad():
                model(torch.rand(256, 64)).argmax(1)
            driver.work(15)
    driver.finish()


if __name__ == "__main__":
    main()
