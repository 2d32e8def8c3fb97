"""The teacher of a curriculum as a generator: it is sent the outcomes and yields the level to play next."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import numpy as np


class Outcome:
    __slots__ = ("level", "solved", "track")

    def __init__(self, level, solved, track):
        self.level = level
        self.solved = solved
        self.track = track


class Room:
    def __init__(self, level):
        self.doors = [Door(self, i) for i in range(level + 3)]


class Door:
    def __init__(self, room, number):
        self.room = room
        self.number = number
        self.lock = bytearray(600)


def teacher(window):
    level = 1
    attempts = []
    while True:
        outcome = yield level
        attempts.append(outcome)
        if not driver.LEAK and len(attempts) > 10 * window:
            del attempts[:-window]
        recent = attempts[-window:]
        rate = sum(one.solved for one in recent) / len(recent)
        if rate > 0.7 and outcome.level == level:
            level += 1
        elif rate < 0.3 and level > 1:
            level -= 1


def attempt(level, rng):
    room = Room(level)
    track = np.cumsum(rng.normal(size=(500, 2)), axis=0)
    reached = np.abs(track[-1]).sum() > len(room.doors)
    return Outcome(level, bool(reached) and rng.random() < 0.8, track)


def main():
    rng = np.random.default_rng(9)
    lessons = teacher(60)
    level = next(lessons)
    seen = np.zeros((driver.GENERATIONS // 3, 60, 500))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("rollout"):
            outcomes = [attempt(level, rng) for _ in range(60)]
            driver.work(35)
        with pp.profile_phase("grade"):
            for outcome in outcomes:
                level = lessons.send(outcome)
            driver.work(10)
        with pp.profile_phase("learn"):
            seen[generation % len(seen)] = [outcome.track[:, 0] for outcome in outcomes]
            outcomes = outcome = None
            driver.work(50)
    driver.finish()


main()
