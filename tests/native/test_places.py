"""The heap by place: what is one place, what counts where, and how a place is reached."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import types
import weakref
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np
import pytest

from phaseprof.native.extension import extension, missing_because, passes_in_python
from phaseprof.native.places import PathStep, PlaceTable, members, read_places, resolve

WHOLE_HEAP = {
    "test_what_only_a_ring_holds_is_unreachable",
    "test_what_c_holds_is_outside",
    "test_locals_of_running_functions_are_roots",
    "test_places_stay_the_same_while_the_program_does",
    "test_libraries_take_what_the_program_does_not_lead_to",
}


@pytest.fixture(params=["C", "Python"], autouse=True)
def language(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run every test with the extension, where it was built, and without."""
    if request.param == "Python":
        if "torch" in sys.modules and request.function.__name__ in WHOLE_HEAP:
            pytest.skip("a walk in Python over all that torch made takes seconds; the base suites make it")
        with passes_in_python():
            yield "Python"
    elif extension() is None:
        pytest.skip(missing_because())
    else:
        yield "C"


class Agent:
    def __init__(self) -> None:
        self.history: list[object] = []
        self.partner: object = None


class Slotted:
    __slots__ = ("first", "second")

    def __init__(self, first: object, second: object) -> None:
        self.first, self.second = first, second


def counts(table: PlaceTable) -> dict[str, int]:
    """Return the number of objects by path, as the names of types from the root joined by dots."""
    rows = {int(place): row for row, place in enumerate(table.place)}
    found: dict[str, int] = {}
    for row in range(len(table)):
        path, at = [], row
        while int(table.parent[at]):
            path.append(table.types[table.type_index[at]].rpartition(".")[2])
            at = rows[int(table.parent[at])]
        key = " ".join(path[::-1])
        found[key] = found.get(key, 0) + int(table.n_objects[row])
    return found


def read(obj: object) -> dict[str, int]:
    return counts(read_places({"root": obj}))


def path_of(obj: object, last_type: str) -> list[tuple[str, str]]:
    """Return how the first place of a type is reached from a named root."""
    table = read_places({"root": obj})
    row = next(i for i in range(len(table)) if table.types[table.type_index[i]].endswith(last_type))
    steps = resolve([int(table.place[row])], {"root": obj})[int(table.place[row])]
    return [(step.via, step.name) for step in steps[1:]]


@pytest.mark.parametrize("container", [list, tuple, set, frozenset, deque])
def test_items_of_a_container_are_one_place(container: type) -> None:
    found = read(container(object() for _ in range(5)))

    assert found["object"] == 5


@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_values_of_a_dict_are_one_place(kind: type) -> None:
    found = read(kind((f"key{i}", object()) for i in range(5)))

    assert found["object"] == 5


def test_attributes_are_places_by_name() -> None:
    agent = Agent()
    agent.history, agent.partner = [object()] * 1, [object()]

    table = read_places({"root": agent})

    assert sum(table.types[i] == "list" for i in table.type_index) == 2


def test_an_instance_with_a_dict_has_the_places_of_one_without() -> None:
    with_dict, without = Agent(), Agent()
    assert with_dict.__dict__

    tables = [read_places({"root": [agent]}) for agent in (with_dict, without)]

    assert list(tables[0].place) == list(tables[1].place)


def test_reading_makes_no_dict() -> None:
    agents = [Agent() for _ in range(10)]

    read_places({"root": agents})

    assert not any(type(r) is dict for agent in agents for r in gc.get_referents(agent)) or sys.version_info < (3, 11)


def test_slots_are_places_of_their_own() -> None:
    table = read_places({"root": Slotted([1], [2])})

    assert sum(table.types[i] == "list" for i in table.type_index) == 2


def test_a_linked_list_stays_at_two_places() -> None:
    head = None
    for _ in range(100_000):
        head, before = Agent(), head
        head.partner = before

    assert read([head])["Agent"] == 1
    assert read([head])["Agent Agent"] == 99_999


def test_a_chain_of_closures_stays_at_few_places() -> None:
    def wrap(inner: object) -> object:
        def outer() -> object:
            return inner

        return outer

    chain: object = None
    for _ in range(5_000):
        chain = wrap(chain)

    assert len([path for path in read([chain]) if path.endswith("function")]) <= 3


def test_a_tree_stays_at_few_places() -> None:
    def grow(depth: int) -> Slotted | None:
        return Slotted(grow(depth - 1), grow(depth - 1)) if depth else None

    table = read_places({"root": [grow(10)]})

    assert sum(table.types[i].endswith("Slotted") for i in table.type_index) <= 6
    assert int(table.n_objects.sum()) == 1023 + 1


