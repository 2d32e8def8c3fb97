"""An asynchronous logger drains fewer events in a generation than the trainer posts."""

import queue
import threading
import time
from dataclasses import dataclass, field

from leakbench import Case, Truth


@dataclass
class Event:
    step: int
    name: str
    values: list = field(default_factory=list)


class AsyncLogger:
    def __init__(self, per_round):
        self.per_round = per_round
        self.pending = queue.Queue()
        self.round = threading.Semaphore(0)
        self.done = threading.Semaphore(0)
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self):
        while self.round.acquire():
            for _ in range(self.per_round):
                if self.pending.empty():
                    break
                self.pending.get()
            self.done.release()


class Agent:
    def __init__(self, leaky):
        self.logger = AsyncLogger(150 if leaky else 1500)

    def generation(self, pp, index):
        with pp.phase("interact"):
            for step in range(1200):
                self.logger.pending.put(Event(step, f"step-{index}-{step}", [step * 0.5, step * 0.25]))
            time.sleep(0.15)
        with pp.phase("learn"):
            sum(x * x for x in range(2000))
            time.sleep(0.1)
        with pp.phase("flush"):
            self.logger.round.release()
            self.logger.done.acquire()
            time.sleep(0.05)


CASE = Case(
    name="blind_event_backlog",
    build=Agent,
    truth=Truth(
        phase="interact",
        kind="objects",
        subject="Event",
        holder=("pending",),
        also=("container", "native"),
        subject_also=("deque", "Queue"),
    ),
    source="synthetic",
    generations=24,
)
