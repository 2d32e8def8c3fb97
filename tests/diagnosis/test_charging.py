"""Each byte that came between two looks is charged once, to where it is kept."""

from __future__ import annotations

import gc
import sys
import types
from collections import deque
from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from phaseprof.diagnosis.charging import PILE_OF_MODULES, Growth, Kept, charge, keeper_of_graphs, seen_once, waiting
from phaseprof.native.places import read_places, resolve


class Agent:
    def __init__(self) -> None:
        self.history: list[object] = []
        self.weights = [0.5] * 10


class Trainer:
    def __init__(self) -> None:
        self.agents = [Agent() for _ in range(16)]
        self.environments: list[Agent] = []
        self.table = np.zeros(1000)
        self.recent: deque[object] = deque(maxlen=50)


def grown(trainer: Trainer, change: Callable[[], None], *, least_bytes: int = 1000) -> list[Growth]:
    roots = {"trainer": trainer}
    before = Kept(read_places(roots))
    change()
    return charge(before, read_places(roots), least_bytes=least_bytes, most=8)


def path_to(trainer: Trainer, growth: Growth) -> list[str]:
    return [step.name for step in resolve([growth.place], {"trainer": trainer})[growth.place]]


def test_histories_of_agents_that_are_as_many_as_before() -> None:
    trainer = Trainer()

    (found,) = grown(trainer, lambda: [agent.history.append(np.zeros(500)) for agent in trainer.agents])  # type: ignore[func-returns-value]

    assert (found.type_name, found.n_places) == ("list", 16)
    assert path_to(trainer, found)[-1] == "history"
    assert [(part.type_name, part.n_objects) for part in found.direct] == [("numpy.ndarray", 16)]
    assert found.n_bytes >= 16 * 4000


def test_what_piles_up_takes_what_it_holds_along() -> None:
    trainer = Trainer()

    def pile_up() -> None:
        for _ in range(5):
            trainer.environments.append(Agent())
            trainer.environments[-1].history.append(np.zeros(2000))

    (found,) = grown(trainer, pile_up)

    assert path_to(trainer, found) == ["trainer", "environments"]
    assert [part.type_name.rpartition(".")[2] for part in found.direct] == ["Agent"]
    assert found.direct[0].n_objects == 5
    assert found.direct[0].n_bytes >= 5 * 16_000
    assert found.inside[0].type_name == "numpy.ndarray"


def test_an_array_that_is_made_anew_and_larger_is_charged_to_itself() -> None:
    trainer = Trainer()

    (found,) = grown(trainer, lambda: setattr(trainer, "table", np.zeros(5000)))

    assert (found.type_name, found.n_bytes) == ("numpy.ndarray", 32_000)
    assert path_to(trainer, found) == ["trainer", "table"]


def test_a_full_buffer_brought_nothing() -> None:
    trainer = Trainer()
    for _ in range(60):
        trainer.recent.append(np.zeros(1000))

    def go_on() -> None:
        for _ in range(60):
            trainer.recent.append(np.zeros(1000))
        trainer.environments.append(Agent())

    assert all(path_to(trainer, growth)[1] == "environments" for growth in grown(trainer, go_on, least_bytes=100))


def test_two_that_grow_are_two() -> None:
    trainer = Trainer()

    def both() -> None:
        trainer.environments.extend(Agent() for _ in range(20))
        trainer.table = np.zeros(3000)

    assert {path_to(trainer, growth)[1] for growth in grown(trainer, both)} == {"environments", "table"}


@settings(max_examples=25, deadline=None)
@given(
    kept=st.lists(st.integers(0, 40), min_size=16, max_size=16), dropped=st.integers(0, 16),
    piled=st.integers(0, 30), size=st.integers(1, 4000),
)  # fmt: skip
def test_shares_add_up(kept: list[int], dropped: int, piled: int, size: int) -> None:
    trainer = Trainer()
    for agent in trainer.agents:
        agent.history = [[0.5] * 30 for _ in range(5)]
    roots = {"trainer": trainer}
    before = read_places(roots)

    for agent, n in zip(trainer.agents, kept, strict=True):
        agent.history.extend([1.5] * 20 for _ in range(n))
    for agent in trainer.agents[:dropped]:
        agent.history.clear()
    trainer.environments.extend(Agent() for _ in range(piled))
    trainer.table = np.zeros(size)
    after = read_places(roots)

    came = sum(growth.n_bytes for growth in charge(Kept(before), after, least_bytes=-(10**9), most=len(after)))
    assert came == int(after.own_bytes.sum()) - int(before.own_bytes.sum())


