"""Programs that evolve are modules; a finder gives the import system the sources of a generation."""

import gc
import importlib.abc
import importlib.util
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, texts):
        self.texts = texts

    def find_spec(self, fullname, path=None, target=None):
        if fullname in self.texts:
            return importlib.util.spec_from_loader(fullname, self)
        return None

    def exec_module(self, module):
        exec(self.texts[module.__name__], module.__dict__)


def write_program(rng):
    terms = "\n".join(f"    total += {weight:.5f} * x[{i % 8}]" for i, weight in enumerate(rng.normal(size=150)))
    return f"def act(x):\n    total = 0.0\n{terms}\n    return total\n"


def run_all(names, rng):
    scores = []
    for name in names:
        module = importlib.import_module(name)
        scores.append(module.act(rng.normal(size=8)))
        del sys.modules[name]
    return scores


def main():
    rng = np.random.default_rng(23)
    names = [f"evolved_{i}" for i in range(40)]
    history = deque(maxlen=18)
    for generation in pp.generations(range(driver.generations(64))):
        with pp.profile_phase("install"):
            finder = Sources({name: write_program(rng) for name in names})
            sys.meta_path.insert(0, finder)
            driver.work(15)
        with pp.profile_phase("run"):
            history.append(np.array(run_all(names, rng)))
            driver.work(40)
        with pp.profile_phase("select"):
            if not driver.LEAK:
                sys.meta_path.remove(finder)
            if generation % 4 == 0:
                gc.collect()
            driver.work(40)
    driver.finish()


main()
