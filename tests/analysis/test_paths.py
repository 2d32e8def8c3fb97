"""Holder paths in words: names as a program writes them, one place a line."""

from __future__ import annotations

import pytest

from phaseprof.analysis.paths import place_of_growth, places_of


def words(*steps: str) -> list[str]:
    return [str(place) for place in places_of(steps)]


def test_a_local_of_a_running_function() -> None:
    steps = ("main.py run_demo() local trainer (Trainer)", ".used_envs (list, 192)", "[...] TradingEnvironment")

    assert words(*steps) == [
        "trainer (Trainer), a local of run_demo() in main.py",
        "trainer.used_envs (list of 192)",
        "trainer.used_envs[...] (TradingEnvironment)",
    ]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("module __main__.kept (list, 8)", "kept (list of 8), a global of the main program"),
        ("module envs.trading.CACHE (dict, 1,204)", "CACHE (dict of 1,204), a global of envs.trading"),
        ("train.py <module>() local losses (list, 5)", "losses (list of 5), a local of <module>() in train.py"),
        ("module words", "words, a module"),
        ("? (list, 64)", "... (list of 64), where the search for its holder stopped"),
        ("unknown holder (list, 64)", "... (list of 64), where the search for its holder stopped"),
        ("unknown holder array", "... (array), where the search for its holder stopped"),
        ("(Trainer)", "(Trainer)"),
        ("atexit or another C registry (list, 3)", "atexit or another C registry (list of 3)"),
    ],
)
def test_roots(step: str, said: str) -> None:
    assert words(step) == [said]


def test_a_link_that_is_no_attribute_says_from_where_it_was_reached() -> None:
    told = words("module m.run (function run)", "closure variable losses (list, 5)", "[-1] Tensor")

    assert told[1:] == ["losses (list of 5), closure variable reached from run", "losses[-1] (Tensor)"]


def test_a_cache_and_a_step_that_repeats() -> None:
    assert words("module m.f (lru_cache, 30 entries)", ".cause (Error) x14") == [
        "f (lru_cache of 30), a global of m", "f.cause (Error x14)",
    ]  # fmt: skip


def test_a_long_name_keeps_its_end() -> None:
    (*_, last) = words("module m.trainer (Trainer)", *(f".attribute_{n} (Part)" for n in range(9)))

    assert last.startswith("...")
    assert last.endswith("attribute_8 (Part)")


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        (("module m.t (Trainer)", ".registry (dict, 3)", "['a'] (list, 900)", "[...] Env"), "t.registry['a']"),
        (("module m.t (Trainer)", ".state (Tensor)", "[0] Node"), "t.state"),
        (("module m.t (Trainer)",), "t"),
        (("module m.model (Net)", ".state (Tensor)", "autograd graph (Tensor)"), "model.state"),
        (("outside Python (Tensor)",), ""),
        (("train.py main() local ? (list, 64)", "[...] Env"), ""),
        ((), ""),
    ],
)
def test_the_place_to_change_is_the_one_with_the_most_items(steps: tuple[str, ...], name: str) -> None:
    assert place_of_growth(steps) == name


def test_what_is_known_to_grow_is_named_though_one_of_its_items_is_larger() -> None:
    steps = ("module __main__.t (Trainer)", ".kept (list, 4)", "[3] (list, 1,600)", "[0] Episode")

    assert place_of_growth(steps) == "t.kept[3]"
    assert place_of_growth(steps, "builtins.list", 4) == "t.kept"


@pytest.mark.parametrize(("container", "length"), [("", -1), ("builtins.list", 16)])
def test_one_of_many_lists_in_a_list_is_not_what_a_program_must_bound(container: str, length: int) -> None:
    steps = ("module __main__.t (Trainer)", ".kept (list, 14)", "[4] (list, 16)", "[...] (Agent)")

    assert place_of_growth(steps, container, length) == "t.kept"


def test_what_an_item_of_a_list_keeps_is_named_as_its_own() -> None:
    steps = ("module __main__.t (Trainer)", ".agents (list, 16)", "[3] (Agent)", ".losses (list, 900)", "[...] float")

    assert place_of_growth(steps) == "t.agents[3].losses"
