"""The notes of a run are rendered from Markdown, with a rule that writes the figures of the generation into them."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from markdown_it import MarkdownIt

import phaseprof as pp


class Notebook:
    def __init__(self):
        self.parser = MarkdownIt()
        self.parser.core.ruler.push("figures", lambda state: None)
        self.pages = deque(maxlen=15)

    def figures(self, values):
        texts = [f"{value:.6f}" for value in values]

        def fill(state):
            for token in state.tokens:
                if token.content.isdigit():
                    token.content = texts[int(token.content)]

        if driver.LEAK:
            self.parser.core.ruler.push("figures", fill)
        else:
            self.parser.core.ruler.at("figures", fill)

    def render(self, text):
        self.pages.append(self.parser.render(text))


def main():
    rng = np.random.default_rng(19)
    notebook = Notebook()
    for _ in pp.generations(range(driver.generations(62))):
        with pp.profile_phase("evaluate"):
            scores = rng.normal(size=3500)
            driver.work(60)
        with pp.profile_phase("report"):
            notebook.figures(scores)
            notebook.render("# Scores\n\n" + "\n\n".join(str(i) for i in range(60)))
            driver.work(25)
        with pp.profile_phase("vary"):
            driver.work(35)
    driver.finish()


main()
