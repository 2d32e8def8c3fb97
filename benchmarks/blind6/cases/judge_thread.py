"""A league whose judge runs in a thread of its own: it takes the matches from a queue and ranks them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import collections
import queue
import threading

import numpy as np

PLAYERS = 12


class Match:
    __slots__ = ("home", "away", "goals", "replay")

    def __init__(self, home, away, goals, replay):
        self.home = home
        self.away = away
        self.goals = goals
        self.replay = replay


def judge(inbox, table, lock):
    """Excitement is what the highlights are chosen by."""
    ranking = []
    while True:
        match = inbox.get()
        if match is None:
            return
        ranking.append((abs(match.goals[0] - match.goals[1]), -sum(match.goals), id(match), match))
        if not driver.LEAK and len(ranking) > 900:
            ranking.sort(key=lambda row: row[:3])
            del ranking[600:]
        winner = match.home if match.goals[0] >= match.goals[1] else match.away
        with lock:
            table[winner] += 3
        match = None
        inbox.task_done()


def play(home, away, rng):
    frames = rng.integers(0, 4, 11_000, dtype=np.uint8)
    return Match(home, away, rng.poisson(2, 2).tolist(), frames.tobytes())


def main():
    rng = np.random.default_rng(6)
    inbox, lock = queue.Queue(), threading.Lock()
    table = collections.Counter()
    thread = threading.Thread(target=judge, args=(inbox, table, lock), name="judge")
    thread.start()
    policies = collections.deque(maxlen=18)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("play"):
            for _ in range(60):
                home, away = rng.choice(PLAYERS, 2, replace=False)
                inbox.put(play(int(home), int(away), rng))
            driver.work(30)
        with pp.profile_phase("judge"):
            inbox.join()
            with lock:
                table.most_common(3)
            driver.work(20)
        with pp.profile_phase("learn"):
            policies.append(rng.normal(size=(PLAYERS, 64, 64)))
            driver.work(50)
    driver.finish()
    inbox.put(None)
    thread.join()


main()
