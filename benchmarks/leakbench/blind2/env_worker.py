"""An environment in a child process; the child keeps what it has played."""

import subprocess
import sys
import time

from leakbench import Case, Truth

WORKER = """
import sys
from collections import deque
limit = int(sys.argv[1]) or None
played = deque(maxlen=limit)
for line in sys.stdin:
    frames = [bytearray(b"x" * 9000) for _ in range(int(line))]
    played.append(frames)
    print(len(frames), flush=True)
"""


class RemoteEnv:
    def __init__(self, limit):
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(limit)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def play(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


class Distributed:
    def __init__(self, leaky):
        self.env = RemoteEnv(limit=0 if leaky else 9)
        self.steps = 0

    def generation(self, pp, index):
        with pp.phase("rollout"):
            for _ in range(2):
                self.steps += self.env.play(12)
                time.sleep(0.06)
        with pp.phase("learn"):
            time.sleep(0.08)


CASE = Case(
    name="blind2_env_worker",
    build=Distributed,
    truth=Truth(phase="rollout", kind="children"),
    source="https://github.com/openai/baselines/issues/804",
    generations=34,
)
