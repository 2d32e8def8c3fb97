"""A logger is named after each episode; the logging module never forgets a name."""

import logging
import time

from leakbench import Case, Truth


class ToMemory(logging.Handler):
    def __init__(self):
        super().__init__()
        self.count = 0

    def emit(self, record):
        self.count += 1


class Logged:
    def __init__(self, leaky):
        self.leaky = leaky

    def generation(self, pp, index):
        with pp.phase("interact"):
            episodes = [f"episode.{index if self.leaky else 0}.{n}" for n in range(150)]
            time.sleep(0.1)
        with pp.phase("log"):
            for name in episodes:
                logger = logging.getLogger(name)
                if not logger.handlers:
                    logger.propagate = False
                    logger.addHandler(ToMemory())
                logger.warning("return %f", 1.0)
            time.sleep(0.15)
        with pp.phase("learn"):
            sum(map(len, episodes))
            time.sleep(0.1)


CASE = Case(
    name="blind_episode_loggers",
    build=Logged,
    truth=Truth(
        phase="log",
        kind="objects",
        subject="Logger",
        holder=("loggerDict",),
        also=("container", "native"),
        subject_also=("ToMemory", "PlaceHolder", "dict"),
    ),
    source="synthetic",
    generations=24,
)
