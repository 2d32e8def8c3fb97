"""Search over programs: each candidate policy is written to a file, imported and run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import gc
import importlib.util

SOURCE = """
import numpy as np

TABLE = np.random.default_rng({seed}).random(({rows}, 64))
CALLS = 0


def act(observation):
    global CALLS
    CALLS += 1
    return int(TABLE[observation % len(TABLE)].argmax())


def score(steps):
    return sum(act(7 * i + {seed}) for i in range(steps)) / steps
"""


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def evaluate(seed):
    path = Path(f"candidate_{seed}.py").resolve()
    path.write_text(SOURCE.format(seed=seed, rows=900))
    module = load(path)
    result = module.score(400)
    if not driver.LEAK:
        del sys.modules[path.stem]
    path.unlink()
    return result


def main():
    best = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("propose"):
            seeds = [2 * generation, 2 * generation + 1]
            driver.work(35)
        with pp.profile_phase("evaluate"):
            best = sorted([*best, *((evaluate(seed), seed) for seed in seeds)])[-10:]
            driver.work(40)
        if generation % 5 == 4:
            with pp.profile_phase("housekeeping"):
                gc.collect()
    driver.finish()


main()
