"""Each generation's policies are served under routes of their own, of which the newest are asked."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from werkzeug.routing import Map, Rule

import phaseprof as pp


class Server:
    def __init__(self):
        self.routes = Map()

    def deploy(self, generation, count):
        if not driver.LEAK:
            self.routes = Map()
        for number in range(count):
            self.routes.add(Rule(f"/generation/{generation}/policy{number}/<int:episode>/act", endpoint=f"act{number}",
                                 methods=["POST"]))

    def match(self, path):
        return self.routes.bind("localhost").match(path, method="POST")


def main():
    rng = np.random.default_rng(27)
    server = Server()
    served = np.zeros(20)
    for generation in pp.generations(range(driver.generations(80))):
        with pp.profile_phase("train"):
            weights = rng.normal(size=(200, 64))
            driver.work(85)
        with pp.profile_phase("deploy"):
            server.deploy(generation, 20)
            driver.work(30)
        with pp.profile_phase("serve"):
            for number in rng.integers(0, 20, 30).tolist():
                endpoint, _ = server.match(f"/generation/{generation}/policy{number}/{number + 1}/act")
                served[int(endpoint[3:])] += weights[number, 0]
            driver.work(80)
    driver.finish()


main()
