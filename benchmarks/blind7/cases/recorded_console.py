"""Tables of results on a rich console that records, for a report in HTML at the end."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import io
import random

from rich.console import Console
from rich.table import Table

ROWS, COLUMNS = 70, 8


class Reporter:
    def __init__(self):
        self.console = Console(record=True, file=io.StringIO(), width=140, color_system="truecolor", force_terminal=True)

    def table(self, generation, rng):
        table = Table(title=f"generation {generation}")
        for column in range(COLUMNS):
            table.add_column(f"metric {column}", style="cyan" if column % 2 else "green")
        for row in range(ROWS):
            table.add_row(f"agent {row}", *(f"{rng.random():.9f}" for _ in range(COLUMNS - 1)))
        self.console.print(table)
        self.console.file.seek(0)
        self.console.file.truncate()

    def page(self, generation):
        """A page of the report every few generations."""
        if generation % 7 == 6:
            with open("report.txt", "w") as file:
                file.write(self.console.export_text(clear=not driver.LEAK)[-100_000:])


def main():
    rng = random.Random(0)
    reporter = Reporter()
    window = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("collect"):
            window.append([rng.random() for _ in range(9_000)])
            del window[:-20]
            driver.work(25)
        with pp.profile_phase("update"):
            driver.work(30)
        with pp.profile_phase("report"):
            reporter.table(generation, rng)
            reporter.page(generation)
    driver.finish()


main()
