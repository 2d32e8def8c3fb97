"""Small programs that leak in one known way, or do not: each is run in a process of its own.

python specimens.py NAME    prints what was recorded and found, as JSON.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import asdict

import numpy as np

from phaseprof import Profiler
from phaseprof.recording.model import ProcessRun

TURNS = 14
# How long a turn reads under a budget: what may be spent comes from time, and a busy machine needs more of it.
PAUSE_S = 0.05
pause_s = 0.0
to_read: list[weakref.ref[Trainer]] = []  # none that leads there


class Episode:
    def __init__(self) -> None:
        self.steps = [object() for _ in range(2000)]


class Scene:
    """Many small blocks, of about the size that a block is taken to have."""

    def __init__(self) -> None:
        self.parts = [[f"part {n} of a scene"] for n in range(400)]


class Trainer:
    """What programs keep things in."""

    def __init__(self) -> None:
        self.episodes: list[object] = []
        self.by_step: dict[object, object] = {}
        self.spare: list[object] = []


def turns(pp: Profiler, n: int = TURNS) -> Iterator[int]:
    for index in range(n):
        with pp.generation(index):
            yield index
            read()


def read() -> None:
    """Read what there is for a while, as trainers do: memory that nobody reads may be slow to come back."""
    until = time.perf_counter() + pause_s
    while time.perf_counter() < until:
        for trainer in filter(None, (found() for found in to_read)):
            sum(map(sys.getsizeof, trainer.spare))
        time.sleep(0.001)


def work(pp: Profiler, name: str) -> None:
    """A phase that makes episodes and keeps none."""
    with pp.phase(name):
        for _ in range(5):
            Episode()


def kept(pp: Profiler, trainer: Trainer) -> None:
    for _ in turns(pp):
        work(pp, "train")
        with pp.phase("collect"):
            trainer.episodes += [Episode() for _ in range(3)]
        work(pp, "evaluate")


def freed_in_another_phase(pp: Profiler, trainer: Trainer) -> None:
    for _ in turns(pp):
        with pp.phase("collect"):
            trainer.episodes += [Episode() for _ in range(3)]
        with pp.phase("train"):
            trainer.episodes.clear()


def one_generation_behind(pp: Profiler, trainer: Trainer) -> None:
    """What is made in one turn is let go in the next."""
    for _ in turns(pp):
        with pp.phase("collect"):
            trainer.episodes = [Episode() for _ in range(3)]


def in_an_inner_phase(pp: Profiler, trainer: Trainer) -> None:
    for _ in turns(pp):
        with pp.phase("train"):
            Episode()
            with pp.phase("rollout"):
                trainer.episodes += [Episode() for _ in range(3)]
            Episode()


def in_a_checkpoint_block(pp: Profiler, trainer: Trainer) -> None:
    for _ in turns(pp):
        with pp.phase("train"):
            Episode()
            with pp.checkpoint("encoder"):
                trainer.episodes += [Episode() for _ in range(3)]
            with pp.checkpoint("backward"):
                Episode()


def after_an_inner_phase(pp: Profiler, trainer: Trainer) -> None:
    for _ in turns(pp):
        with pp.phase("train"):
            work(pp, "rollout")
            trainer.episodes += [Episode() for _ in range(3)]


def outside_phases(pp: Profiler, trainer: Trainer) -> None:
    for _ in turns(pp):
        work(pp, "train")
        trainer.episodes += [Episode() for _ in range(3)]


def without_generations(pp: Profiler, trainer: Trainer) -> None:
    for _ in range(TURNS):
        work(pp, "train")
        with pp.phase("collect"):
            trainer.episodes += [Episode() for _ in range(3)]


def in_a_thread(pp: Profiler, trainer: Trainer) -> None:
    def load() -> None:
        with pp.phase("load"):
            trainer.episodes += [Episode() for _ in range(3)]

    for _ in turns(pp):
        with pp.phase("train"):
            worker = threading.Thread(target=load)
            worker.start()
            worker.join()
            Episode()


def held_by_a_closure(pp: Profiler, trainer: Trainer) -> None:
    trainer.spare.append(make_callback())
    for _ in turns(pp):
        with pp.phase("log"):
            trainer.spare[0]()  # type: ignore[operator]


def make_callback() -> Callable[[], None]:
    history: list[object] = []
    return lambda: history.extend([Episode() for _ in range(3)])


def strings(pp: Profiler, trainer: Trainer) -> None:
    for index in turns(pp):
        with pp.phase("log"):
            trainer.episodes += [f"loss of batch {n} in turn {index}: {n / 7}".ljust(600) for n in range(180)]


def arrays_in_untracked_tuples(pp: Profiler, trainer: Trainer) -> None:
    for index in turns(pp):
        work(pp, "train")
        with pp.phase("collect"):
            for n in range(4):
                trainer.by_step[index, n] = (n, np.full(4000, n))


def dead_cycles(pp: Profiler, trainer: Trainer) -> None:
    gc.disable()
    for _ in turns(pp):
        with pp.phase("rollout"):
            for _ in range(3):
                episode = Episode()
                episode.steps.append(episode)


def dead_cycles_in_long_teeth(pp: Profiler, trainer: Trainer) -> None:
    """A collection of the young ones takes them after sixteen turns, and more come; the heap is large."""
    gc.disable()
    trainer.spare += [[None] for _ in range(400_000)]
    for index in turns(pp, 28):
        with pp.phase("train"):
            Episode()
        with pp.phase("rollout"):
            for _ in range(3):
                episode = Episode()
                episode.steps += [episode, bytearray(50_000)]
        if index == 15:
            gc.collect(1)


def long_teeth_of_a_cache(pp: Profiler, trainer: Trainer) -> None:
    """What goes up and down in the same teeth, and is held."""
    trainer.by_step["heap"] = [[None] for _ in range(400_000)]
    for index in turns(pp, 28):
        with pp.phase("rollout"):
            trainer.spare += [bytearray(50_000) for _ in range(3)]
        if index == 15:
            trainer.spare.clear()


def waiting_threads(pp: Profiler, trainer: Trainer) -> None:
    """The heap is large; each turn starts a thread that waits."""
    trainer.spare += [[None] for _ in range(400_000)]
    done = threading.Event()
    for _ in turns(pp):
        with pp.phase("load"):
            trainer.episodes.append(threading.Thread(target=done.wait, daemon=True))
            trainer.episodes[-1].start()  # type: ignore[attr-defined]  # a thread


def kept_in_a_large_heap(pp: Profiler, trainer: Trainer) -> None:
    trainer.spare += [[None] for _ in range(400_000)]
    for _ in turns(pp):
        with pp.phase("collect"):
            trainer.episodes += [Scene() for _ in range(5)]


def buffers_grow_in_place(pp: Profiler, trainer: Trainer) -> None:
    trainer.spare += [bytearray() for _ in range(30)]
    for _ in turns(pp):
        work(pp, "train")
        with pp.phase("log"):
            for log in trainer.spare:
                log.extend(bytes(8_000))  # type: ignore[attr-defined]  # a bytearray


def watched(pp: Profiler, trainer: Trainer) -> None:
    pp.watch(Episode, expected=2)
    for _ in turns(pp):
        work(pp, "train")
        with pp.phase("evaluate"):
            trainer.episodes.append(Episode())


def bounded(pp: Profiler, trainer: Trainer) -> None:
    from collections import deque

    trainer.episodes = deque(maxlen=100)  # type: ignore[assignment]
    for _ in turns(pp):
        with pp.phase("collect"):
            trainer.episodes += [Episode() for _ in range(4)]


def many_strings(pp: Profiler, trainer: Trainer) -> None:
    trainer.spare += map(str, range(600_000))
    for _ in turns(pp):
        work(pp, "train")


def told(process: ProcessRun) -> dict[str, object]:
    return {
        "births": [[b.subject, b.phases] for b in process.births],
        "violations": [[v.name, v.found, v.phase, v.since] for v in process.violations],
        "readings": {name: series.generations for (at, name), series in process.series.items() if at != "sample"},
        "notes": process.notes,
    }


def main(name: str, budget: str = "none") -> None:
    global pause_s
    pause_s = 0.0 if budget == "none" else PAUSE_S
    trainer, pp = Trainer(), Profiler(budget=None if budget == "none" else float(budget), min_generation_s=0)
    to_read.append(weakref.ref(trainer))
    globals()[name](pp, trainer)
    findings = [asdict(finding) for finding in pp.findings()]
    print(json.dumps({"findings": findings, **told(pp._session.recorder.model)}))
    pp.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