def test_containers_in_containers_are_apart_for_three_levels() -> None:
    found = read([[[[[[1.5]]]]]])

    assert found == {"": 1, "list": 1, "list list": 4}


def test_an_object_counts_at_the_shortest_path() -> None:
    shared = Agent()

    found = read([[shared], shared])

    assert found["Agent"] == 1
    assert "list Agent" not in found


def test_small_objects_count_with_what_holds_them_once_each() -> None:
    numbers = [2.5 + i for i in range(100)]
    twice = numbers * 2

    table = read_places({"root": twice})

    assert list(table.own_bytes) == [sys.getsizeof(twice) + 100 * sys.getsizeof(2.5)]


def test_long_text_is_an_object() -> None:
    found = read(["x" * 1000, "short", b"y" * 1000])

    assert found == {"": 1, "str": 1, "bytes": 1}


def test_a_view_leads_to_the_array_that_owns_the_buffer() -> None:
    table = read_places({"root": np.zeros(100_000)[::2]})

    assert sum(table.own_bytes) > 800_000
    assert sum(table.own_bytes) < 801_000


def test_items_of_an_array_of_objects_are_met() -> None:
    array = np.empty(7, object)
    array[:] = [Agent() for _ in range(7)]

    assert read([array])["ndarray Agent"] == 7


def test_what_only_a_ring_holds_is_unreachable() -> None:
    class Ring:
        pass

    ring = Ring()
    ring.me = ring  # type: ignore[attr-defined]
    alive = weakref.ref(ring)
    del ring
    gc.disable()
    try:
        path = next(_paths("<locals>.Ring"))
    finally:
        gc.enable()

    assert alive() is not None
    assert path[0].type == "unreachable"


def test_what_c_holds_is_outside() -> None:
    variable: ContextVar[object] = ContextVar("variable")
    variable.set(Slotted([1], 2))

    assert {path[0].type for path in _paths("Slotted")} == {"outside Python"}


def _paths(last_type: str) -> Iterator[tuple[PathStep, ...]]:
    table = read_places()
    rows = [i for i in range(len(table)) if table.types[table.type_index[i]].endswith(last_type)]
    yield from resolve([int(table.place[i]) for i in rows]).values()


def test_locals_of_running_functions_are_roots() -> None:
    class Local:
        pass

    mine = Local()

    steps = next(_paths("<locals>.Local"))

    assert mine is not None
    assert steps[0].type == "frame"
    assert steps[0].name.startswith("test_places.py ")
    assert (steps[1].via, steps[1].name) == ("local", "mine")


def suspended(leaf: object) -> Iterator[object]:
    first, kept, unset = 0, [leaf], None
    del unset
    yield first
    yield lambda: kept


@types.coroutine
def pause() -> Iterator[None]:
    yield


async def waiting(leaf: object) -> object:
    kept = (0, leaf)
    await pause()
    return kept


async def calling(leaf: object) -> object:
    return await waiting(leaf)


async def asynchronous(leaf: object) -> AsyncIterator[object]:
    kept = {"leaf": leaf}
    yield 1
    yield kept


def begun(made: Any) -> object:
    """Run a generator or coroutine to where it waits first."""
    with contextlib.suppress(StopIteration):
        (made.__anext__() if isinstance(made, types.AsyncGeneratorType) else made).send(None)
    return made


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda leaf: [begun(suspended([leaf]))], [("item", "0"), ("local", "leaf"), ("item", "0")]),
        (lambda leaf: begun(waiting([leaf])), [("local", "leaf"), ("item", "0")]),
        (lambda leaf: begun(calling([leaf])), [("local", "leaf"), ("item", "0")]),
        (lambda leaf: begun(asynchronous([leaf])), [("local", "leaf"), ("item", "0")]),
    ],
)
def test_locals_of_what_is_suspended_lie_there_by_name(make: types.FunctionType, path: list[tuple[str, str]]) -> None:
    assert path_of(make(Agent()), "Agent") == path


def test_a_local_lies_at_its_place_wherever_the_function_waits() -> None:
    """Locals that get a value, and what lies on the stack, move nothing."""
    made = suspended(Agent())
    next(made)
    before = set(read_places({"root": made}).place.tolist())
    next(made)

    assert before <= set(read_places({"root": made}).place.tolist())


