from __future__ import annotations

import gc
import sys
import types
import weakref

import numpy as np
import pytest
from hostile import Hostile, calls

from phaseprof.probes import own
from phaseprof.probes.large import large_objects

MIN = 3_000_000


class Holder:
    pass


def find(type_name):
    return [o for o in large_objects(MIN) if o.type_name == type_name]


def test_arrays_are_listed_with_shape_and_holder():
    kept = [np.zeros((1000, 500))]

    (found,) = find("numpy.ndarray")

    assert (found.size_bytes, found.detail, found.holder) == (4_000_000, "float64 (1000, 500)", "list")
    del kept


def test_a_small_view_is_listed_with_what_it_keeps():
    kept = [np.zeros(500_000)[:2]]

    (found,) = find("numpy.ndarray")

    assert found.size_bytes == 4_000_000
    assert "view" in found.detail
    del kept


def test_strings_buffers_and_tables_are_listed():
    holder = Holder()
    holder.text, holder.raw, holder.data = "x" * MIN, bytearray(MIN), bytes(MIN)
    holder.table = [None] * 500_000

    found = {o.type_name: o for o in large_objects(MIN)}

    assert {"str", "bytearray", "bytes", "list"} <= found.keys()
    # Before 3.11 the attributes are held by the instance's dict.
    assert found["str"].holder == ("test_large.Holder" if sys.version_info >= (3, 11) else "dict")
    assert found["list"].size_bytes == holder.table.__sizeof__() + 16
    del holder


def test_what_a_module_holds_is_listed_though_its_namespace_is_not_tracked():
    module = types.ModuleType("constants")
    vars(module).update(weights=np.zeros(1), name=b"")
    if gc.is_tracked(vars(module)):
        pytest.skip("this Python tracks the namespace of every module")
    vars(module).update(weights=np.zeros(MIN // 8), name=bytes(MIN))
    assert not gc.is_tracked(vars(module))

    found = {o.type_name for o in large_objects(MIN)}

    assert {"numpy.ndarray", "bytes"} <= found
    del module


def test_largest_come_first_and_the_limit_holds():
    kept = [bytes(MIN), bytes(2 * MIN), bytes(3 * MIN)]

    found = large_objects(MIN, limit=2)

    assert [o.size_bytes for o in found] == sorted((o.size_bytes for o in found), reverse=True)
    assert len(found) == 2
    del kept


def test_module_globals_name_their_module(monkeypatch):
    module = types.ModuleType("trainer_module")  # those of the tests are frozen
    monkeypatch.setitem(sys.modules, module.__name__, module)
    module.others, module.big = [], bytes(MIN)  # as in every module, something that the collector tracks

    (found,) = find("bytes")

    assert found.holder == "module trainer_module"


def test_nothing_large_is_an_empty_list():
    gc.collect()

    assert large_objects(1 << 40) == []


def test_own_objects_are_left_out():
    class Log:
        pass

    Log.__module__ = "phaseprof.live.log"
    log = Log()
    log.lines, log.values = [None] * 500_000, np.zeros(500_000)
    own.register(log)

    assert large_objects(MIN) == []


def test_listed_objects_die_when_the_user_lets_go():
    array = np.zeros(500_000)
    gone = weakref.ref(array)
    large_objects(MIN)

    del array

    assert gone() is None


def test_hostile_objects_are_never_asked():
    calls.clear()
    kept = [Hostile(), bytes(MIN)]

    large_objects(MIN)

    assert calls == []
    del kept


def test_long_strings_of_narrow_and_of_wide_characters_are_listed():
    kept = ["a" * MIN, "\N{SNAKE}" * (MIN // 4 + 1), "b" * (MIN // 2)]

    assert sorted(o.size_bytes for o in find("str")) == sorted(s.__sizeof__() for s in kept[:2])
    del kept
