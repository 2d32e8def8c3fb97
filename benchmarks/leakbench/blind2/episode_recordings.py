"""An evaluation service enters a recording for each episode on a stack that it leaves only when it stops."""

import time
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import numpy as np

from leakbench import Case, Truth


@contextmanager
def recording(shape):
    frames = np.zeros(shape, dtype=np.uint8)
    try:
        yield frames
    finally:
        frames = None


class Evaluator:
    def __init__(self, leaky):
        self.leaky = leaky
        self.session = SimpleNamespace(open=ExitStack(), served=0)
        self.rng = np.random.default_rng(11)

    def episode(self, stack, steps):
        frames = stack.enter_context(recording((steps, 32, 32)))
        frames[:] = self.rng.integers(0, 255, (32, 32), dtype=np.uint8)
        self.session.served += 1
        return int(frames[-1].max())

    def generation(self, pp, index):
        steps = min(70, 25 + 5 * index)  # better policies live longer
        with pp.phase("evaluate"):
            for _ in range(3):
                if self.leaky:
                    self.episode(self.session.open, steps)
                else:
                    with ExitStack() as stack:
                        self.episode(stack, steps)
                time.sleep(0.04)
        with pp.phase("publish"):
            time.sleep(0.08)


CASE = Case(
    name="blind2_episode_recordings",
    build=Evaluator,
    truth=Truth(
        phase="evaluate",
        kind="arrays",
        subject="ndarray",
        holder=("session", "open"),
        also=("objects", "container", "native"),
        subject_also=("generator", "_GeneratorContextManager", "method", "deque"),
    ),
    source="https://github.com/jina-ai/serve/issues/3739",
    generations=32,
)