@pytest.mark.parametrize(
    ("make", "last_type", "path"),
    [
        (lambda leaf: [0, leaf], "Agent", [("item", "1")]),
        (lambda leaf: {"kept": leaf}, "Agent", [("key", "kept")]),
        (lambda leaf: {"not a name": leaf}, "Agent", [("key", "")]),
        (lambda leaf: {leaf}, "Agent", [("item", "")]),
        (lambda leaf: Slotted(0, leaf), "Agent", [("attribute", "second")]),
        (lambda leaf: types.SimpleNamespace(held=[leaf]), "Agent", [("attribute", "held"), ("item", "0")]),
        (
            lambda leaf: lambda: leaf,
            "Agent",
            [("attribute", "__closure__"), ("item", "0"), ("attribute", "cell_contents")],
        ),
    ],
)
def test_a_path_names_each_step(make: types.FunctionType, last_type: str, path: list[tuple[str, str]]) -> None:
    assert path_of(make(Agent()), last_type) == path


def test_the_largest_object_is_the_example() -> None:
    agents = [Agent() for _ in range(5)]
    agents[3].history = list(range(1000))
    table = read_places({"root": agents})
    row = next(i for i in range(len(table)) if table.types[table.type_index[i]] == "list" and table.n_objects[i] == 5)

    steps = resolve([int(table.place[row])], {"root": agents})[int(table.place[row])]

    assert [step.name for step in steps] == ["root", "3", "history"]


def test_places_stay_the_same_while_the_program_does(language: str) -> None:
    """In a process of its own, without the threads of the test runner."""
    code = (
        "import gc\n"
        "from phaseprof.native.places import read_places\n"
        "read_places()\n"
        "gc.collect()\n"
        "first, second = read_places(), read_places()\n"
        "print(len(first) > 1000, len(set(map(int, first.place)) - set(map(int, second.place))))\n"
    )
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PHASEPROF_NATIVE": "1" if language == "C" else "0",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.stdout.split() == ["True", "0"], done.stderr


def test_nothing_is_kept() -> None:
    agent = Agent()
    alive = weakref.ref(agent)
    table = read_places({"root": [agent]})
    resolve(table.place, {"root": [agent]})

    del agent

    assert alive() is None


def test_a_limit_in_time_gives_a_part() -> None:
    table = read_places(limit_s=0.0)

    assert table.partial
    assert len(table) > 0


@pytest.mark.parametrize(
    "held",
    [list(range(1000, 300_000)), dict.fromkeys(range(1000, 300_000)), np.arange(1000, 300_000).astype(object)],
    ids=["list", "dict", "array"],
)
def test_a_limit_in_time_holds_within_one_container(held: object) -> None:
    if extension() is None:
        pytest.skip("a list of what an object refers to is made at once in Python")

    table = read_places({"root": held}, limit_s=1e-6)

    assert table.partial
    assert table.n_met < 10_000


def test_a_gone_place_is_missing_from_the_answer() -> None:
    assert resolve([12345], {"root": []}) == {}


# --- what the program holds, and what libraries do ------------------------------------------------------------------


class OfLibrary: ...


class OfBase: ...


class OfProgram: ...


class OfFunction: ...


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose class is derived from a library's; the library's module is not where that comes from."""
    library, program = types.ModuleType("a_library"), types.ModuleType("a_program")
    library.kept = [OfLibrary() for _ in range(5)]  # type: ignore[attr-defined]
    base = type("Base", (), {"__module__": "a_library", "kept": [OfBase() for _ in range(3)]})
    program.Env = type(  # type: ignore[attr-defined]
        "Env", (base,), {"__module__": "a_program", "kept": [OfProgram() for _ in range(4)]}
    )
    for name, module in (("a_library", library), ("a_program", program)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(
        "phaseprof.probes.libraries._known", {"a_library": True, "a_program": False, __name__.partition(".")[0]: False}
    )


def paths(*, libraries: bool) -> dict[str, tuple[int, str]]:
    """Return of each of the types above how many there are, and the path to one of them."""
    table = read_places(libraries=libraries)
    rows = [row for row in range(len(table)) if table.types[table.type_index[row]].rpartition(".")[2].startswith("Of")]
    steps = resolve([int(table.place[row]) for row in rows], libraries=libraries)
    return {
        table.types[table.type_index[row]].rpartition(".")[2]: (
            int(table.n_objects[row]), " ".join(step.name for step in steps[int(table.place[row])]),
        )
        for row in rows
    }  # fmt: skip


@pytest.mark.usefixtures("program", "small_heap")
def test_without_libraries_the_programs_part_is_left() -> None:
    found = paths(libraries=False)

    assert {name: n for name, (n, _) in found.items() if n > 1} == {"OfProgram": 4}
    assert found["OfProgram"][1].startswith("a_program Env kept")


@pytest.mark.usefixtures("program", "small_heap")
def test_libraries_take_what_the_program_does_not_lead_to() -> None:
    found = paths(libraries=True)

    assert {name: n for name, (n, _) in found.items() if n > 1} == {"OfProgram": 4, "OfLibrary": 5, "OfBase": 3}
    assert found["OfLibrary"][1].startswith("a_library kept")
    assert found["OfBase"][1].startswith("a_program Env")


@pytest.mark.usefixtures("small_heap")
def test_classes_in_a_registry_lie_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that a class has in a dict is no link of a chain of classes: what grows is the dict."""
    program = types.ModuleType("a_program")
    program.Base = type("Base", (), {"__module__": "a_program", "registry": {}})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "a_program", program)
    made = type(program.Base)
    for name in ("One", "Two", "Three"):
        program.Base.registry[name] = made(name, (), {"__module__": "a_program", "kept": [OfProgram()]})

    n, path = paths(libraries=False)["OfProgram"]

    assert (n, path.rpartition(" kept")[0].rpartition(" ")[0]) == (3, "a_program Base registry")


