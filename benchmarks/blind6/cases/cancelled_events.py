"""A simulator of traffic with a calendar of events; each trip plans a breakdown, called off when the car arrives."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import heapq
import itertools

import numpy as np


class Car:
    def __init__(self, number, route):
        self.number = number
        self.route = route
        self.arrived = False
        self.breakdown = None


class Event:
    __slots__ = ("time", "order", "car", "kind", "cancelled")

    def __init__(self, time, order, car, kind):
        self.time = time
        self.order = order
        self.car = car
        self.kind = kind
        self.cancelled = False

    def __lt__(self, other):
        return (self.time, self.order) < (other.time, other.order)


class Traffic:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.now = 0.0
        self.calendar = []
        self.order = itertools.count()
        self.numbers = itertools.count()
        self.dead = 0

    def plan(self, delay, car, kind):
        event = Event(self.now + delay, next(self.order), car, kind)
        heapq.heappush(self.calendar, event)
        return event

    def cancel(self, event):
        event.cancelled = True
        self.dead += 1
        if not driver.LEAK and self.dead > 500 and self.dead > len(self.calendar) // 2:
            self.calendar = [one for one in self.calendar if not one.cancelled]
            heapq.heapify(self.calendar)
            self.dead = 0

    def depart(self, count):
        for _ in range(count):
            car = Car(next(self.numbers), self.rng.integers(0, 5_000, 220))
            car.breakdown = self.plan(float(self.rng.exponential(50_000)), car, "breakdown")
            self.plan(float(self.rng.uniform(1, 90)), car, "arrive")

    def run(self, seconds):
        until = self.now + seconds
        while self.calendar and self.calendar[0].time <= until:
            event = heapq.heappop(self.calendar)
            self.now = event.time
            if event.cancelled:
                self.dead -= 1
            elif event.kind == "arrive":
                event.car.arrived = True
                self.cancel(event.car.breakdown)
                event.car.breakdown = None
        self.now = until


def main():
    traffic = Traffic(17)
    flows = np.zeros((20, 300, 100))
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("spawn"):
            traffic.depart(1_100 if generation % 4 == 1 else 50)
            driver.work(20)
        with pp.profile_phase("simulate"):
            traffic.run(100)
            driver.work(35)
        with pp.profile_phase("learn"):
            flows[generation % 20] = traffic.now
            driver.work(50)
    driver.finish()


main()
