"""Programs written by a language model run under an audit hook which notes what they open."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

SOURCE = """
def act(observation):
    total = {start}
    for value in observation:
        total += value * {slope}
    return total
"""


class Guard:
    """Watches one program while it runs."""

    current = None

    def __init__(self, source):
        self.opened = []
        self.visits = np.ones((300, 300))
        self.active = False
        self.namespace = {}
        exec(source, self.namespace)

    def watch(self, event, arguments):
        if self.active and event == "open":
            self.opened.append(arguments[0])

    def run(self, observation):
        self.active = True
        self.visits += 1
        try:
            return self.namespace["act"](observation)
        finally:
            self.active = False


def watch_current(event, arguments):
    if Guard.current is not None:
        Guard.current.watch(event, arguments)


def main():
    rng = np.random.default_rng(0)
    tried = np.zeros((20, 120_000))
    if not driver.LEAK:
        sys.addaudithook(watch_current)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("write"):
            source = SOURCE.format(start=generation, slope=rng.random())
            tried[generation % 20] = rng.random(120_000)
            driver.work(25)
        with pp.profile_phase("sandbox"):
            guard = Guard(source)
            if driver.LEAK:
                sys.addaudithook(guard.watch)
            else:
                Guard.current = guard
            guard.run(tried[generation % 20, :500])
            driver.work(25)
        with pp.profile_phase("rank"):
            driver.work(20)
    driver.finish()


main()
