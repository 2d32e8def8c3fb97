"""Which line made an object, as the interpreter's own tracer has seen it."""

from __future__ import annotations

import _tracemalloc
import gc
import sys
import sysconfig
import weakref
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phaseprof.native.extension import extension, passes_in_python, tracing
from phaseprof.native.places import read_places
from phaseprof.probes import node_lines, sites
from phaseprof.probes.sites import (
    Made,
    Tracer,
    find_tracer,
    functions_around,
    is_programs,
    made_and_there,
    made_at,
    pause_tracing,
    spare_numbers,
    start_tracing,
    stop_tracing,
)

HERE = __file__


class Frame:
    def __init__(self, pixels: object) -> None:
        self.pixels = pixels


class Recorder:
    def __init__(self) -> None:
        self.frames: list[object] = []


KEPT = Recorder()


@pytest.fixture
def tracer() -> Iterator[Tracer]:
    found, why = find_tracer()
    if found is None or _tracemalloc.is_tracing():
        pytest.skip(why or "something traces already")
    KEPT.frames.clear()
    KEPT.frames.append(object())
    yield found
    _tracemalloc.stop()
    stop_tracing(found)
    KEPT.frames.clear()


def lines_of(tracer: Tracer, make: Callable[[], object]) -> list[Made]:
    """Return what made the things that one call puts into the list of ``KEPT``."""
    table = read_places({"kept": KEPT})
    place = next(int(p) for p, kind in zip(table.place, table.type_index, strict=True) if table.types[kind] == "list")
    spares = spare_numbers()
    start_tracing(tracer)
    KEPT.frames.append(make())
    found = made_at(tracer, [place], {"kept": KEPT})
    _tracemalloc.stop()
    spares.clear()
    return found


def make_frame() -> Frame:
    pixels = np.zeros(1000)  # line of the array
    return Frame(pixels)  # line of the frame


def make_numbers() -> list[float]:
    return [n + 0.5 for n in range(500)]


def line_with(text: str) -> int:
    return next(n for n, line in enumerate(Path(HERE).read_text().splitlines(), 1) if line.endswith(text))


def test_an_instance_an_array_and_their_lines(tracer: Tracer) -> None:
    found = {row.type_name.rpartition(".")[2]: row for row in lines_of(tracer, make_frame)}

    assert (found["ndarray"].file, found["ndarray"].line) == (HERE, line_with("# line of the array"))
    assert found["ndarray"].n_bytes >= 8000
    assert (found["Frame"].file, found["Frame"].line) == (HERE, line_with("# line of the frame"))
    assert found["Frame"].n_objects == 1


def test_numbers_that_count_with_their_list(tracer: Tracer) -> None:
    found = {row.type_name: row for row in lines_of(tracer, make_numbers)}

    assert (found["float"].n_objects, found["float"].file) == (500, HERE)
    assert found["float"].line == line_with("for n in range(500)]")


def make_many() -> list[object]:
    return [(n % 4 == 0 and [n]) or {n: n} for n in range(40_000)]


def test_of_many_a_sample_is_asked_that_comes_to_about_as_many(tracer: Tracer) -> None:
    found = {row.type_name: row for row in lines_of(tracer, make_many) if row.n_objects > 1}

    assert found["dict"].n_objects == pytest.approx(30_000, rel=0.4)
    assert found["list"].n_objects == pytest.approx(10_000, rel=0.4)
    assert found["dict"].line == found["list"].line == line_with("for n in range(40_000)]")


def test_a_few_new_ones_among_many_are_all_found(tracer: Tracer) -> None:
    KEPT.frames += [object() for _ in range(20_000)]

    found = {row.type_name.rpartition(".")[2]: row for row in lines_of(tracer, make_frame)}

    assert (found["Frame"].n_objects, found["Frame"].line) == (1, line_with("# line of the frame"))


def test_what_was_there_before_has_no_line(tracer: Tracer) -> None:
    before = make_frame()

    assert not [row for row in lines_of(tracer, lambda: before) if "Frame" in row.type_name]


def test_no_object_is_kept(tracer: Tracer) -> None:
    lines_of(tracer, make_frame)
    newest = KEPT.frames[-1]
    alive = weakref.ref(newest)  # type: ignore[type-var]

    KEPT.frames.clear()
    del newest

    assert alive() is None


@pytest.mark.skipif("torch" not in sys.modules, reason="torch is not loaded in the base suite")
def test_a_tensor_has_the_line_that_made_it(tracer: Tracer) -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(4, 4)

    def forward() -> object:
        return layer(torch.zeros(50, 4))

    found = {row.type_name.rpartition(".")[2]: row for row in lines_of(tracer, forward)}

    assert found["Tensor"].file == HERE
    assert found["Tensor"].n_bytes >= 50 * 4 * 4


