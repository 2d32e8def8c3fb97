"""After each generation a report in Markdown, with small tables in HTML, is turned into a page."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import markdown
import numpy as np

import phaseprof as pp


class Report:
    def __init__(self):
        self.converter = markdown.Markdown()

    def source(self, generation, scores):
        parts = [f"# Generation {generation}", ""]
        for number, row in enumerate(scores):
            cells = "".join(f"<td>{value:.9f}</td>" for value in row)
            parts += [f"Family *{number}*, best {row.max():.3f}", "", f"<table><tr>{cells}</tr></table>", ""]
        return "\n".join(parts)

    def page(self, generation, scores):
        if not driver.LEAK:
            self.converter.reset()
        return self.converter.convert(self.source(generation, scores))


def main():
    rng = np.random.default_rng(5)
    report = Report()
    pages = deque(maxlen=6)
    genomes = rng.normal(size=(40, 2000))
    for generation in pp.generations(range(driver.generations(60))):
        with pp.profile_phase("evaluate"):
            scores = rng.normal(size=(24, 320)) + genomes[:24, :320]
            driver.work(35)
        with pp.profile_phase("report"):
            pages.append(report.page(generation, scores))
            driver.work(15)
        with pp.profile_phase("breed"):
            genomes = genomes[rng.permutation(40)] + rng.normal(size=genomes.shape) / 50
            driver.work(35)
    driver.finish()


main()
