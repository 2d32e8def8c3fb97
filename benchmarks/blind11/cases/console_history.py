"""The commands that an agent gave in a console are put into its history, so that a person may look them up there."""

import readline
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

LIMIT = 1_200


def note(commands):
    for command in commands:
        readline.add_history(command)
    if not driver.LEAK:
        while readline.get_current_history_length() > LIMIT:
            readline.remove_history_item(0)


def main():
    rng = np.random.default_rng(18)
    readline.set_auto_history(False)
    readline.set_history_length(LIMIT)
    scores = np.zeros(100)
    for generation in pp.generations(range(driver.generations(150))):
        with pp.profile_phase("explore"):
            commands = [f"run {generation} {i} " + rng.bytes(2_500).hex() for i in range(40)]
            driver.work(55)
        with pp.profile_phase("record"):
            note(commands)
            driver.work(15)
        with pp.profile_phase("learn"):
            scores[generation % 100] = len({command[-2:] for command in commands})
            driver.work(45)
    driver.finish()


main()
