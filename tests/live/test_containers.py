"""Containers compared from one walk to the next, on scripted lengths."""

from __future__ import annotations

from phaseprof.live.containers import ContainerWatch
from phaseprof.live.suspicion import RECENT


def walked(*generations: dict[int, int], kind: str = "list") -> ContainerWatch:
    """A watch that took in one walk a generation: identity to length."""
    watch = ContainerWatch()
    for generation, lengths in enumerate(generations):
        watch.see({identity: (kind, length, 8 * length) for identity, length in lengths.items()}, generation)
    return watch


def test_what_is_longer_grows() -> None:
    watch = walked({1: 5, 2: 5}, {1: 6, 2: 5})

    assert list(watch.growing) == [1]
    assert watch.growing[1].history == [(0, 5), (1, 6)]


def test_a_walk_that_finds_it_no_longer_does_not_end_it() -> None:
    watch = walked({1: 5}, {1: 6}, {1: 6}, {1: 9})

    assert watch.growing[1].history == [(0, 5), (1, 6), (3, 9)]


def test_what_shrank_is_innocent() -> None:
    assert walked({1: 5}, {1: 6}, {1: 4}).growing == {}


def test_what_shrank_begins_anew() -> None:
    assert walked({1: 5}, {1: 6}, {1: 4}, {1: 5}).growing[1].history == [(2, 4), (3, 5)]


def test_what_is_gone_is_forgotten() -> None:
    assert walked({1: 5}, {1: 6}, {}, {1: 9}).growing == {}


def test_another_type_at_the_same_address_is_another_container() -> None:
    watch = walked({1: 5}, {1: 6})

    watch.see({1: ("set", 9, 0)}, 2)

    assert watch.growing[1].kind == "set"
    assert watch.growing[1].history == [(1, 6), (2, 9)]


def test_the_length_at_the_newest_look_is_known_of_what_grows_no_more() -> None:
    watch = walked({1: 5, 2: 5}, {1: 6}, {1: 6})

    assert [watch.length_of(identity, may_hide=False) for identity in (1, 2)] == [6, 0]


def test_a_look_at_tracked_ones_says_nothing_of_dicts_that_are_not() -> None:
    watch = walked({1: 5, 2: 5}, {1: 6, 2: 6}, kind="dict")

    watch.see({2: ("dict", 7, 0)}, 2, whole=False)
    hidden = watch.length_of(1, may_hide=True)
    watch.see({1: ("dict", 9, 0), 2: ("dict", 7, 0)}, 3)

    assert hidden is None
    assert watch.growing[1].history == [(0, 5), (1, 6), (3, 9)]


def test_a_look_at_tracked_ones_misses_no_list() -> None:
    watch = walked({1: 5}, {1: 6})

    watch.see({}, 2, whole=False)

    assert watch.growing == {}
    assert watch.length_of(1, may_hide=False) == 0


def test_the_history_is_bounded() -> None:
    watch = walked(*({1: n} for n in range(100)))

    assert len(watch.growing[1].history) == RECENT + 1
    assert watch.growing[1].history[-1] == (99, 99)


def test_the_steadiest_grew_at_three_walks() -> None:
    three = walked({1: 1, 2: 1}, {1: 2, 2: 2}, {1: 3, 2: 3}, {1: 4, 2: 3})

    assert [identity for identity, _ in three.steadiest(9)] == [1]
    assert [identity for identity, _ in three.steadiest(9, least_walks=2)] == [1, 2]


def test_those_that_gained_most_go_first() -> None:
    watch = walked(*({1: 10 * n, 2: 1000 + n, 3: 100 * n} for n in range(1, 6)))

    assert [identity for identity, _ in watch.steadiest(2)] == [3, 1]
