"""A descriptor that computes lazily keeps its values by object in a dict of its own, or in the object."""

import time

import numpy as np

from leakbench import Case, Truth


class Lazy:
    def __init__(self, function):
        self.function = function
        self.computed = {}
        self.in_object = False

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        values = obj.__dict__ if self.in_object else self.computed
        key = self.name if self.in_object else obj.number
        if key not in values:
            values[key] = self.function(obj)
        return values[key]


class Scene:
    def __init__(self, number):
        self.number = number

    @Lazy
    def features(self):
        return np.full((50, 60), float(self.number))


class Perception:
    def __init__(self, leaky):
        Scene.features.in_object = not leaky
        self.seen = 0

    def generation(self, pp, index):
        with pp.phase("observe"):
            scenes = [Scene(self.seen + n) for n in range(20)]
            self.seen += len(scenes)
            time.sleep(0.1)
        with pp.phase("perceive"):
            total = sum(float(scene.features[0, 0]) for scene in scenes)
            time.sleep(0.15)
        with pp.phase("decide"):
            total += sum(float(scene.features[1, 1]) for scene in scenes)
            time.sleep(0.1)


CASE = Case(
    name="blind_lazy_features",
    build=Perception,
    truth=Truth(
        phase="perceive",
        kind="arrays",
        subject="ndarray",
        holder=("features", "computed"),
        also=("native", "container"),
        subject_also=("dict",),
    ),
    source="synthetic",
    generations=24,
)
