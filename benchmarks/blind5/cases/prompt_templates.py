"""Prompts for a language model are jinja templates, found by name by an environment which caches them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import gc
import random

import jinja2

WORDS = ["reward", "agent", "goal", "door", "key", "red", "blue", "room", "left", "right", "take", "open"]


class Prompts:
    def __init__(self):
        self.written = {}
        self.environment = jinja2.Environment(loader=jinja2.FunctionLoader(self.written.get),
                                              cache_size=-1 if driver.LEAK else 40)

    def render(self, name, text, **values):
        self.written[name] = text
        prompt = self.environment.get_template(name).render(**values)
        del self.written[name]
        return prompt


def few_shot(rng):
    """A long text of examples, drawn anew for every prompt."""
    return "Task: {{ task }}\n" + " ".join(rng.choices(WORDS, k=11_000)) + "\nAnswer {{ count }} times:\n"


def main():
    rng = random.Random(2)
    prompts = Prompts()
    lengths = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("build_prompts"):
            for index in range(4):
                prompt = prompts.render(f"step{generation}-{index}", few_shot(rng), task="open the door", count=index)
                lengths.append(len(prompt))
            driver.work(25)
        with pp.profile_phase("generate"):
            del lengths[:-40]
            driver.work(45)
        if generation % 5 == 4:
            gc.collect()
    driver.finish()


main()
