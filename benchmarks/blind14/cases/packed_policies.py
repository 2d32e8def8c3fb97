"""Policies arrive as archives with their code and their tables; each is loaded from its archive, which then goes."""

import sys
import zipfile
import zipimport
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

CODE = "def act(state, table):\n    return float(state @ table) > {threshold}\n"


def pack(path, threshold, rng):
    tables = rng.random((320, 8)).astype(np.float32)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("policy.py", CODE.format(threshold=threshold))
        for number, table in enumerate(tables):
            archive.writestr(f"tables/phase_of_the_game_{number:03d}.bin", table.tobytes())


class Arena:
    def __init__(self, folder):
        self.folder = folder

    def load(self, path):
        importer = zipimport.zipimporter(str(path))
        names = {}
        exec(importer.get_code("policy"), names)
        table = np.frombuffer(importer.get_data("tables/phase_of_the_game_007.bin"), np.float32)
        path.unlink()
        if not driver.LEAK:
            importer.invalidate_caches()
        return names["act"], table


def main():
    rng = np.random.default_rng(79)
    arena = Arena(Path.cwd())
    wins = deque(maxlen=30)
    replay = deque(maxlen=37)
    for generation in pp.generations(range(driver.generations(112))):
        with pp.profile_phase("pack"):
            path = arena.folder / f"policy_{generation:04d}.zip"
            pack(path, rng.normal(), rng)
            driver.work(60)
        with pp.profile_phase("load"):
            act, table = arena.load(path)
        with pp.profile_phase("play"):
            states = rng.normal(size=(300, 8))
            replay.append(states)
            wins.append(np.mean([act(state, table) for state in states]))
            driver.work(70)
    driver.finish()


main()