def test_threads_before_the_interpreter_was_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "count_other_threads", lambda: 1)
    assert tracing() is None or find_tracer()[0] is not None
    monkeypatch.setattr(sites, "tracing", lambda: None)

    found, why = find_tracer()

    is_mended = sys.version_info >= (3, 13, 2) or (3, 12, 9) <= sys.version_info[:3] < (3, 13)
    assert (found is None) == ("threads" in why) == (not is_mended)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/home/user/train.py", True),
        ("<ipython-input-3-abc>", True),
        ("<frozen importlib._bootstrap>", False),
        ("<string>", False),
        ("/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", False),
        (f"{sysconfig.get_path('stdlib')}/copy.py", False),
        (str(Path(sites.__file__)), False),
        (str(Path(sites.__file__).parent.parent / "demo" / "trainer.py"), True),
    ],
)
def test_which_code_is_the_programs(file: str, *, expected: bool) -> None:
    assert is_programs(file) is expected


SOURCE = '''
LIMIT = 3

class Trainer:
    size = 2

    @property
    def batch(self):
        return [
            0.5,
        ]

    def train(self):
        def step():
            return 1
        if LIMIT:
            async def later():
                return 2
        return [lambda: 3]
'''


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (2, "<module>"), (5, "<module>"), (7, "Trainer.batch"), (10, "Trainer.batch"), (15, "Trainer.train.step"),
        (18, "Trainer.train.later"), (19, "Trainer.train"), (99, "<module>"),
    ],
)  # fmt: skip
def test_the_functions_around_a_line(tmp_path: Path, line: int, expected: str) -> None:
    file = tmp_path / "program.py"
    file.write_text(SOURCE)

    assert functions_around(str(file), [line]) == {line: expected}


