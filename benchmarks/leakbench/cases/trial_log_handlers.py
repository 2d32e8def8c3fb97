"""Every trial adds a file handler to the shared logger, so a file stays open for each trial there ever was.

The healthy build removes and closes its handler.
"""

import logging
import random
import tempfile
from pathlib import Path

from leakbench import Case, Truth


class Study:
    def __init__(self, leaky):
        self.leaky = leaky
        self.random = random.Random(0)
        self.folder = tempfile.TemporaryDirectory()
        self.logger = logging.getLogger("leakbench.study")
        self.logger.propagate = False
        self.logger.setLevel(logging.INFO)
        self.best = 0.0

    def open_log(self, name):
        handler = logging.FileHandler(Path(self.folder.name) / name)
        self.logger.addHandler(handler)
        return handler

    def generation(self, pp, index):
        with pp.phase("start_trials"):
            handlers = [self.open_log(f"{index}-{i}.log") for i in range(4)]
        with pp.phase("run_trials"):
            self.best = max(self.best, self.random.random())
            self.logger.info("best so far: %f", self.best)
        with pp.phase("end_trials"):
            if not self.leaky:
                for handler in handlers:
                    self.logger.removeHandler(handler)
                    handler.close()


CASE = Case(
    name="trial_log_handlers",
    build=Study,
    truth=Truth(
        phase="start_trials",
        kind="descriptors",
        subject="FileHandler",
        holder=("Logger", "handlers"),
        also=("objects", "container"),
        subject_also=("TextIOWrapper", "BufferedWriter", "FileIO", "list"),
        site=("Study.open_log",),
    ),
    source="synthetic",
    tags=("count",),
)
