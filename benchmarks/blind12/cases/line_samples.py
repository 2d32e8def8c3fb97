"""Each generation brings a shard of problems in a text file, of which some lines, drawn at random, are solved."""

import linecache
import sys
import tempfile
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

LINES = 1500


class Shards:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.rng = np.random.default_rng(6)

    def write(self, generation):
        path = self.folder / f"shard-{generation:05}.txt"
        numbers = self.rng.integers(10, 10**8, size=(LINES, 10)).tolist()
        path.write_text("\n".join(" ".join(map(str, row)) for row in numbers))
        return path

    def sample(self, path, count):
        rows = self.rng.choice(LINES, size=count, replace=False) + 1
        lines = [linecache.getline(str(path), int(row)) for row in rows]
        path.unlink()
        if not driver.LEAK:
            linecache.checkcache()  # forgets the files which are gone
        return lines


def main():
    recent = deque(maxlen=800)
    weights = np.zeros(10)
    with tempfile.TemporaryDirectory() as folder:
        shards = Shards(folder)
        for generation in pp.generations(range(driver.generations(80))):
            with pp.profile_phase("write"):
                path = shards.write(generation)
                driver.work(25)
            with pp.profile_phase("sample"):
                recent.extend(shards.sample(path, 48))
                driver.work(25)
            with pp.profile_phase("solve"):
                for line in recent:
                    weights += 1e-12 * np.array(line.split(), dtype=float)
                driver.work(45)
        driver.finish()


main()
