"""Every third generation the gauges of the run are sent to a program of the system."""

import collections
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Gauges:
    def __init__(self):
        self.outputs = []

    def open(self, name):
        output = os.popen("cat > /dev/null", "w")
        output.write(f"# {name}\n")
        self.outputs.append(output)
        return output

    def close(self):
        for output in self.outputs:
            output.close()
        self.outputs.clear()


def main():
    rng = np.random.default_rng(23)
    gauges = Gauges()
    replay = collections.deque(maxlen=35)
    for generation in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("rollout"):
            replay.append(rng.normal(size=(250, 60)))
            driver.work(65)
        with pp.profile_phase("report"):
            if generation % 3 == 0:
                output = gauges.open(f"generation {generation}")
                output.writelines(f"{value:.4f}\n" for value in replay[-1][0])
                output.flush()
                if not driver.LEAK:
                    gauges.close()
            driver.work(20)
        with pp.profile_phase("learn"):
            driver.work(60)
    driver.finish()
    gauges.close()


main()
