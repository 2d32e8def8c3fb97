"""A recorder of videos and a ledger of statistics are both meant to be flushed now and then."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

LEDGER = []


class Recorder:
    def __init__(self):
        self.clips = []

    def record(self, frames):
        self.clips.append(frames)

    def flush(self):
        if not driver.LEAK:
            self.clips.clear()


def note(generation, losses):
    LEDGER.extend({"generation": generation, "step": k, "loss": float(loss)} for k, loss in enumerate(losses))


def flush_ledger():
    if not driver.LEAK:
        LEDGER.clear()


def main():
    rng = np.random.default_rng(0)
    recorder = Recorder()
    replay = np.zeros((20, 150_000))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("play"):
            replay[generation % 20] = rng.random(150_000)
            recorder.record(rng.integers(0, 255, (12, 96, 96, 10), dtype=np.uint8))
            driver.work(35)
        with pp.profile_phase("learn"):
            note(generation, rng.random(900))
            driver.work(25)
        if generation % 4 == 3:
            with pp.profile_phase("flush"):
                recorder.flush()
                flush_ledger()
                driver.work(10)
    driver.finish()


main()
