"""``watch`` and ``track``: what is counted and sized, what a broken expectation does, and what is gone."""

from __future__ import annotations

import gc
import sys
import types
import warnings
from collections.abc import Callable

import pytest

from phaseprof import Profiler
from phaseprof.errors import ExpectationError, PhaseprofWarning, UsageError
from phaseprof.live import families
from phaseprof.live.tracking import TrackList
from phaseprof.live.watching import WatchList, check_expected, counts_of
from phaseprof.recording.model import ProcessRun

Read = Callable[[Profiler], ProcessRun]
Make = Callable[..., Profiler]
END = "generation end"


class Env:
    pass


class EvalEnv(Env):
    pass


def turns(profiler: Profiler, steps: int, action: Callable[[], object] = lambda: None) -> None:
    for _ in range(steps):
        with profiler.generation(), profiler.phase("evaluate"):
            action()


# --- expectations -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "bounds"), [(2, (2, 2)), (0, (0, 0)), ((1, 3), (1, 3)), ([4, 4], (4, 4)), (None, (-1, -1))]
)
def test_bounds(expected: object, bounds: tuple[int, int]) -> None:
    assert check_expected(expected) == bounds


@pytest.mark.parametrize("wrong", [-1, True, 1.5, "2", (2, 1), (1,), (1, 2, 3), (-1, 2), (None, 3)])
def test_what_is_no_bound_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match="expected must be a count"):
        check_expected(wrong)


def test_subclasses_count(make: Make, recorded: Read) -> None:
    profiler = make(budget=None)
    kept = [Env(), EvalEnv(), EvalEnv()]
    profiler.watch(Env, expected=3)
    profiler.watch(EvalEnv, expected=(1, 2))

    turns(profiler, 2)

    process = recorded(profiler)
    assert process.series[END, "watched/Env"].values == [len(kept)] * 2
    assert process.series[END, "watched/EvalEnv"].values == [2, 2]
    assert process.violations == []


def test_a_broken_expectation_says_expected_found_since_and_phase(make: Make) -> None:
    told: list[str] = []
    profiler = make(budget=None, on_violation=told.append)
    kept = [Env()]
    profiler.watch(Env, expected=(1, 2))

    turns(profiler, 8, lambda: kept.append(Env()))

    # two are allowed: the second turn is the first that breaks it
    assert told[0] == "Env: expected 1 to 2, found 3 at the end of generation 1"
    assert told[-1] == (
        "Env: expected 1 to 2, found 9 (made in evaluate) at the end of generation 7; broken since generation 1"
    )


def test_it_is_told_again_only_when_the_count_changes(make: Make) -> None:
    told: list[str] = []
    profiler = make(budget=None, on_violation=told.append)
    kept = [Env(), Env()]
    profiler.watch(Env, expected=1)

    turns(profiler, 3)
    kept.pop()
    turns(profiler, 1)
    kept.append(Env())
    turns(profiler, 1)

    assert len(told) == 2
    assert told[1].endswith("at the end of generation 4")


def test_the_default_only_records(make: Make, recorded: Read) -> None:
    profiler = make(budget=None)
    kept = [Env()]
    profiler.watch(Env, expected=0)

    turns(profiler, 1)

    (violation,) = recorded(profiler).violations
    assert (violation.name, violation.found, violation.low, violation.high) == ("Env", len(kept), 0, 0)


def test_warn_warns_at_the_users_line(make: Make) -> None:
    profiler = make(budget=None, on_violation="warn")
    kept = [Env()]
    profiler.watch(Env, expected=0)

    with pytest.warns(PhaseprofWarning, match=f"Env: expected exactly 0, found {len(kept)}") as caught:
        turns(profiler, 1)

    assert [warning.filename for warning in caught] == [__file__]


def test_raise_raises_at_the_end_of_the_generation(make: Make) -> None:
    profiler = make(budget=None, on_violation="raise")
    kept: list[Env] = []
    profiler.watch(Env, expected=0)

    with pytest.raises(ExpectationError, match="Env: expected exactly 0, found 1"):
        turns(profiler, 1, lambda: kept.append(Env()))

    assert len(kept) == 1


