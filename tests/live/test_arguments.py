"""What every public call says of an argument that breaks its rule: which, the rule, what was given, and once."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import phaseprof as pp
from phaseprof import Profiler
from phaseprof.errors import UsageError
from phaseprof.live.arguments import check_number, shown

Call = Callable[[Profiler, object], object]


class Env:
    """A class to watch."""

    def __repr__(self) -> str:
        return "an\nEnv"


def enter(scope: object) -> None:
    with scope:  # type: ignore[attr-defined]
        pass


def counted(profiler: Profiler, items: object) -> None:
    with profiler.generation(items=items):  # type: ignore[arg-type]
        pass


def counted_by_function(profiler: Profiler, items: object) -> None:
    phase = profiler.phase("collect", items=lambda _: items)  # type: ignore[arg-type, return-value]
    phase(lambda: None)()


def set_inside(profiler: Profiler, items: object) -> None:
    with profiler.generation() as generation:
        generation.items = items  # type: ignore[assignment]


NAMED: dict[str, Call] = {
    "checkpoint": lambda p, x: p.checkpoint(x),  # type: ignore[arg-type]
    "pp.checkpoint": lambda _, x: pp.checkpoint(x),  # type: ignore[arg-type]
    "phase": lambda p, x: p.phase(x),  # type: ignore[arg-type]
    "profile_phase": lambda _, x: pp.profile_phase(x),  # type: ignore[call-overload]
    "snapshot": lambda p, x: p.snapshot(x),  # type: ignore[arg-type]
    "log_memory": lambda p, x: p.log_memory(x),  # type: ignore[arg-type]
    "track": lambda p, x: p.track(x, lambda: 1),  # type: ignore[arg-type]
    "watch": lambda p, x: p.watch(x),  # type: ignore[arg-type]
}
# Texts for which ``None`` or a number stands as well.
OTHERS: dict[str, tuple[Call, list[object]]] = {
    "generation": (lambda p, x: p.generation(x), ["", " ", [1], b"x", (1, 2), Env()]),  # type: ignore[arg-type]
    "next_generation": (lambda p, x: p.next_generation(x), ["", [1], {}]),  # type: ignore[arg-type]
    "generations": (lambda p, x: p.generations(x), [None, 3, Env()]),  # type: ignore[arg-type]
    "growth": (lambda p, x: p.growth(x), [3, b"x", Env()]),  # type: ignore[arg-type]
    "marks": (lambda p, x: p.marks(x), [3, None]),  # type: ignore[arg-type]
    "expected": (lambda p, x: p.watch(Env, x), [-1, 1.0, True, "2", (2, 1), (1, 2, 3), 2**63]),  # type: ignore[arg-type]
    "items of a generation": (lambda p, x: p.generation(items=x), ["5", [1], True, Env()]),  # type: ignore[arg-type]
    "items of generations": (lambda p, x: p.generations([1], items=x), ["5", [1]]),  # type: ignore[arg-type]
    "items of a phase": (lambda p, x: p.phase("x", items=x), ["5", [1], True]),  # type: ignore[arg-type]
    "min_mb": (lambda p, x: p.large_objects(x), [-1, math.nan, math.inf, "5", True, 10**400]),  # type: ignore[arg-type]
    "least_bytes": (lambda p, x: p.findings(least_bytes=x), [-1, math.nan, "5", [1]]),  # type: ignore[arg-type]
    "show_objects": (lambda p, x: p.log_memory("x", x), ["no", 1, None]),  # type: ignore[arg-type]
    "full": (lambda p, x: p.print_summary(full=x), ["no", 1]),  # type: ignore[arg-type]
    "file": (lambda p, x: p.print_memory_trend(x), ["report.txt", 5]),  # type: ignore[arg-type]
    "enabled": (lambda p, x: setattr(p, "enabled", x), ["yes", 1, None]),
    "every": (lambda p, x: p.on_generation(print, every=x), [0, -1, 1.5, "2", True]),  # type: ignore[arg-type]
    "call": (lambda p, x: p.on_generation(x), [None, 3]),  # type: ignore[arg-type]
    "call at the end": (lambda p, x: p.on_close(x), [None, 3]),  # type: ignore[arg-type]
    "config": (lambda _, x: Profiler.from_config(x), [None, [1], "x"]),  # type: ignore[arg-type]
    "load": (lambda _, x: pp.load(x), [None, 3]),  # type: ignore[arg-type]
    "counts": (lambda _, x: pp.assert_counts(x), [[Env], Env, 3, {3: 1}]),  # type: ignore[arg-type]
    "function": (lambda _, x: pp.assert_no_growth(x), [None, 3]),  # type: ignore[arg-type]
    "repeat": (lambda _, x: pp.assert_no_growth(print, repeat=x), [4, 5.5, math.inf, "9", 10**9]),  # type: ignore[arg-type]
    "warm_up": (lambda _, x: pp.assert_no_growth(print, warm_up=x), [-1, math.nan, True]),  # type: ignore[arg-type]
    "max_objects": (lambda _, x: pp.assert_no_growth(print, max_objects=x), [-1, math.nan, "1"]),  # type: ignore[arg-type]
    "draw": (lambda p, x: p.draw_holders(Env, "x.dot", depth=x), [0, 1.5, True, 10**400]),  # type: ignore[arg-type]
}  # fmt: skip
WRONG = [
    *((name, call, given) for name, call in NAMED.items() for given in ("", "  ", 3, b"x", ["a"], Env())),
    *((name, call, given) for name, (call, every) in OTHERS.items() for given in every),
]


@pytest.mark.parametrize(("name", "call", "given"), WRONG, ids=lambda one: shown(one)[:20])
def test_what_breaks_its_rule_is_refused_in_one_line(
    profiler: Profiler, name: str, call: Call, given: object
) -> None:
    if name == "draw":
        pytest.importorskip("objgraph")

    with pytest.raises(UsageError) as refused:
        call(profiler, given)

    text = str(refused.value)
    assert "(got " in text
    assert "\n" not in text and len(text) < 300


@pytest.mark.parametrize(("count", "given"), [
    *((counted, given) for given in (-5, math.nan, math.inf, 10**400)),
    *((count, given) for count in (counted_by_function, set_inside) for given in (-5, math.nan, "5", [1], True)),
])  # fmt: skip
def test_items_that_the_run_gets_wrong_are_warned_of_once(
    profiler: Profiler, count: Callable[[Profiler, object], None], given: object
) -> None:
    with pytest.warns(pp.PhaseprofWarning, match="items") as warned:
        count(profiler, given)
        count(profiler, given)

    assert len(warned) == 1


@pytest.mark.parametrize("given", [None, 0, 7, -3, 2.5, "seven"])
def test_what_numbers_or_names_a_generation_is_taken(profiler: Profiler, given: object) -> None:
    enter(profiler.generation(given))  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers(profiler: Profiler) -> None:
    np = pytest.importorskip("numpy")

    enter(profiler.generation(np.int64(101), items=np.float32(3)))
    enter(profiler.generation(np.int64(102), items=np.int32(3)))

    assert "101" in str(profiler.trend())
    assert profiler.findings().conclusion


def test_what_next_generation_refuses_leaves_the_open_one(profiler: Profiler) -> None:
    profiler.next_generation(1)

    with pytest.raises(UsageError):
        profiler.next_generation([2])  # type: ignore[arg-type]
    profiler.next_generation(3)

    assert "Gen 1" in str(profiler.trend())


def test_a_disabled_profiler_looks_at_no_argument() -> None:
    profiler = Profiler(enabled=False)

    enter(profiler.checkpoint(""))
    enter(profiler.generation([1]))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [0, 0.5, 1e18])
def test_a_number_within_its_bounds_passes(given: float) -> None:
    check_number("min_mb", given)
