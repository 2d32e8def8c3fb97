"""A watchdog thread with a trace buffer guards every generation, but is not released when the generation is over."""

import threading
import time

from leakbench import Case, Truth


def watch(finished):
    trace = bytearray(b"\1" * 200_000)
    finished.wait()
    del trace


class Guarded:
    def __init__(self, leaky):
        self.leaky = leaky

    def generation(self, pp, index):
        with pp.phase("guard"):
            finished = threading.Event()
            watchdog = threading.Thread(target=watch, args=(finished,), daemon=True, name=f"watchdog-{index}")
            watchdog.start()
            time.sleep(0.05)
        with pp.phase("train"):
            sum(x * x for x in range(5000))
            time.sleep(0.2)
        with pp.phase("release"):
            if not self.leaky:
                finished.set()
                watchdog.join()
            time.sleep(0.05)


CASE = Case(
    name="blind_watchdogs",
    build=Guarded,
    truth=Truth(
        phase="guard",
        kind="threads",
        subject="Thread",
        also=("objects", "native"),
        subject_also=("Event", "watchdog"),
    ),
    source="synthetic",
    generations=24,
)
