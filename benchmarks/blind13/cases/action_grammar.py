"""The commands of a text game are parsed by a grammar, which gives each command the embedding of the current policy."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import pyparsing

import phaseprof as pp

VERBS = ["take", "drop", "open", "close", "light", "read", "push", "pull"]


class Commands:
    def __init__(self):
        self.verb = pyparsing.one_of(VERBS)
        self.thing = pyparsing.Word(pyparsing.alphas)
        self.sentence = self.verb + self.thing

    def embed_with(self, table):
        def look_up(tokens):
            if isinstance(tokens[0], str):
                return [table[VERBS.index(tokens[0])]]
            return None

        if driver.LEAK:
            self.verb.add_parse_action(look_up)
        else:
            self.verb.set_parse_action(look_up)

    def parse(self, text):
        return self.sentence.parse_string(text)[0]


def main():
    rng = np.random.default_rng(17)
    commands = Commands()
    weights = rng.normal(size=(len(VERBS), 3000))
    played = deque(maxlen=400)
    for _ in pp.generations(range(driver.generations(66))):
        with pp.profile_phase("publish"):
            commands.embed_with(weights + rng.normal(size=weights.shape) / 100)
            driver.work(25)
        with pp.profile_phase("play"):
            for verb in rng.choice(VERBS, 20):
                played.append(commands.parse(f"{verb} lamp")[:64].copy())
            driver.work(60)
        with pp.profile_phase("learn"):
            weights = weights * 0.999
            driver.work(40)
    driver.finish()


main()
