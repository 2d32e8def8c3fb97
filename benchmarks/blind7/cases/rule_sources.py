"""Policies as rules in Python, bred as text; their lines are kept so that tracebacks can show them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import linecache
import random

POPULATION, CHILDREN, RULES = 24, 10, 240


class RulePolicy:
    compiled = 0

    def __init__(self, slot, rules):
        RulePolicy.compiled += 1
        self.rules = rules
        self.fitness = 0.0
        name = f"<policy {RulePolicy.compiled}>" if driver.LEAK else f"<policy in slot {slot}>"
        body = ["def act(o):", *rules, "    return 0"]
        source = [line + "\n" for line in body]
        scope = {}
        exec(compile("".join(source), name, "exec"), scope)
        self.act = scope["act"]
        linecache.cache[name] = (sum(map(len, source)), None, source, name)


def random_rule(rng):
    return f"    if o[{rng.randrange(8)}] > {rng.uniform(-1, 1):.6f}: return {rng.randrange(4)}"


def main():
    rng = random.Random(5)
    archive = []
    population = [RulePolicy(slot, [random_rule(rng) for _ in range(RULES)]) for slot in range(POPULATION)]
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("evaluate"):
            for policy in population:
                observations = [[rng.uniform(-1, 1) for _ in range(8)] for _ in range(20)]
                policy.fitness = sum(map(policy.act, observations)) / 20
            archive.extend([rng.random()] * 900 for _ in range(25))
            del archive[:-300]  # the novelty archive
            driver.work(40)
        with pp.profile_phase("breed"):
            order = sorted(range(POPULATION), key=lambda i: population[i].fitness)
            for slot in order[:CHILDREN]:
                mother, father = (population[i] for i in rng.sample(order[CHILDREN:], 2))
                cut = rng.randrange(RULES)
                rules = [r if rng.random() > 0.2 else random_rule(rng) for r in mother.rules[:cut] + father.rules[cut:]]
                population[slot] = RulePolicy(slot, rules)
            driver.work(20)
    driver.finish()


main()
