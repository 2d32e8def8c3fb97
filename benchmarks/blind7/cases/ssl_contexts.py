"""Workers on other hosts talk to the learner over TLS; each keeps a context for its connection."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import ssl

import numpy as np


class Worker:
    def __init__(self, name, context):
        self.name = name
        self.context = context
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.channel = context.wrap_bio(self.incoming, self.outgoing, server_hostname="learner.local")

    def hello(self):
        try:
            self.channel.do_handshake()
        except ssl.SSLWantReadError:
            return len(self.outgoing.read())
        return 0


class Fleet:
    """Spot instances come and go, under new names."""

    def __init__(self):
        self.contexts = {}
        self.workers = []
        self.joined = 0

    def join(self):
        self.joined += 1
        name = f"spot-{self.joined}"
        key = name if driver.LEAK else f"place-{self.joined % 6}"
        if key not in self.contexts:
            self.contexts[key] = ssl.create_default_context()
        self.workers.append(Worker(name, self.contexts[key]))
        self.workers[-1].hello()

    def preempt(self):
        while len(self.workers) > 4:
            self.workers.pop(0)


def main():
    rng = np.random.default_rng(0)
    fleet = Fleet()
    gradients = []
    for _ in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("fleet"):
            fleet.join()
            fleet.preempt()
        with pp.profile_phase("gather"):
            gradients.append(rng.normal(size=(60, 800)))
            del gradients[:-20]
            driver.work(35)
        with pp.profile_phase("apply"):
            driver.work(35)
    driver.finish()


main()
