"""What the package promises as a whole: nothing it measures stays alive, and what it asserts is so."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import phaseprof
from phaseprof import (
    Profiler,
    assert_counts,
    assert_no_growth,
    checkpoint,
    configure,
    generation,
    get_profiler,
    log_memory,
    profile_phase,
    track,
    watch,
)
from phaseprof.errors import ExpectationError, PhaseprofError, UsageError


class Thing:
    """Something that can be watched and held weakly."""


class Counted:
    """What only the tests of counts make: a getter that was given to the default profiler may keep a ``Thing``."""


@pytest.fixture
def profiler() -> Iterator[Profiler]:
    made = Profiler(None, budget=None)
    yield made
    made.close()


@pytest.fixture(autouse=True, scope="module")
def default_is_closed() -> None:
    """So that each test finds and leaves the default profiler without hooks of its own."""
    get_profiler().close()


@pytest.fixture
def default(default_is_closed: None) -> Iterator[Profiler]:
    """The default profiler with a new recording."""
    profiler = configure(run=None, budget=None)
    yield profiler
    profiler.close()


def grow(profiler: Profiler, kept: list[object], turns: int = 6) -> None:
    """A leak that is looked at to the end: counts, births, holders."""
    for turn in range(turns):
        with profiler.generation(turn), profiler.phase("leak"):
            kept.extend(Thing() for _ in range(50))


# --- nothing stays alive ------------------------------------------------------------------------------------------


def dies(make: Callable[[], object], use: Callable[[object], None]) -> bool:
    thing = make()
    seen = weakref.ref(thing)
    use(thing)
    del thing
    return seen() is None


def test_an_argument_of_a_phase_dies_with_its_call(profiler: Profiler) -> None:
    @profiler.phase("train")
    def train(thing: object) -> int:
        return id(thing)

    assert dies(Thing, train)


def test_a_result_of_a_phase_dies_when_the_caller_lets_go(profiler: Profiler) -> None:
    @profiler.phase("make", items=lambda result: 1)
    def make() -> object:
        return Thing()

    assert dies(make, lambda thing: None)


def test_what_a_generator_yields_and_is_sent_dies(profiler: Profiler) -> None:
    @profiler.phase("echo")
    def echo() -> Iterator[object]:
        got: object = None
        while True:
            got = yield got

    one = echo()
    next(one)

    def use(thing: object) -> None:
        one.send(thing)
        one.send(None)

    assert dies(Thing, use)


def test_an_exception_and_what_its_frames_hold_die(profiler: Profiler) -> None:
    seen = []

    @profiler.phase("fails")
    def fails() -> None:
        thing = Thing()
        seen.append(weakref.ref(thing))
        raise ValueError("planned")

    with pytest.raises(ValueError, match="planned"):
        fails()
    gc.collect()

    assert seen[0]() is None


@pytest.mark.parametrize("turns", [1, 6])
def test_a_tracked_object_dies_when_its_owner_lets_go(profiler: Profiler, turns: int) -> None:
    kept: list[object] = []

    def use(thing: object) -> None:
        profiler.track("thing", thing)
        grow(profiler, kept, turns)

    assert dies(Thing, use)


def test_a_tracked_array_dies_too(profiler: Profiler) -> None:
    def use(array: object) -> None:
        profiler.track("array", array)
        grow(profiler, [], 4)

    assert dies(lambda: np.zeros(1000), use)


def test_watched_instances_die_after_they_were_investigated(profiler: Profiler) -> None:
    profiler.watch(Thing, expected=0)
    kept: list[object] = []
    grow(profiler, kept)
    found = profiler.findings()
    seen = [weakref.ref(thing) for thing in kept[::40]]

    kept.clear()

    assert any(finding.subject.endswith("Thing") for finding in found), "the look must have been taken"
    assert {ref() for ref in seen} == {None}


def test_a_tensor_dies_after_it_was_investigated(profiler: Profiler) -> None:
    torch = pytest.importorskip("torch")
    kept = []
    for turn in range(6):
        with profiler.generation(turn), profiler.phase("train"):
            loss = (torch.ones(100, requires_grad=True) * 2).sum()
            kept.append(loss)
    profiler.track("losses", lambda: kept)
    profiler.findings()
    profiler.snapshot("end")
    profiler.large_objects(0)
    seen = [weakref.ref(loss) for loss in kept]

    del loss
    kept.clear()

    assert {ref() for ref in seen} == {None}


def test_reports_hold_no_object(profiler: Profiler) -> None:
    kept: list[object] = []
    grow(profiler, kept)
    profiler.track("kept", lambda: kept)
    reports = [
        profiler.snapshot("a"),
        profiler.large_objects(0),
        profiler.counts(),
        profiler.findings(),
        profiler.report(),
    ]
    seen = weakref.ref(kept[-1])

    kept.clear()

    assert seen() is None
    assert all(str(report) for report in reports)


def test_a_profiler_dies_when_it_is_closed_and_dropped() -> None:
    made = Profiler(None, budget=None)
    grow(made, [], 3)
    made.close()
    seen = weakref.ref(made)

    del made
    gc.collect()

    assert seen() is None


def test_closing_gives_back_every_descriptor(tmp_path: object) -> None:
    import psutil

    process = psutil.Process()
    warm = Profiler(f"{tmp_path}/warm", budget=None)
    grow(warm, [], 2)
    warm.close()
    before = process.num_fds()

    for number in range(2):
        made = Profiler(f"{tmp_path}/{number}", budget=None)
        grow(made, [], 2)
        made.close()

    assert process.num_fds() <= before


# --- what is asserted -----------------------------------------------------------------------------------------------


def test_counts_that_hold() -> None:
    kept = [Counted(), Counted()]

    assert_counts(Counted=2)
    assert_counts({Counted: (1, 3), f"{__name__}.Counted": len(kept), f"{__name__}:Counted": None})


def test_counts_that_are_broken_are_all_named() -> None:
    class Other:
        pass

    kept = [Counted(), Other()]

    with pytest.raises(ExpectationError, match="Counted: expected 2, found 1; Other: expected 3 to 4, found 1"):
        assert_counts(Counted=2, Other=(3, 4))
    assert len(kept) == 2


def test_dead_cycles_do_not_count() -> None:
    thing = Counted()
    thing.itself = thing  # type: ignore[attr-defined]
    del thing

    assert_counts(Counted=0)


def test_a_name_of_no_class_and_of_two() -> None:
    twins = [type("Twin", (), {}), type("Twin", (), {})]

    with pytest.raises(UsageError, match="fits no class that exists"):
        assert_counts(NoSuchClassAnywhere=0)
    with pytest.raises(UsageError, match="fits 2 classes"):
        assert_counts(Twin=0)
    with pytest.raises(UsageError, match="must be a class of an imported module"):
        assert_counts({"no.such.Module": 0})
    assert len(twins) == 2


def test_a_function_that_keeps_nothing_passes() -> None:
    assert_no_growth(lambda: [Thing() for _ in range(10)])


def test_a_function_that_keeps_something_is_named() -> None:
    kept: list[object] = []

    with pytest.raises(ExpectationError, match="Thing"):
        assert_no_growth(lambda: kept.extend(Thing() for _ in range(20)), repeat=8)


def test_the_environment_does_not_switch_an_assertion_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHASEPROF_ENABLED", "0")
    kept: list[object] = []

    with pytest.raises(ExpectationError):
        assert_no_growth(lambda: kept.extend(Thing() for _ in range(20)), repeat=5)


@pytest.mark.parametrize("wrong", [{"repeat": 4}, {"warm_up": -1}, {"max_objects": -1}])
def test_wrong_arguments_of_an_assertion(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(wrong))} must be a"):
        assert_no_growth(lambda: None, **wrong)  # type: ignore[arg-type]


def test_the_functions_exception_comes_out() -> None:
    with pytest.raises(ZeroDivisionError):
        assert_no_growth(lambda: 1 / 0)


# --- the module's functions -----------------------------------------------------------------------------------------


def test_the_functions_use_one_default_profiler(default: Profiler) -> None:
    kept = [Thing()]
    watch(Thing, expected=2)
    track("kept", lambda: kept)

    @profile_phase("train", items=1)
    def train() -> None:
        checkpoint("inside")
        with checkpoint("block"):
            pass

    for turn in range(2):
        with generation(turn, items=3), profile_phase("around"):
            train()

    assert get_profiler() is default
    assert "Thing" in str(default.counts())
    assert [finding.subject for finding in default.findings() if "Thing" in finding.subject]


def test_phases_decorated_before_follow_the_configuration(default: Profiler, tmp_path: object) -> None:
    @profile_phase("decorated before")
    def phase() -> None: ...

    configure(run=str(tmp_path))
    phase()
    default.close()

    assert "decorated before" in phaseprof.load(str(tmp_path)).main.phases


def test_a_snapshot_is_printed_and_returned(default: Profiler, capsys: pytest.CaptureFixture[str]) -> None:
    with generation():
        snapshot = log_memory("in the middle", show_objects=True)

    printed = capsys.readouterr().out
    assert printed == f"{snapshot}\n"
    assert "in the middle" in printed
    assert snapshot.to_dict()


def test_a_broken_stdout_loses_the_text_not_the_run(default: Profiler, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        encoding = "utf-8"

        def write(self, text: str) -> int:
            raise BrokenPipeError

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdout", Broken())

    assert log_memory("still returned") is not None


@pytest.mark.parametrize("enabled", [True, False])
def test_every_report_can_be_asked_for_at_any_time(enabled: bool, capsys: pytest.CaptureFixture[str]) -> None:
    profiler = Profiler(None, enabled=enabled)

    profiler.print_memory_trend()
    profiler.print_memory_growth()
    profiler.print_large_objects()
    profiler.print_summary()
    profiler.log_memory("here", show_objects=True)
    profiler.close()
    profiler.print_summary()

    assert capsys.readouterr().out.count("\n") > 8


def test_errors_are_of_one_family_and_the_fitting_builtin() -> None:
    assert issubclass(UsageError, (PhaseprofError, ValueError))
    assert issubclass(ExpectationError, AssertionError)


def test_every_public_name_says_what_it_does() -> None:
    undocumented = [name for name in phaseprof.__all__ if not inspect.getdoc(getattr(phaseprof, name))]

    assert [name for name in undocumented if name != "__version__"] == []


# --- the package itself


def test_the_package_imports_its_parts_when_they_are_asked_for() -> None:
    code = "import sys, phaseprof; print(*[m for m in sys.modules if m.startswith(('phaseprof.', 'numpy'))])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.split() == ["phaseprof._version"]


def test_every_public_name_is_there() -> None:
    assert set(phaseprof.__all__) <= set(dir(phaseprof))
    assert all(getattr(phaseprof, name) is not None for name in phaseprof.__all__)


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'phaseprof' has no attribute 'profle_phase'"):
        phaseprof.profle_phase  # noqa: B018 - the access is what is tested


# --- reports that have nothing to say


def test_a_disabled_profiler_does_not_speak_of_leaks() -> None:
    disabled = Profiler(None, enabled=False)

    text = str(disabled.report())
    disabled.close()

    assert text == "final summary: not measured, the profiler is disabled"


def test_the_summary_brings_no_growth_of_its_own() -> None:
    """The last look comes before the modules of the reports are imported."""
    program = (
        "import phaseprof as pp\n"
        "for g in range(8):\n"
        "    with pp.generation(g), pp.profile_phase('p'): sum(range(1000))\n"
        "p = pp.get_profiler(); str(p.report()); print(p.findings())"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert "No leak found" in done.stdout
    assert "Report" not in done.stdout


def test_a_label_must_be_a_text(profiler: Profiler) -> None:
    with pytest.raises(UsageError, match=r"label must be a non-empty string \(got 5\)"):
        profiler.snapshot(5)  # type: ignore[arg-type]
