"""``profile_phase`` around plain callables and blocks: what the user's code sees is what it saw before."""

from __future__ import annotations

import inspect
import pickle
import threading
import traceback
from collections.abc import Callable

import pytest

from phaseprof import Profiler, profile_phase
from phaseprof.errors import UsageError
from phaseprof.recording.model import ProcessRun

Read = Callable[[Profiler], ProcessRun]


class Planned(Exception):
    pass


@profile_phase("module level")
def module_level(a: int, b: int = 2, *rest: int, key: str = "k") -> tuple[object, ...]:
    """Say what came in."""
    return a, b, rest, key


def test_result_and_arguments_pass_through() -> None:
    assert module_level(1, 3, 4, key="x") == (1, 3, (4,), "x")


def test_signature_and_metadata_are_kept() -> None:
    assert str(inspect.signature(module_level)).startswith("(a: 'int', b: 'int' = 2, *rest: 'int', key: 'str' = 'k')")
    assert (module_level.__name__, module_level.__doc__) == ("module_level", "Say what came in.")
    assert module_level.__module__ == __name__


def test_a_decorated_function_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(module_level)) is module_level


def test_a_visit_is_recorded(profiler: Profiler, recorded: Read) -> None:
    @profiler.phase("train")
    def train() -> int:
        return 7

    results = [train(), train()]

    assert results == [7, 7]
    assert recorded(profiler).phases["train"].visits == 2


def test_without_a_name_the_qualified_name_is_taken(profiler: Profiler, recorded: Read) -> None:
    class Trainer:
        @profiler.phase()
        def step(self) -> None: ...

    Trainer().step()

    assert [name for name in recorded(profiler).phases if name.endswith("Trainer.step")]


def test_bare_decorator_needs_no_brackets() -> None:
    @profile_phase
    def bare(value: int) -> int:
        return value + 1

    assert bare(1) == 2
    assert bare.__name__ == "bare"


def test_methods_of_every_kind(profiler: Profiler, recorded: Read) -> None:
    class Trainer:
        @profiler.phase("method")
        def method(self) -> object:
            return self

        @profiler.phase("static outside")
        @staticmethod
        def outside(value: int) -> int:
            return value

        @staticmethod
        @profiler.phase("static inside")
        def inside(value: int) -> int:
            return value

        @profiler.phase("class outside")
        @classmethod
        def make(cls) -> type:
            return cls

    trainer = Trainer()

    assert trainer.method() is trainer
    assert (Trainer.outside(3), trainer.outside(4), Trainer.inside(5)) == (3, 4, 5)
    assert (Trainer.make(), trainer.make()) == (Trainer, Trainer)
    assert {name: totals.visits for name, totals in recorded(profiler).phases.items()} == {
        "method": 1, "static outside": 2, "static inside": 1, "class outside": 2,
    }  # fmt: skip


def test_an_exception_comes_out_as_it_went_in(profiler: Profiler, recorded: Read) -> None:
    planned = Planned("as it is")

    @profiler.phase("fails")
    def fails() -> None:
        raise planned

    with pytest.raises(Planned) as caught:
        fails()

    assert caught.value is planned
    assert planned.__cause__ is None
    assert planned.__context__ is None
    assert traceback.extract_tb(planned.__traceback__)[-1].line == "raise planned"
    assert recorded(profiler).phases["fails"].visits == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_exception_passes_too(profiler: Profiler, recorded: Read, kind: type[BaseException]) -> None:
    with pytest.raises(kind), profiler.phase("interrupted"):
        raise kind

    assert recorded(profiler).phases["interrupted"].visits == 1


def test_a_with_block_swallows_nothing(profiler: Profiler) -> None:
    with pytest.raises(Planned), profiler.phase("outer"), profiler.phase("inner"):
        raise Planned


def test_recursion_counts_each_visit(profiler: Profiler, recorded: Read) -> None:
    @profiler.phase("fall")
    def fall(depth: int) -> int:
        return depth if depth == 0 else fall(depth - 1)

    fall(4)

    assert recorded(profiler).phases["fall"].visits == 5


def test_one_scope_is_entered_again_inside_itself(profiler: Profiler, recorded: Read) -> None:
    scope = profiler.phase("again")

    with scope, scope:
        pass
    with scope:
        pass

    assert recorded(profiler).phases["again"].visits == 3


def test_threads_do_not_disturb_each_other(profiler: Profiler, recorded: Read) -> None:
    meeting = threading.Barrier(4, timeout=30)

    @profiler.phase("work")
    def work() -> None:
        meeting.wait()
        with profiler.phase("inner"):
            meeting.wait()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    process = recorded(profiler)
    assert {name: process.phases[name].visits for name in ("work", "inner")} == {"work": 4, "inner": 4}


def test_a_phase_that_is_disabled_records_nothing(make: Callable[..., Profiler], recorded: Read) -> None:
    profiler = make()
    profiler.enabled = False

    @profiler.phase("off")
    def off() -> int:
        return 1

    assert off() == 1
    profiler.enabled = True
    assert "off" not in recorded(profiler).phases


def test_disabled_in_the_middle_of_a_phase(profiler: Profiler, recorded: Read) -> None:
    with profiler.phase("outer"):
        profiler.enabled = False
        with profiler.phase("inner"):
            pass
        profiler.enabled = True
    with profiler.phase("next"):
        pass

    assert set(recorded(profiler).phases) == {"outer", "next"}


def test_items_are_counted_from_the_result(profiler: Profiler) -> None:
    @profiler.phase("collect", items=len)
    def collect() -> list[int]:
        return [1, 2, 3]

    assert collect() == [1, 2, 3]


def test_an_items_function_that_raises_breaks_nothing(profiler: Profiler) -> None:
    @profiler.phase("collect", items=lambda result: 1 / 0)
    def collect() -> str:
        return "done"

    assert collect() == "done"


@pytest.mark.parametrize("wrong", [3, b"train", ["train"]])
def test_a_name_that_is_no_text_is_refused(profiler: Profiler, wrong: object) -> None:
    with pytest.raises(UsageError, match="phase name must be a non-empty string"):
        profiler.phase(wrong)  # type: ignore[arg-type]


def test_a_class_is_refused_because_it_would_become_a_function(profiler: Profiler) -> None:
    with pytest.raises(UsageError, match="decorates a function or method"):

        @profiler.phase("cls")
        class Wrong:
            pass


def test_a_block_without_a_name_is_refused(profiler: Profiler) -> None:
    with pytest.raises(UsageError, match="needs a name"), profiler.phase():
        pass
