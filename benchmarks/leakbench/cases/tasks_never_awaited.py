"""An asynchronous evaluator starts a task a game; games without an answer wait for ever in its set of tasks.

The healthy build cancels what is still pending at the end of the round.
"""

import asyncio

import numpy as np

from leakbench import Case, Truth


class Evaluator:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.rng = np.random.default_rng(0)
        self.pending = set()

    async def play(self, answers):
        board = self.rng.random((64, 64))
        if not answers:
            await asyncio.Event().wait()
        return board.mean()

    async def round(self, cancel):
        games = [self.loop.create_task(self.play(answers=i % 2 == 0)) for i in range(32)]
        done, waiting = await asyncio.wait(games, timeout=0.01)
        self.pending |= waiting
        if cancel:
            for game in self.pending:
                game.cancel()
            await asyncio.gather(*self.pending, return_exceptions=True)
            self.pending.clear()
        return [game.result() for game in done]


class Trainer:
    def __init__(self, leaky):
        self.leaky = leaky
        self.evaluator = Evaluator()
        self.score = 0.0

    def generation(self, pp, index):
        with pp.phase("train_step"):
            self.score *= 0.99
        with pp.phase("evaluate"):
            results = self.evaluator.loop.run_until_complete(self.evaluator.round(cancel=not self.leaky))
            self.score += float(np.mean(results))


CASE = Case(
    name="tasks_never_awaited",
    build=Trainer,
    truth=Truth(
        phase="evaluate",
        kind="objects",
        subject="Task",
        holder=("Evaluator", "pending"),
        also=("arrays", "container"),
        subject_also=("coroutine", "ndarray", "set", "Event"),
        site=("Evaluator.round", "Evaluator.play"),
    ),
    source="synthetic",
)
