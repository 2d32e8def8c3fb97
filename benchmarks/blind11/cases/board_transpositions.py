"""A search through endgames remembers the positions that it has seen, for each may be reached in several ways."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Position:
    def __init__(self, cells, turn):
        self.cells = cells
        self.turn = turn

    def value(self):
        return sum(self.cells[::7]) - sum(self.cells[3::7]) + self.turn

    if not driver.LEAK:

        def __eq__(self, other):
            return self.turn == other.turn and self.cells == other.cells

        def __hash__(self):
            return hash((self.cells, self.turn))


class Entry:
    def __init__(self, value):
        self.value = value
        self.visits = 0


class Search:
    def __init__(self):
        self.table = {}
        self.hits = 0

    def look(self, position):
        entry = self.table.get(position)
        if entry is None:
            entry = self.table[position] = Entry(position.value())
        else:
            self.hits += 1
        entry.visits += 1
        return entry.value


def main():
    rng = np.random.default_rng(11)
    endgames = rng.integers(0, 13, size=(1200, 64)).tolist()
    search = Search()
    values = np.zeros(len(endgames))
    for _ in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("self_play"):
            drawn = rng.integers(0, len(endgames), 300).tolist()
            driver.work(50)
        with pp.profile_phase("search"):
            for number in drawn:
                values[number] = search.look(Position(tuple(endgames[number]), number % 2))
            driver.work(60)
        with pp.profile_phase("learn"):
            values *= 0.99
            driver.work(30)
    driver.finish()


main()
