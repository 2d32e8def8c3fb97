"""Every level has its own colours in which the course of an episode is printed for those who watch."""

import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from rich.console import Console
from rich.theme import Theme

import phaseprof as pp

COLOURS = ["red", "green", "blue", "magenta", "cyan", "yellow", "bold red", "bold green", "dim blue", "italic cyan"]


class Screen:
    def __init__(self):
        self.output = io.StringIO()
        self.console = Console(file=self.output, width=100, color_system=None)

    def theme(self, level):
        return Theme({f"{level}.tile{n}": COLOURS[n % len(COLOURS)] for n in range(30)})

    def show(self, level, tiles):
        self.output.seek(0)
        self.output.truncate()
        self.console.push_theme(self.theme(level))
        for row in tiles:
            self.console.print("".join(f"[{level}.tile{n}]#[/]" for n in row))
        if not driver.LEAK:
            self.console.pop_theme()
        return len(self.output.getvalue())


def main():
    rng = np.random.default_rng(10)
    screen = Screen()
    history = np.zeros((20, 200, 60))
    for generation in pp.generations(range(driver.generations(64))):
        with pp.profile_phase("play"):
            history[generation % 20] = rng.normal(size=(200, 60))
            driver.work(40)
        with pp.profile_phase("show"):
            for number in range(4):
                screen.show(f"level{generation}x{number}", rng.integers(30, size=(6, 16)))
            driver.work(15)
        with pp.profile_phase("update"):
            history[generation % 20] -= history[generation % 20].mean(0)
            driver.work(40)
    driver.finish()


main()
