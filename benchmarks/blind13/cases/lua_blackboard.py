"""The rules of a game are written in Lua, and what the agents learn about a level is written on a board in Lua, too."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from lupa import LuaRuntime

import phaseprof as pp

RULES = """
board = {}

function note(level, values)
    local row = {}
    for i = 0, 249 do
        row[i + 1] = values[i % 30] + i
    end
    board[level] = row
end

function forget(level)
    board[level] = nil
end

function value(level, place)
    return board[level][place]
end
"""


class Game:
    def __init__(self):
        self.lua = LuaRuntime()
        self.lua.execute(RULES)
        self.note, self.forget, self.value = (self.lua.globals()[name] for name in ("note", "forget", "value"))

    def learn(self, level, values):
        self.note(level, values)
        if not driver.LEAK:
            self.forget(level - 400)


def main():
    rng = np.random.default_rng(139)
    game = Game()
    returns = deque(maxlen=60)
    for generation in pp.generations(range(driver.generations(150))):
        with pp.profile_phase("play"):
            for level in range(40 * generation, 40 * generation + 40):
                game.learn(level, rng.random(30).tolist())
                returns.append(game.value(level, 7))
            if generation % 8 == 0:
                game.lua.gccollect()
            driver.wait(220)
            driver.work(20)
        with pp.profile_phase("train"):
            driver.wait(160)
            driver.work(20)
    driver.finish()


main()
