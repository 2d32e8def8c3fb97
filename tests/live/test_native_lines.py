"""The lines that allocate native memory, learnt from memray where the program has imported it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from phaseprof import load
from phaseprof.analysis.findings import find_leaks
from phaseprof.live.budget import Budget
from phaseprof.live.native_lines import NativeLines
from phaseprof.live.recorder import Recorder
from phaseprof.probes.native_lines import NativeMade, NativeTrace, loaded_memray
from phaseprof.recording import format as fmt

PROGRAM = """
    import ctypes, sys, time
    import memray
    import phaseprof as pp

    allocate = ctypes.pythonapi.PyMem_RawMalloc
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]

    def simulate():
        for _ in range(100):
            allocate(5000)  # the line
        time.sleep(0.02)

    profiler = pp.Profiler(sys.argv[1], budget=None)
    for number in range(24):
        with profiler.generation(number):
            with profiler.phase("simulate"):
                simulate()
            with profiler.phase("learn"):
                time.sleep(0.02)
    """


class Record:
    def __init__(self, size: int, *frames: tuple[str, str, int], native: str = "") -> None:
        self.size, self.n_allocations = size, size // 1000
        self._frames, self._native = list(frames), native

    def stack_trace(self, most: int) -> list[tuple[str, str, int]]:
        return self._frames[:most]

    def native_stack_trace(self, most: int) -> list[tuple[str, str, int]]:
        return [(self._native, "engine.c", 3)][:most]


class Memray(ModuleType):
    """A stand-in that knows its records beforehand."""

    def __init__(self, *records: Record, error: Exception | None = None) -> None:
        super().__init__("memray")
        self.begun = self.ended = 0
        outer = self

        class Tracker:
            def __init__(self, path: Path, *, native_traces: bool, file_format: object) -> None:
                self.path = path

            def __enter__(self) -> None:
                if error is not None:
                    raise error
                outer.begun += 1

            def __exit__(self, *_: object) -> None:
                self.path.write_text("trace")
                outer.ended += 1

        class FileReader:
            def __init__(self, path: Path) -> None:
                assert path.exists()

            def __enter__(self) -> FileReader:
                return self

            def __exit__(self, *_: object) -> None: ...

            def get_leaked_allocation_records(self, *, merge_threads: bool) -> list[Record]:
                return list(records)

        self.Tracker, self.FileReader = Tracker, FileReader
        self.FileFormat = ModuleType("FileFormat")
        self.FileFormat.AGGREGATED_ALLOCATIONS = 1  # type: ignore[attr-defined]


class Records(Recorder):
    generation = 7

    def __init__(self) -> None:
        self.added: list[fmt.Record] = []
        self.notes: list[str] = []

    def add(self, record: fmt.Record) -> None:
        self.added.append(record)

    def note(self, text: str) -> None:
        self.notes.append(text)


def lines(records: Records, budget: Budget, *, wanted: bool = True, usual_ns: int = 1_000_000) -> NativeLines:
    return NativeLines(
        records, budget, is_wanted=lambda: wanted, guilty=lambda: "simulate", usual_ns=lambda phase: usual_ns
    )


@pytest.fixture
def memray(monkeypatch: pytest.MonkeyPatch) -> Memray:
    own, library = ("step", __file__, 9), ("call", "/usr/lib/python3/site-packages/engine/api.py", 3)
    module = Memray(Record(8000, library, own, native="engine_alloc"), Record(2000, own), Record(10, library))
    monkeypatch.setitem(sys.modules, "memray", module)
    return module


def test_lines_are_those_of_the_program_and_add_up(memray: Memray) -> None:
    trace = NativeTrace(memray, stacks=False)

    assert trace.stop()[0] == NativeMade(__file__, 9, "step", "", 10, 10_000)
    assert (memray.begun, memray.ended) == (1, 1)


def test_with_native_stacks_the_innermost_function_is_named(memray: Memray) -> None:
    made = NativeTrace(memray, stacks=True).stop()

    assert [(one.name, one.n_bytes) for one in made[:2]] == [("engine_alloc", 8000), ("", 2000)]


def test_a_visit_of_the_guilty_phase_is_traced(memray: Memray) -> None:
    records, native = Records(), None
    native = lines(records, Budget(None, lambda: 0))

    native.at_generation_end(6)
    assert native.phase == "simulate"
    native.enter()
    native.leave()

    (told,) = [one for one in records.added if isinstance(one, fmt.Sites)]
    assert (told.phase, told.rows[0].steps, told.rows[0].line) == ("simulate", ["native"], 9)
    assert native.phase is None


@pytest.mark.parametrize("is_wanted", [True, False])
def test_nothing_is_traced_for_which_there_is_no_room_or_no_reason(memray: Memray, is_wanted: bool) -> None:
    native = lines(Records(), Budget(0.02, lambda: 0), wanted=is_wanted)

    native.at_generation_end(6)

    assert native.phase is None
    assert memray.begun == 0


def test_without_memray_nothing_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "memray", raising=False)
    native = lines(Records(), Budget(None, lambda: 0))

    native.at_generation_end(6)

    assert native.phase is None
    assert "memray" not in sys.modules


def test_a_program_that_is_profiled_keeps_its_hook(memray: Memray) -> None:
    sys.setprofile(lambda *_: None)
    try:
        assert loaded_memray() is None
    finally:
        sys.setprofile(None)


def test_a_program_that_traces_itself_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    module = Memray(error=RuntimeError("No more than one Tracker instance can be active at the same time"))
    monkeypatch.setitem(sys.modules, "memray", module)
    records = Records()
    native = lines(records, Budget(None, lambda: 0))
    native.at_generation_end(6)

    native.enter()
    native.leave()
    native.at_generation_end(20)

    assert records.notes == ["the lines that allocate native memory are not known (RuntimeError)"]
    assert native.phase is None


def test_a_real_trace_names_the_line_that_leaks_native_memory(tmp_path: Path) -> None:
    pytest.importorskip("memray")
    program = tmp_path / "train.py"
    program.write_text(textwrap.dedent(PROGRAM))
    command = [sys.executable, str(program), str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr

    (found,) = [one for one in find_leaks(load(tmp_path / "run").main) if one.verdict == "leak"]

    line = next(n for n, text in enumerate(program.read_text().splitlines(), 1) if "# the line" in text)
    assert (found.kind, found.phase) == ("native", "simulate")
    made = found.sites[0]
    assert (made.file, made.line, made.function, made.share > 0.9) == (str(program), line, "simulate", True)