def test_a_single_look_charges_what_is_many_to_what_holds_it() -> None:
    trainer = Trainer()
    trainer.environments += [Agent() for _ in range(40)]
    table = read_places({"trainer": trainer})

    grown = charge(seen_once(table), table, least_bytes=1000, most=3)

    assert [path_to(trainer, one)[-1] for one in grown] == ["environments", "table", "agents"]


class Ring:
    def __init__(self) -> None:
        self.itself, self.weights = self, np.zeros(300)


def test_rings_that_no_root_reaches_wait() -> None:
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for _ in range(400):  # so many that what a walk in Python makes for itself is less
            Ring()
        found = waiting(read_places())
        waits = {part.type_name.rpartition(".")[2]: part for part in found.parts}
    finally:
        if was_on:
            gc.enable()

    assert waits["Ring"].n_objects == 400
    assert waits["ndarray"].n_bytes >= 400 * 2400
    assert found.n_objects >= 800 and found.n_bytes >= sum(part.n_bytes for part in found.parts)


def test_what_no_tensor_keeps_has_no_graphs() -> None:
    assert keeper_of_graphs(read_places({"trainer": Trainer()})) is None


def test_a_module_that_is_imported_is_no_growth() -> None:
    before = Kept(read_places())
    module = types.ModuleType("imported_late")
    module.table = [str(n) * 100 for n in range(2000)]  # type: ignore[attr-defined]
    sys.modules["imported_late"] = module
    try:
        grown = charge(before, read_places(), least_bytes=400_000, most=8)
    finally:
        del sys.modules["imported_late"]

    assert grown == []


def test_modules_of_the_program_that_pile_up_are_charged_together() -> None:
    before = Kept(read_places())
    names = ["candidate_1", "candidate_2"]
    for name in names:
        module = types.ModuleType(name)
        module.table = [str(n) * 100 for n in range(2000)]  # type: ignore[attr-defined]
        sys.modules[name] = module
    try:
        after = read_places()
        (grown,) = charge(before, after, least_bytes=400_000, most=8, is_own=names.__contains__)
        alone = charge(before, after, least_bytes=400_000, most=8, is_own=names[:1].__contains__)
    finally:
        for name in names:
            del sys.modules[name]

    assert (grown.place, grown.direct[0].type_name, grown.direct[0].n_objects) == (PILE_OF_MODULES, "module", 2)
    assert grown.n_bytes == grown.direct[0].n_bytes > 800_000
    assert grown.inside[0].type_name == "str"
    assert alone == []  # one module is an import


def test_a_chain_that_hangs_from_one_name_is_charged_to_the_name() -> None:
    """Each handler is a closure over the one before, as a chain of signal handlers is."""
    module = types.ModuleType("has_a_handler")
    sys.modules["has_a_handler"] = module

    def put_before(handler: object) -> Callable[[], object]:
        state = np.zeros(20_000)
        return lambda: (handler, state)

    module.handler = put_before(put_before(None))  # type: ignore[attr-defined]
    try:
        before = Kept(read_places())
        for _ in range(6):
            module.handler = put_before(module.handler)  # type: ignore[attr-defined]
        (grown,) = charge(before, read_places(), least_bytes=400_000, most=8)
        steps = resolve([grown.place])[grown.place]
    finally:
        del sys.modules["has_a_handler"]

    assert [step.name for step in steps][-1] == "handler"
    assert [(part.type_name, part.n_objects) for part in grown.inside][:1] == [("numpy.ndarray", 6)]