@pytest.mark.parametrize("content", [b"def broken(:", b"\x00", b"x = '\xff'", b"(" * 5000])
def test_a_source_that_cannot_be_read_names_nothing(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "program.py"
    file.write_bytes(content)

    assert functions_around(str(file), [1]) == {}
    assert functions_around(str(tmp_path / "gone.py"), [1]) == {}
    assert functions_around(str(tmp_path), [1]) == {}


def test_a_tensor_made_before_has_the_line_of_its_node_where_anomaly_mode_keeps_it(tracer: Tracer) -> None:
    torch = pytest.importorskip("torch")
    weight = torch.ones(3, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        KEPT.frames.append((weight * 2).sum())
        line = sys._getframe().f_lineno - 1
        start_tracing(tracer)
        KEPT.frames.append(weight.detach())  # a leaf, which has no node
        table = read_places({"kept": KEPT})
        found = made_at(tracer, list(table.roots), {"kept": KEPT})

    made = [(one.file, one.line) for one in found if one.type_name == "torch.Tensor"]
    assert (HERE, line) in made
    assert len(made) == 2


def test_without_anomaly_mode_no_node_is_asked() -> None:
    torch = pytest.importorskip("torch")
    total = (torch.ones(3, requires_grad=True) * 2).sum()

    assert node_lines.node_frames([total]) == {}
    assert total.grad_fn.metadata == {}


def test_what_is_made_to_ask_is_not_traced_and_what_comes_later_is(tracer: Tracer) -> None:
    native = tracing()
    if native is None:
        pytest.skip("in Python all that is made is traced")
    start_tracing(tracer)
    made = [object() for _ in range(500)]
    positions = np.arange(500).tobytes()

    traces, _ = native.traces(tracer._get_object_traceback, made, positions, False)
    later = object()

    assert all(trace is not None and trace[0][0] == HERE for trace in traces)  # type: ignore[index]
    assert not [trace for trace in traces if tracer._get_object_traceback(trace) is not None]
    assert tracer._get_object_traceback(later) is not None


@pytest.mark.parametrize("position", [-1, 1, 1 << 40])
def test_no_object_beyond_the_list_is_asked(position: int) -> None:
    native = tracing()
    if native is None:
        pytest.skip("in Python the list itself says so")

    with pytest.raises(IndexError):
        native.traces(id, [None], np.array([position]).tobytes(), False)


def test_tracing_may_end_when_all_were_asked(tracer: Tracer) -> None:
    table = read_places({"kept": KEPT})
    start_tracing(tracer)
    KEPT.frames.append(make_frame())

    found = made_at(tracer, list(table.roots), {"kept": KEPT}, done=tracer.stop)

    assert not tracer.is_tracing()
    assert line_with("# line of the frame") in {row.line for row in found}


def test_at_each_place_some_are_asked_however_late_it_is(tracer: Tracer) -> None:
    table = read_places({"kept": KEPT})
    start_tracing(tracer)
    KEPT.frames += [[n] for n in range(5000)]
    line = sys._getframe().f_lineno - 1

    found = made_at(tracer, list(table.roots), {"kept": KEPT}, limit_s=1.0)
    nothing = lambda at, _: ([None] * len(at), np.ones(len(at), np.uint64))  # noqa: E731
    late = sites._ask(nothing, np.arange(5000), 1, 1.0, sites._ENOUGH, 0.0)

    assert {row.type_name: row.line for row in found}["list"] == line
    assert len(late.traces) == 1024


@pytest.mark.parametrize("n", [0, 1, 2, 1000, 1013, 1201, 1024, 4096, 4097])
def test_every_part_of_what_is_asked_in_turn_is_spread_over_all(n: int) -> None:
    order = sites._spread(n)

    assert sorted(order.tolist()) == list(range(n))
    for part in (32, 64, 512) if n > 512 else ():
        gaps = np.diff(np.sort(order[:part]), prepend=0, append=n)
        assert gaps.max() <= 2 * n / part


def test_of_a_few_that_hold_many_the_lines_are_told(tracer: Tracer) -> None:
    def make() -> None:
        KEPT.frames += [Frame([float(n) for n in range(20_000)]) for _ in range(4)]  # line of the few

    found = lines_of(tracer, make)

    (few,) = [row for row in found if row.type_name.endswith(".Frame")]
    assert (few.line, few.n_objects) == (line_with("# line of the few"), 4)
    (numbers,) = [row for row in found if row.type_name == "float" and row.n_objects > 1000]
    assert numbers.n_objects == pytest.approx(80_000, rel=0.4)


@pytest.mark.parametrize("kept", [[], array("d"), bytearray()], ids=["list", "array", "bytearray"])
def test_a_buffer_that_is_enlarged_in_place_has_the_line_that_enlarged_it(tracer: Tracer, kept: Any) -> None:
    if tracing() is None or sys.version_info >= (3, 14):
        pytest.skip("nothing is known of buffers")
    KEPT.frames = [kept]
    table = read_places({"kept": KEPT})
    start_tracing(tracer)
    kept.extend(range(100))
    line = sys._getframe().f_lineno - 1

    found = made_at(tracer, table.place.tolist(), {"kept": KEPT})

    (row,) = [row for row in found if row.type_name.rpartition(".")[2] == type(kept).__name__ and row.n_bytes > 99]
    assert (row.file, row.line, row.n_objects) == (HERE, line, 1)


@pytest.fixture
def pausing(tracer: Tracer) -> Tracer:
    if tracing() is None or extension() is None:
        pytest.skip("only the extension pauses")
    return tracer


def make_rings(n: int) -> None:
    for _ in range(n):
        ring = Recorder()  # line of the ring
        ring.frames.append(ring)


def test_what_was_made_before_the_pause_and_is_still_there_is_found_wherever_it_lies(pausing: Tracer) -> None:
    gc.disable()
    try:
        start_tracing(pausing)
        KEPT.frames.append(make_frame())
        make_rings(2000)
        Frame(None)  # and gone
        pause_tracing()
        make_rings(500)
        found = made_and_there(pausing, done=lambda: stop_tracing(pausing))
    finally:
        gc.enable()

    rows = {row.type_name.rpartition(".")[2]: row for row in found}
    assert rows["Recorder"].line == line_with("# line of the ring")
    assert rows["Recorder"].n_objects == pytest.approx(2000, rel=0.4)
    assert (rows["Frame"].line, rows["Frame"].n_objects) == (line_with("# line of the frame"), 1)
    assert not pausing.is_tracing()


def test_what_goes_in_the_pause_is_not_there(pausing: Tracer) -> None:
    start_tracing(pausing)
    KEPT.frames.append(make_frame())
    pause_tracing()
    KEPT.frames.clear()
    others = [make_frame() for _ in range(100)]  # where it lay

    found = made_and_there(pausing)

    assert [row for row in found if row.type_name.endswith(".Frame")] == []
    assert len(others) == 100


def test_what_is_frozen_is_there(pausing: Tracer) -> None:
    start_tracing(pausing)
    KEPT.frames.append(make_frame())
    pause_tracing()
    gc.freeze()
    try:
        found = made_and_there(pausing)
    finally:
        gc.unfreeze()
        gc.collect()  # from 3.12 on what is immortal is frozen, and so again

    assert [row.line for row in found if row.type_name.endswith(".Frame")] == [line_with("# line of the frame")]


def test_without_the_extension_nothing_stays(tracer: Tracer) -> None:
    with passes_in_python():
        start_tracing(tracer)
        KEPT.frames.append(make_frame())
        pause_tracing()

        assert made_and_there(tracer) == []
