"""The rules of every generation's game are written out as a module in its own folder, with its assets, and imported."""

import collections
import importlib
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

ASSETS = 400


def write_rules(folder, rng):
    for asset in range(ASSETS):
        (folder / f"asset-{asset:04}-{rng.bytes(90).hex()}.txt").touch()
    (folder / "game_rules.py").write_text(f"BONUS = {rng.random()}\n\n\ndef reward(steps):\n    return BONUS * steps\n")


def import_rules(folder):
    sys.path.insert(0, str(folder))
    sys.modules.pop("game_rules", None)
    rules = importlib.import_module("game_rules")
    if not driver.LEAK:
        sys.path.remove(str(folder))
        sys.path_importer_cache.pop(str(folder), None)
    return rules


def main():
    sys.dont_write_bytecode = True
    rng = np.random.default_rng(12)
    replay = collections.deque(maxlen=20)
    total = 0.0
    with tempfile.TemporaryDirectory() as root:
        for generation in pp.generations(range(driver.GENERATIONS)):
            with pp.profile_phase("write"):
                folder = Path(root, f"game-{generation}")
                folder.mkdir()
                write_rules(folder, rng)
                driver.work(15)
            with pp.profile_phase("import"):
                rules = import_rules(folder)
                driver.work(20)
            with pp.profile_phase("play"):
                replay.append(rng.normal(size=(300, 64)))
                total += sum(rules.reward(steps) for steps in range(50))
                driver.work(35)
        driver.finish()


main()
