"""An evaluator process is started each generation and waits for input that ends only when the pipe is closed."""

import subprocess
import sys
import time

from leakbench import Case, Truth

PROGRAM = "import sys; block = bytearray(b'x' * 600_000); sys.stdin.read()"


class Evaluated:
    def __init__(self, leaky):
        self.leaky = leaky
        self.evaluators = []

    def generation(self, pp, index):
        with pp.phase("train"):
            sum(x * x for x in range(5000))
            time.sleep(0.1)
        with pp.phase("start_evaluator"):
            command = [sys.executable, "-S", "-E", "-c", PROGRAM]
            self.evaluators.append(subprocess.Popen(command, stdin=subprocess.PIPE))
            time.sleep(0.1)
        with pp.phase("collect_scores"):
            self.evaluators[-1].stdin.write(b"episode\n")
            if not self.leaky:
                self.evaluators.pop().communicate()
            time.sleep(0.1)


CASE = Case(
    name="blind_evaluators",
    build=Evaluated,
    truth=Truth(
        phase="start_evaluator",
        kind="children",
        holder=(),
        also=("descriptors", "objects"),
    ),
    source="synthetic",
    generations=20,
)
