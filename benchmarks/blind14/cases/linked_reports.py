"""A page in Markdown tells of the runs of each generation, with a link and a remark for each; it becomes HTML."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from markdown_it import MarkdownIt

import phaseprof as pp

WORDS = "stable early late noisy higher lower entropy return collapse plateau seed restart".split()


class Pages:
    def __init__(self):
        self.parser = MarkdownIt()
        self.env = {}

    def render(self, text):
        if not driver.LEAK:
            self.env = {}
        return self.parser.render(text, self.env)


def write(generation, scores, rng):
    lines = [f"# Generation {generation}", ""]
    for run, score in enumerate(scores):
        lines += [f"- [run {run}][g{generation}r{run}]: {score:.3f}"]
    lines.append("")
    for run in range(len(scores)):
        remark = " ".join(WORDS[i] for i in rng.integers(0, len(WORDS), 420))
        lines.append(f'[g{generation}r{run}]: https://runs.example.org/{generation}/{run} "{remark}"')
    return "\n".join(lines)


def main():
    rng = np.random.default_rng(127)
    pages = Pages()
    recent = deque(maxlen=12)
    replay = deque(maxlen=24)
    for generation in pp.generations(range(driver.generations(74))):
        with pp.profile_phase("evaluate"):
            scores = rng.random(40)
            replay.append(rng.random((50, 100)))
            driver.work(45)
        with pp.profile_phase("learn"):
            driver.work(40)
        with pp.profile_phase("report"):
            recent.append(len(pages.render(write(generation, scores, rng))))
    driver.finish()


main()
