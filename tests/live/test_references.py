"""Counts of watched classes between two passes over the heap, from how often the classes are referred to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from phaseprof.live.references import MOST_WAITING, References
from phaseprof.live.watching import WatchList


class Follower:
    """References to a class of its own, whose instances are made and dropped at will."""

    def __init__(self, expected: int | None = 2, base: type = object) -> None:
        self.cls = type("Env", (base,), {})
        self.watches = WatchList()
        self.entry = self.watches.add(self.cls, expected)
        self.references = References()
        self.generation = -1
        self.alive: list[object] = []

    def end(self, n: int) -> None:
        """End a generation with so many instances."""
        self.alive = self.alive[:n] + [self.cls() for _ in range(n - len(self.alive))]
        self.generation += 1
        self.references.read(self.generation * 10, self.generation, self.watches.classes())

    def count(self) -> list[tuple[int, int, dict[str, int]]]:
        """Count, as a pass over the heap does."""
        return self.references.take({"Env": len(self.alive)}, self.generation)

    def seems_broken(self) -> bool:
        return self.references.tell_of_a_break([self.entry])


@given(st.lists(st.integers(0, 20), min_size=2, max_size=30))
def test_counts_between_two_passes_follow_from_references(counts: list[int]) -> None:
    follower = Follower()
    follower.end(counts[0])
    assert follower.count() == []

    for n in counts[1:]:
        follower.end(n)

    wanted = [(g * 10, g, {"Env": n}) for g, n in enumerate(counts)]
    assert follower.count() == wanted[1:-1]


def test_instances_of_subclasses_count() -> None:
    follower = Follower()
    sub = type("Sub", (follower.cls,), {})
    follower.end(2)
    follower.count()
    follower.end(2)
    kept = [sub(), sub()]
    follower.end(2)

    assert follower.references.take({"Env": len(follower.alive) + len(kept)}, 2) == [(10, 1, {"Env": 2})]


def test_nothing_is_known_where_something_else_refers_to_the_class() -> None:
    follower, registry = Follower(), []
    follower.end(2)
    follower.count()
    follower.end(2)
    registry.append(follower.cls)
    follower.end(2)
    seemed = follower.seems_broken()

    assert follower.count() == []
    assert seemed  # worth a pass, once: afterwards the class is not followed
    registry.append(follower.cls)
    follower.end(2)
    assert not follower.seems_broken()
    assert follower.count() == []


def test_what_was_broken_when_counted_is_not_worth_another_pass() -> None:
    follower = Follower(expected=2)
    follower.end(2)
    follower.count()
    assert not follower.seems_broken()
    follower.end(3)
    assert follower.seems_broken()
    follower.count()
    follower.watches.update({"Env": 3}, follower.generation)
    follower.end(4)

    assert not follower.seems_broken()


def test_classes_whose_instances_do_not_refer_to_them_are_left_out() -> None:
    watches, references = WatchList(), References()
    watches.add(bytearray, 0)
    for generation in range(3):
        references.read(generation, generation, watches.classes())

    assert not references.tell_of_a_break(watches.entries.values())
    assert references.take({"bytearray": 1}, 2) == []


def test_readings_that_wait_are_bounded_and_the_newest_is_kept() -> None:
    follower = Follower()
    follower.end(1)
    follower.count()
    for _ in range(3 * MOST_WAITING):
        follower.end(1)
    follower.end(1)

    between = follower.count()

    assert len(between) <= MOST_WAITING
    assert between[-1][1] == follower.generation - 1


def test_a_break_is_dated_by_the_generation_in_which_it_came() -> None:
    follower = Follower(expected=1)
    follower.watches.update({"Env": 1}, 0)
    for g, n in ((1, 1), (2, 3), (3, 4)):
        follower.watches.take_earlier({"Env": n}, g)

    (broken,) = follower.watches.update({"Env": 5}, 4)

    assert (broken.since, broken.count) == (2, 5)
