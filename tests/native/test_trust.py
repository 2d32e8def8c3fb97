"""The extension in adverse conditions: threads, broken types, no memory, many calls, collections, forks."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import psutil
import pytest

import phaseprof
from phaseprof.native.extension import CONTAINERS, extension
from phaseprof.native.looking import Action
from phaseprof.native.places import read_places, resolve
from phaseprof.probes import own
from tests.native.building import build
from tests.native.languages import answer_of, needs_extension

pytestmark = needs_extension
SOURCE = Path(phaseprof.__file__).parent / "native" / "_heap.c"


class Node:
    def __init__(self) -> None:
        self.held: object = [1.5]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return build(Path(__file__).parent / "broken.c", tmp_path_factory.mktemp("broken"))


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Return the extension built so that its requests for memory can be made to fail."""
    if not SOURCE.exists():
        pytest.skip("needs the sources")
    return build(SOURCE, tmp_path_factory.mktemp("refusing"), "-DPHASEPROF_FAILING_MALLOC")


@contextmanager
def running(*actions: Callable[[], object]) -> Iterator[list[BaseException]]:
    """Repeat actions in threads until the block ends; gives what they raised."""
    stop = threading.Event()
    errors: list[BaseException] = []

    def repeat(action: Callable[[], object]) -> None:
        while not stop.is_set():
            try:
                action()
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test is to see it
                errors.append(error)

    threads = [threading.Thread(target=repeat, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    try:
        yield errors
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.usefixtures("small_heap")
def test_threads_that_allocate_free_and_collect() -> None:
    shared: list[object] = []

    def make() -> None:
        nodes = [Node() for _ in range(50)]
        nodes[0].held = nodes
        shared.append(nodes)
        del shared[:-20]

    def build_tuples() -> None:
        made = tuple(Node().held for _ in range(200))
        assert len(made) == 200

    def delete_attributes() -> None:
        node = Node()
        node.__dict__["more"] = node
        del node.held

    with running(make, make, build_tuples, build_tuples, delete_attributes, gc.collect, make, build_tuples) as errors:
        for _ in range(2):
            table = read_places()
            resolve(table.place[::50])

    assert errors == []


def test_a_tuple_that_another_thread_builds_is_not_held() -> None:
    """A reference more, at the moment of its resizing, is a SystemError in that thread."""

    def build_tuples() -> None:
        assert sum(tuple(len(str(i)) for i in range(300))) > 0

    with running(build_tuples, build_tuples) as errors:
        for _ in range(10):
            table = read_places()
            resolve(table.place[-200:])

    assert errors == []


@pytest.mark.parametrize("name", ["Often", "Nothing", "Itself", "GivesUp"])
def test_a_broken_type(broken: ModuleType, name: str) -> None:
    held = [Node()]
    objects = [getattr(broken, name)(held), Node()]

    table = read_places({"root": objects})

    names = [table.types[i] for i in table.type_index]
    assert names.count(f"broken.{name}") == 1
    assert ("list" in names) == (name == "Often") or "list" in names
    assert int(table.n_objects.sum()) >= 3


def arguments(objects: list[object], *, wanted: bytes | None = None, members: int = 0) -> tuple[object, ...]:
    places = b"".join((i + 1).to_bytes(8, "little") for i in range(len(objects)))
    types = (CONTAINERS, None, (), ("builtins",))
    return (objects, places, None, False, own.FOLDERS, b"", *types, b"", 0.0, wanted, members)


def for_sizes(objects: list[object]) -> tuple[object, ...]:
    return (objects, CONTAINERS, None, (), (), (), 0.0, True, -1, None, False)


def for_a_look(cls: type) -> tuple[object, ...]:
    classes, actions = (cls, str, dict), bytes([Action.HAND_OUT, Action.COUNT, Action.RECORD | Action.HAS_LENGTH])
    return (classes, (), actions, (0, 0), b"", [], own.FOLDERS, ("builtins",), True, True, 0)


@pytest.mark.usefixtures("small_heap")
def test_no_memory_at_any_moment(refusing: ModuleType) -> None:
    nodes: list[object] = [[Node() for _ in range(3000)]]
    whole = refusing.places(*arguments(nodes))
    actions = (
        lambda: refusing.places(*arguments(nodes)),
        lambda: refusing.places(*arguments(nodes, wanted=whole[0])),
        lambda: refusing.places(*arguments(nodes, wanted=whole[0], members=1000)),
        lambda: refusing.deep_size(*for_sizes(nodes)),
        lambda: refusing.learn(refusing.known(), bytes(range(1, 201)) * 400),
        lambda: refusing.count((Node,)),
        lambda: refusing.look(*for_a_look(Node)),
        lambda: refusing.pick((Node,), 0, 2),
        lambda: refusing.referrers((Node,)),
        lambda: refusing.holders(id(Node).to_bytes(8, "little")),
        lambda: refusing.hidden_parents(id(Node).to_bytes(8, "little"), ()),
    )
    for action in actions:
        n = 1
        while refusing.fail_after(n):
            try:
                action()
            except MemoryError:
                n += 1
                continue
            finally:
                refusing.fail_after(-1)
            break
        assert n > 2

    assert refusing.places(*arguments(nodes)) == whole


def test_many_calls_keep_nothing() -> None:
    """In a process of its own, where passes over the whole heap take no time."""
    code = "from tests.native.test_trust import call_many_times; call_many_times()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr


def call_many_times() -> None:
    module = extension()
    assert module is not None
    objects: list[object] = [Node(), {"a": [1]}, (1, 2)]
    wanted = (1).to_bytes(8, "little")

    def call_all() -> None:
        module.places(*arguments(objects))
        module.places(*arguments(objects, wanted=wanted))
        module.places(*arguments(objects, wanted=wanted, members=1000))
        module.deep_size(*for_sizes(objects))
        module.learn(module.known(), b"12345678")
        module.look(*for_a_look(Node))
        module.pick((Node,), 0, 2)
        module.referrers((Node,))
        module.holders(wanted)
        module.hidden_parents(wanted, ())
        module.count((Node, dict))
        module.local_values(sys._getframe())

    for _ in range(50):
        call_all()
    references, blocks = [sys.getrefcount(obj) for obj in objects], sys.getallocatedblocks()
    resident = psutil.Process().memory_info().rss
    for _ in range(300):
        call_all()

    assert [sys.getrefcount(obj) for obj in objects] == references
    assert sys.getallocatedblocks() - blocks < 200
    assert psutil.Process().memory_info().rss - resident < 4 << 20


def test_a_walk_keeps_no_dying_object_and_brings_none_back() -> None:
    gone: list[str] = []

    class Last:
        def __del__(self) -> None:
            gone.append("deleted")
            read_places({"me": self})

    last = Last()
    last.me = last  # type: ignore[attr-defined]
    alive = weakref.ref(last)
    del last
    read_places()
    gc.collect()

    assert alive() is None
    assert gone == ["deleted"]


def test_what_a_finalizer_brings_back_is_met() -> None:
    saved: list[object] = []

    class Phoenix:
        def __del__(self) -> None:
            saved.append(self)

    phoenix = Phoenix()
    phoenix.me = phoenix  # type: ignore[attr-defined]
    del phoenix
    gc.collect()

    assert any("Phoenix" in row[1] for row in answer_of(read_places({"saved": saved})).rows.values())
    saved[0].__dict__.clear()


def test_a_walk_from_a_callback_of_the_collector() -> None:
    sizes: list[int] = []

    def callback(phase: str, info: dict[str, int]) -> None:
        sizes.append(len(read_places()))

    gc.callbacks.append(callback)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(callback)

    assert len(sizes) == 2
    assert min(sizes) > 100


def test_a_walk_writes_no_reference_count() -> None:
    """Pages that a forked child shares with its parent stay shared."""
    smaps = Path("/proc/self/smaps_rollup")
    if not smaps.exists():
        pytest.skip("needs Linux")
    nodes = [Node() for _ in range(200_000)]
    module = extension()
    assert module is not None
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            gc.disable()  # a collection writes to all that it looks at
            inputs = arguments([nodes])

            def look() -> int:
                module.places(*inputs)
                module.look((), (), b"", (0, 0), b"", [], own.FOLDERS, ("builtins",), False, False, 0)
                return private_bytes(smaps)

            before = look()  # the pages of the extension itself, and what Python takes for answers
            os.write(write, str(look() - before).encode())
        finally:
            os._exit(0)
    os.close(write)
    grown = int(os.read(read, 100))
    os.close(read)
    os.waitpid(child, 0)

    # A walk that writes them copies the pages of all 400,000 objects, some 40 MB.
    assert grown < 1 << 20, grown


def private_bytes(smaps: Path) -> int:
    return sum(int(line.split()[1]) for line in smaps.read_text().splitlines() if line.startswith("Private_")) * 1024


def test_nothing_is_promoted_in_the_collector() -> None:
    gc.collect()
    before = gc.get_count()
    module = extension()
    assert module is not None
    module.places(*arguments([[Node() for _ in range(10)]]))

    assert gc.get_count()[1:] == before[1:]
