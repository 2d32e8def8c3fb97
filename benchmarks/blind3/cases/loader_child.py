"""The data-loading child process caches every decoded shard: the growth is in the child, none in the trainer."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import atexit
import subprocess
import sys as system

import phaseprof as pp

CHILD = """
import sys
cache = {}
limit = int(sys.argv[1])
for line in sys.stdin:
    shard = int(line)
    if limit and len(cache) >= limit:
        cache.clear()
    cache[shard] = bytearray([shard % 250 + 1]) * 1_500_000
    print(sum(cache[shard][:1000]), flush=True)
"""


class Loader:
    def __init__(self):
        limit = "0" if driver.LEAK else "8"
        self.child = subprocess.Popen([system.executable, "-c", CHILD, limit], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        atexit.register(self.child.kill)

    def load(self, shard):
        self.child.stdin.write(f"{shard}\n")
        self.child.stdin.flush()
        return int(self.child.stdout.readline())


def main():
    loader = Loader()
    total = 0
    for epoch in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("load"):
            total += loader.load(epoch)
            driver.work(20)
        with pp.profile_phase("train"):
            driver.work(60)
        with pp.profile_phase("validate"):
            driver.work(25)
    driver.finish()


main()
