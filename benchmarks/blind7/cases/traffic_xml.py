"""A traffic simulator sends what it does as one XML document without an end."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import random
from xml.etree.ElementTree import XMLPullParser

VEHICLES, STEPS = 110, 12


class Telemetry:
    def __init__(self):
        self.parser = XMLPullParser(["start", "end"])
        self.root = None
        self.waiting = {}
        self.feed("<simulation>")

    def feed(self, text):
        self.parser.feed(text)
        for event, element in self.parser.read_events():
            if event == "start":
                if self.root is None:
                    self.root = element
            elif element.tag == "timestep":
                for vehicle in element:
                    self.waiting[vehicle.get("id")] = float(vehicle.get("waiting"))
                element.clear()
                if not driver.LEAK and len(self.root) > 200:
                    self.root.clear()
            elif element.tag == "signals":
                element.set("seen", "1")
                if not driver.LEAK:
                    element.clear()


def timestep(rng, time):
    vehicles = "".join(f'<vehicle id="v{rng.randrange(2_000)}" x="{rng.random():.6f}" y="{rng.random():.6f}" waiting="{rng.random():.3f}"/>' for _ in range(VEHICLES))
    phases = "".join(f'<phase light="{i}" state="{rng.choice(("rG", "Gr", "yy"))}" until="{time + i}"/>' for i in range(50))
    return f'<timestep time="{time}">{vehicles}</timestep><signals time="{time}">{phases}</signals>'


def main():
    rng = random.Random(0)
    telemetry = Telemetry()
    replay = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("simulate"):
            for step in range(STEPS):
                telemetry.feed(timestep(rng, generation * STEPS + step))
                driver.work(2)
        with pp.profile_phase("store"):
            replay.append([rng.random() for _ in range(8_000)])
            del replay[:-18]
            driver.work(10)
        with pp.profile_phase("learn"):
            driver.work(30)
    driver.finish()


main()