@pytest.mark.usefixtures("small_heap")
def test_what_an_outer_function_holds_lies_there_whatever_runs_within_it() -> None:
    def inner(kept: object) -> tuple[int, str]:
        assert kept
        return paths(libraries=False)["OfFunction"]

    agent = Agent()
    agent.history = [OfFunction() for _ in range(6)]

    assert inner(agent.history) == paths(libraries=False)["OfFunction"]
    assert inner(agent.history)[1].rpartition(" ")[0].endswith(" agent history")


class Span:
    """One of a chain that is held by its newest."""

    __slots__ = ("name", "parent")

    def __init__(self, name: str, parent: Span | None) -> None:
        self.name, self.parent = name, parent


class Node(Span):
    __slots__ = ("__dict__",)


@pytest.mark.parametrize(
    ("obj", "again"), [(Span("", Span("", None)), "parent"), (Node("", Node("", None)), "parent"), (Span("", None), "")]
)
def test_the_end_of_a_path_says_by_which_attribute_it_leads_to_its_like(obj: Span, again: str) -> None:
    table = read_places({"root": [obj]})
    kinds = [table.types[at] for at in table.type_index]
    row = next(i for i, kind in enumerate(kinds) if kind.endswith(type(obj).__name__))
    steps = resolve([int(table.place[row])], {"root": [obj]})[int(table.place[row])]

    assert steps[-1].again == again


# --- what lies at a place --------------------------------------------------------------------------------------------


def place_of(table: PlaceTable, type_name: str) -> int:
    row = next(i for i in range(len(table)) if table.types[table.type_index[i]] == type_name)
    return int(table.place[row])


def test_members_are_what_lies_at_a_place_and_below() -> None:
    agent = Agent()
    agent.history, agent.partner = [np.zeros(3), 1234.5, "text", [4321]], Slotted(2345.5, None)
    place = place_of(read_places({"root": agent}), "list")

    found, places, _ = members([place], {"root": agent})

    assert sorted(map(str, found)) == sorted(map(str, [agent.history, *agent.history, 4321]))
    assert set(places.tolist()) == {place}


def test_a_member_belongs_to_the_nearest_place() -> None:
    agent = Agent()
    agent.history = [np.zeros(3), 1234.5]
    table = read_places({"root": agent})
    around, within = place_of(table, "list"), place_of(table, "numpy.ndarray")

    found, places, _ = members([within, around], {"root": agent})

    assert {(type(obj), place) for obj, place in zip(found, places.tolist(), strict=True)} == {
        (list, around), (float, around), (np.ndarray, within),
    }  # fmt: skip


def test_of_many_members_a_part_is_handed_out_whatever_their_order() -> None:
    agent = Agent()
    agent.history = [one for n in range(4000) for one in (object(), [n + 0.5])]
    place = place_of(read_places({"root": agent}), "list")

    found, places, n_met = members([place], {"root": agent}, most=3000)

    assert 1000 < len(found) == len(places) <= 3000
    assert n_met == {place: 12_001}
    # Of each type a third, within five deviations of a binomial distribution.
    of_type = Counter(map(type, found))
    for kind in (object, list, float):
        assert abs(of_type[kind] - len(found) / 3) < 5 * (len(found) * 2 / 9) ** 0.5
    at = sorted(agent.history.index(one) for one in found if type(one) is object)
    assert at[0] < 400 and at[-1] > 7600


def test_nothing_lies_at_a_gone_place() -> None:
    found, places, _ = members([12345], {"root": [[]]})

    assert (found, places.tolist()) == ([], [])
