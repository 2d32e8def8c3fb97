"""Candidates of a population listen to the events of the run; those that are replaced go on listening."""

import random
import time
from collections import defaultdict

from leakbench import Case, Truth


class Events:
    def __init__(self):
        self.listeners = defaultdict(list)

    def on(self, name, listener):
        self.listeners[name].append(listener)

    def off(self, name, listener):
        self.listeners[name].remove(listener)

    def emit(self, name, **facts):
        for listener in list(self.listeners[name]):
            listener(**facts)


class Candidate:
    def __init__(self, genes):
        self.genes = genes
        self.age = 0

    def grow_older(self, generation):
        self.age = generation


class Population:
    def __init__(self, leaky):
        self.leaky = leaky
        self.random = random.Random(16)
        self.events = Events()
        self.members = [self.newborn() for _ in range(12)]

    def newborn(self):
        candidate = Candidate([self.random.random() for _ in range(250)])
        self.events.on("generation", candidate.grow_older)
        return candidate

    def generation(self, pp, index):
        with pp.phase("evaluate"):
            self.members.sort(key=lambda candidate: sum(candidate.genes))
            time.sleep(0.08)
        with pp.phase("replace"):
            for i in range(6):
                if not self.leaky:
                    self.events.off("generation", self.members[i].grow_older)
                self.members[i] = self.newborn()
            time.sleep(0.08)
        with pp.phase("announce"):
            self.events.emit("generation", generation=index)
            time.sleep(0.04)


CASE = Case(
    name="blind2_candidate_events",
    build=Population,
    truth=Truth(
        phase="replace",
        kind="objects",
        subject="Candidate",
        holder=("events", "listeners"),
        also=("container", "native"),
        subject_also=("method", "list", "float"),
    ),
    source="synthetic",
    generations=38,
    tags=("slow",),
)
