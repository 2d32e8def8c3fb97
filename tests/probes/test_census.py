from __future__ import annotations

import collections
import enum
import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest
from hostile import Hostile, calls, hostile_class

from phaseprof.probes import census
from phaseprof.probes.own import own_tally


class Env:
    pass


class SubEnv(Env):
    pass


class Slotted:
    __slots__ = ("x",)


class Empty:
    __slots__ = ()


class Meta(type):
    pass


class Number(int):
    pass


Point = collections.namedtuple("Point", "x y")


def counted(classes):
    return dict(zip(classes, census.counts_in_order(classes), strict=True))


@pytest.fixture(autouse=True)
def _no_calls():
    calls.clear()
    yield
    assert calls == []


def test_watched_counts_counts_each_class_of_one_pass():
    envs, slotted = [Env() for _ in range(5)], [Slotted() for _ in range(3)]

    counts = counted([Env, Slotted])

    assert counts == {Env: len(envs), Slotted: len(slotted)}


def test_instances_of_subclasses_count_for_every_watched_base():
    kept = [Env(), SubEnv(), SubEnv()]

    counts = counted([Env, SubEnv, object.__class__])

    assert (counts[Env], counts[SubEnv]) == (len(kept), 2)


def test_a_class_without_instances_counts_zero_though_others_refer_to_it():
    holder = {"cls": Env, "mro": Env.__mro__, "sub": SubEnv}

    assert counted([Env]) == {Env: 0}
    assert holder


@pytest.mark.parametrize("cls", [Empty, Number, Point, Slotted])
def test_instances_that_hide_from_the_collector_are_counted(cls):
    kept = [cls(*(1, 2) if cls is Point else (10**6,) if cls is Number else ()) for _ in range(4)]

    assert counted([cls]) == {cls: len(kept)}


def test_enum_members_are_instances():
    level = enum.Enum("level", ["LOW", "HIGH"])

    assert counted([level]) == {level: 2}


def test_classes_are_instances_of_their_metaclass():
    made = [Meta(f"Made{i}", (), {}) for i in range(3)]

    assert counted([Meta]) == {Meta: len(made)}


def test_arrays_can_be_watched_though_the_collector_does_not_track_them():
    before = counted([np.ndarray])[np.ndarray]
    kept = [np.zeros(3) for _ in range(6)]

    after = counted([np.ndarray])[np.ndarray]

    assert after - before == len(kept)


def test_static_types_are_counted_by_a_full_census():
    gc.collect()
    before = counted([list])[list]
    kept = [[] for _ in range(1000)]

    after = counted([list])[list]

    assert 990 <= after - before <= 1010
    assert kept


def test_a_family_of_many_classes_is_counted_right():
    classes = [type(f"Leaf{i}", (Env,), {}) for i in range(60)]
    kept = [cls() for cls in classes for _ in range(2)]

    assert counted([Env]) == {Env: len(kept)}


def test_a_class_deleted_while_watched_is_released():
    cls = type("Doomed", (), {})
    kept = [cls()]
    assert counted([cls]) == {cls: 1}
    gone = weakref.ref(cls)

    del cls, kept
    gc.collect()

    assert gone() is None


def test_hostile_objects_are_counted_and_never_asked():
    kept = [Hostile() for _ in range(7)]

    assert counted([Hostile]) == {Hostile: 7}
    assert census.count_types()[Hostile] == 7
    assert census.count_type_names()["hostile.Hostile"] == 7
    del kept


def test_classes_that_cannot_be_hashed_are_counted_in_order():
    cls = hostile_class()
    kept = [cls(), cls()]

    counts = census.counts_in_order([Env, cls])

    assert counts == [0, 2]
    del kept


def test_a_hostile_metaclass_anywhere_does_not_run_in_a_full_census():
    cls = hostile_class()
    kept = [cls() for _ in range(3)]

    names = census.count_type_names()

    assert names["hostile.HostileClass"] == 3
    del kept


def test_a_class_that_cannot_be_hashed_is_left_out_of_counts_keyed_by_class():
    cls = hostile_class()
    kept = [cls(), Env()]

    counts = census.count_types()

    assert counts[Env] == 1
    assert not any(found is cls for found in counts)
    del kept


def test_a_proxy_counts_as_what_it_is_not_as_what_it_claims():
    class Proxy:
        __class__ = Env

    kept = Proxy()

    assert counted([Env, Proxy]) == {Env: 0, Proxy: 1}
    del kept


def test_weakref_proxies_do_not_count_as_their_target():
    target = Env()
    proxy = weakref.proxy(target)

    assert counted([Env]) == {Env: 1}
    del proxy


def test_counted_objects_die_when_the_user_lets_go():
    target = Env()
    gone = weakref.ref(target)
    counted([Env])
    census.count_types()

    del target

    assert gone() is None


def test_full_census_agrees_with_the_collector():
    kept = [Env() for _ in range(50)]
    gc.collect()

    counts = census.count_types()

    assert counts[Env] == len(kept)
    listed = sum(1 for obj in gc.get_objects() if type(obj) is dict)
    assert abs(counts[dict] + own_tally().get(dict, 0) - listed) < 20


def test_own_types_are_left_out():
    from phaseprof.records import LargeObject

    kept = [LargeObject("list", 8)]

    assert LargeObject not in census.count_types()
    assert not [name for name in census.count_type_names() if name.startswith("phaseprof.")]
    del kept


def test_type_names_are_qualified_and_builtins_bare():
    assert census.type_name(collections.Counter) == "collections.Counter"
    assert census.type_name(list) == "list"


def test_type_name_of_a_hostile_class_runs_nothing():
    assert census.type_name(hostile_class()) == "hostile.HostileClass"


def test_counting_makes_no_instance_dicts():
    kept = [Env() for _ in range(10_000)]
    for obj in kept:
        obj.x = 1
    counted([Env])
    census.count_type_names()
    before = sys.getallocatedblocks()

    counted([Env])
    census.count_type_names()

    assert sys.getallocatedblocks() - before < 200


@pytest.mark.parametrize("native", ["0", "1"])
def test_a_list_of_young_lists_is_not_in_itself(native: str) -> None:
    """It would be a dead cycle that keeps what was looked at until the next collection."""
    code = """
import gc
from phaseprof.probes.census import collected_instances
class Env: pass
gc.collect(); gc.disable()
kept = [Env() for _ in range(5)]
found = collected_instances([Env, list], young=True)
print(sum(type(one) is Env for one in found), any(one is found for one in found))
"""
    environment = {**os.environ, "PHASEPROF_NATIVE": native}

    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.split() == ["5", "False"]