def test_the_users_exception_goes_before_a_broken_expectation(make: Make) -> None:
    profiler = make(budget=None, on_violation="raise")
    kept = [Env()]
    profiler.watch(Env, expected=0)

    with pytest.raises(ZeroDivisionError), profiler.generation():
        kept[1 // 0]


def test_a_callable_that_raises_is_told_and_stops_nothing(make: Make) -> None:
    def broken(text: str) -> None:
        raise OSError("no network")

    profiler = make(budget=None, on_violation=broken)
    kept = [Env()]
    profiler.watch(Env, expected=0)

    with pytest.warns(PhaseprofWarning, match="on_violation raised OSError: no network"):
        turns(profiler, 1)

    assert kept


# --- which class ------------------------------------------------------------------------------------------------


def test_a_dotted_name_is_resolved_when_its_module_appears(make: Make, recorded: Read) -> None:
    profiler = make(budget=None)
    profiler.watch("late_module.inner:Env", expected=1)
    turns(profiler, 1)
    module = types.ModuleType("late_module.inner")
    module.Env = type("Env", (), {})  # type: ignore[attr-defined]
    sys.modules["late_module.inner"] = module
    try:
        kept = module.Env()
        turns(profiler, 1)
    finally:
        del sys.modules["late_module.inner"]

    assert type(kept).__name__ == "Env"
    assert list(recorded(profiler).series[END, "watched/Env"]) == [(1, 1.0)]


def test_a_class_defined_again_under_its_dotted_name_is_found_again() -> None:
    module = types.ModuleType("module_to_reload")
    sys.modules["module_to_reload"] = module
    try:
        module.Env = type("Env", (), {})  # type: ignore[attr-defined]
        watches = WatchList()
        watches.add("module_to_reload.Env", 1)
        first = list(watches.classes().values())
        module.Env = type("Env", (), {})  # type: ignore[attr-defined]
        first.clear()
        gc.collect()

        assert list(watches.classes().values()) == [module.Env]
    finally:
        del sys.modules["module_to_reload"]


def test_a_nested_class_has_a_dotted_name() -> None:
    watches = WatchList()

    watches.add(f"{__name__}.Holder.Inner", 1)

    assert list(watches.classes().values()) == [Holder.Inner]


class Holder:
    class Inner:
        pass


def test_a_class_deleted_while_watched_is_let_go(make: Make) -> None:
    profiler = make(budget=None)
    passing = type("Passing", (), {})
    profiler.watch(passing, expected=0)
    turns(profiler, 1)
    del passing
    gc.collect()

    turns(profiler, 2)

    assert "Passing" not in {cls.__name__ for cls in object.__subclasses__()}


def test_two_classes_of_one_name_are_both_watched() -> None:
    watches = WatchList()
    other = type("Env", (), {"__module__": "elsewhere"})

    first, second = watches.add(Env, 1), watches.add(other, 2)

    assert (first.name, second.name) == ("Env", "elsewhere.Env")
    assert list(watches.classes().values()) == [Env, other]


def test_two_dotted_names_with_one_ending_are_both_kept() -> None:
    watches = WatchList()

    names = [watches.add("a.Env", 1).name, watches.add("b.Env", 1).name]

    assert names == ["Env", "b.Env"]


def test_watching_again_replaces_the_bound() -> None:
    watches = WatchList()

    watches.add(Env, 1)
    watches.add(f"{__name__}.Env", 2)

    assert [(entry.name, entry.low) for entry in watches.entries.values()] == [("Env", 2)]


class Hostile(type):
    def __getattribute__(cls, name: str) -> object:
        raise RuntimeError(f"asked for {name}")

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("compared")

    def __hash__(cls) -> int:
        return 1


def test_a_hostile_metaclass_is_watched_without_being_asked(make: Make, recorded: Read) -> None:
    profiler = make(budget=None)
    guarded = Hostile("Guarded", (), {})
    kept = object.__new__(guarded)
    profiler.watch(guarded, expected=1)

    turns(profiler, 2)

    assert kept is not None
    assert recorded(profiler).series[END, "watched/Guarded"].values == [1, 1]


def test_what_a_census_leaves_out_is_counted_all_the_same() -> None:
    guarded = Hostile("Guarded", (), {})
    kept = [object.__new__(guarded), Env()]

    counts = counts_of({"Env": Env, "Guarded": guarded}, families.census_figures().counts)

    assert counts == {"Env": 1, "Guarded": 1}
    assert len(kept) == 2


def test_an_instance_is_refused() -> None:
    with pytest.raises(UsageError, match="class or its dotted name"):
        WatchList().add(Env(), 1)  # type: ignore[arg-type]


# --- track ------------------------------------------------------------------------------------------------------


class Buffer:
    def __init__(self, size: int) -> None:
        self.data = bytearray(size)

    def items(self) -> bytearray:
        return self.data


def test_sizes_are_followed_by_name(make: Make, recorded: Read) -> None:
    profiler = make(budget=None)
    buffer = Buffer(1_000)
    profiler.track("buffer", buffer)
    profiler.track("getter", lambda: buffer.data)

    turns(profiler, 1)
    buffer.data = bytearray(1_000_000)
    turns(profiler, 1)

    series = recorded(profiler).series
    for name in ("buffer", "getter"):
        small, large = series[END, f"tracked/{name}"].values
        assert 1_000 <= small < 3_000
        assert 1_000_000 <= large < 1_003_000


def test_names_that_share_count_it_once_in_the_total(make: Make, recorded: Read) -> None:
    profiler = make(budget=None)
    shared = bytearray(1_000_000)
    profiler.track("one", lambda: [shared])
    profiler.track("two", lambda: [shared])

    turns(profiler, 1)

    series = recorded(profiler).series
    assert 1_000_000 <= series[END, "tracked_total_bytes"].last < 1_001_000


def test_every_so_many_generations(make: Make, recorded: Read) -> None:
    profiler = make(budget=None, track_every=2)
    buffer = Buffer(10)
    profiler.track("buffer", buffer)

    turns(profiler, 5)

    assert recorded(profiler).series[END, "tracked/buffer"].generations == [0, 2, 4]


def test_a_getter_that_raises_is_gone_not_a_crash(make: Make, recorded: Read) -> None:
    profiler = make(budget=None)
    buffer = Buffer(10)
    profiler.track("broken", lambda: 1 / 0)
    profiler.track("buffer", buffer)

    with pytest.warns(PhaseprofWarning, match="ZeroDivisionError"):
        turns(profiler, 2)

    series = recorded(profiler).series
    assert (END, "tracked/broken") not in series
    assert series[END, "tracked/buffer"].generations == [0, 1]


def test_a_name_that_was_never_there_is_warned_of_and_one_that_went_is_not(make: Make) -> None:
    profiler = make(budget=None)
    profiler.track("misspelt", lambda: Buffer(10).dta)  # type: ignore[attr-defined]
    with pytest.warns(PhaseprofWarning, match="tracked name 'misspelt' has no size so far: .* AttributeError") as told:
        turns(profiler, 2)
    assert len(told) == 1

    buffer = Buffer(10)
    profiler.track("buffer", buffer)
    turns(profiler, 1)
    del buffer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        turns(profiler, 1)


def test_gone_says_why_and_comes_back() -> None:
    tracked = TrackList(warnings.warn)
    answers: list[object] = []
    tracked.add("late", lambda: answers[0])

    assert tracked.collect() == {}
    assert tracked.gone == {"late": "its getter raised IndexError"}

    answers.append("here")
    assert tracked.collect() == {"late": "here"}
    assert tracked.gone == {}


@pytest.mark.parametrize("how", ["object", "bound method"])
def test_what_is_tracked_may_die(how: str) -> None:
    tracked = TrackList(warnings.warn)
    buffer = Buffer(10)
    tracked.add("buffer", buffer if how == "object" else buffer.items)
    assert list(tracked.collect()) == ["buffer"]

    del buffer

    assert tracked.collect() == {}
    assert tracked.gone == {"buffer": "it was deleted"}


@pytest.mark.parametrize("target", [[1], {}, (1,), 3, None])
def test_what_cannot_be_held_weakly_needs_a_getter(target: object) -> None:
    with pytest.raises(UsageError, match="give a getter"):
        TrackList(warnings.warn).add("name", target)


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_track_needs_a_name(name: object) -> None:
    with pytest.raises(UsageError, match="tracked name must be a non-empty string"):
        TrackList(warnings.warn).add(name, Buffer(1))  # type: ignore[arg-type]


def test_our_warnings_do_not_stop_a_run_that_makes_warnings_errors(profiler: Profiler) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with profiler.generation(), profiler.generation():
            reached = True

    assert reached


def test_a_broken_expectation_stands_until_a_count_holds_it() -> None:
    watches = WatchList()
    watches.add(Env, 1)
    watches.add(EvalEnv, None)

    seen = []
    for n in (1, 2, 1):
        watches.update({"Env": n, "EvalEnv": 9}, 0)
        seen.append(watches.has_broken)

    assert seen == [False, True, False]
