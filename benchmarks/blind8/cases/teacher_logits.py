"""Distillation begins after a warm-up; the logits of the teacher are cached for the batches of the data set."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import torch

import phaseprof as pp

torch.set_num_threads(1)
WARM_UP, BATCHES, PER_GENERATION, ROWS, WIDTH, CLASSES = 22, 12, 4, 64, 96, 1_000


class Distiller:
    def __init__(self):
        self.teacher = torch.nn.Linear(WIDTH, CLASSES)
        self.student = torch.nn.Linear(WIDTH, CLASSES)
        self.optimizer = torch.optim.Adam(self.student.parameters())
        self.teacher_logits = {}

    @torch.no_grad()
    def targets(self, batch, index, step):
        key = (index, step) if driver.LEAK else index
        if key not in self.teacher_logits:
            self.teacher_logits[key] = self.teacher(batch).softmax(-1)
        return self.teacher_logits[key]

    def step(self, batch, target):
        loss = torch.nn.functional.cross_entropy(self.student(batch), target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main():
    torch.manual_seed(0)
    dataset = [torch.rand(ROWS, WIDTH) for _ in range(BATCHES)]
    labels = torch.randint(CLASSES, (ROWS,))
    distiller = Distiller()
    augmented = torch.zeros(15, 1_500, WIDTH)
    for generation in pp.generations(range(driver.GENERATIONS)):
        chosen = [(generation * PER_GENERATION + k) % BATCHES for k in range(PER_GENERATION)]
        with pp.profile_phase("augment"):
            augmented[generation % 15] = torch.rand(1_500, WIDTH)
            driver.work(20)
        with pp.profile_phase("train"):
            distiller.step(dataset[chosen[0]], labels)
            driver.work(15)
        if generation >= WARM_UP:
            with pp.profile_phase("distil"):
                for index in chosen:
                    distiller.step(dataset[index], distiller.targets(dataset[index], index, generation))
                driver.work(15)
    driver.finish()


main()
