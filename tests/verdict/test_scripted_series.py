"""Scripted series, each with its verdict, and the near misses on both sides of every threshold."""

from __future__ import annotations

import time

import numpy as np
import pytest

from phaseprof.errors import UsageError
from phaseprof.verdict import judge


def ramp(n, start=0, slope=1):
    return [max(0, i - start) * slope for i in range(n)]


def fill(n, full):
    return [min(i, full) for i in range(n)]


def stairs(n, period):
    return [(i + 1) // period for i in range(n)]


def teeth(n, period, leak=0.0):
    return [i % period + leak * i for i in range(n)]


def noise(n, seed=0, scale=1.0):
    return scale * np.random.default_rng(seed).standard_normal(n)


def imports(then):
    return [*([0] * 5), *([900] * 5), *([2900] * 5), *then]


def memo(n, cells=64, seed=0):
    rng, seen, out = np.random.default_rng(seed), set(), []
    for _ in range(n):
        seen.update(rng.integers(0, cells, cells).tolist())
        out.append(len(seen))
    return out


def vocabulary(n, seed=0, new=0):
    """Distinct words of a Zipf law over 2,000, and ``new`` more a generation that never come again."""
    rng, seen, out = np.random.default_rng(seed), set(), []
    chance = 1 / np.arange(1, 2001) ** 1.1
    for generation in range(n):
        seen.update(rng.choice(2000, 16_000, p=chance / chance.sum()).tolist())
        out.append(len(seen) + new * (generation + 1))
    return out


WARM_UP = np.cumsum([5, 3, 9, 1, 4, 6])
UNEVEN = np.cumsum([i * 7 % 10 < 4 for i in range(40)])
LEAKS = {
    "line of 7": ramp(7),
    "line of 10": ramp(10, slope=5),
    "line of 1000": ramp(1000),
    "line at terabytes": [10**12 + 512 * i for i in range(10)],
    "step every 2nd, 10": stairs(10, 2),
    "step every 3rd, 10": stairs(10, 3),
    "step every 3rd, 36": stairs(36, 3),
    "step every 10th, third step just seen": stairs(30, 10),
    "uneven steps": UNEVEN[:36],
    "quadratic": [i * i for i in range(10)],
    "saturating start, then a line": vocabulary(30, new=60),
    "three imports, then one object each": imports(range(4800, 4820)),
    "saturating start, then a line, early": vocabulary(14, new=60),
    "line beside a buffer that is full at 10": [100 * min(i, 10) + 3 * i for i in range(20)],
    "a byte a generation beside gigabytes": [10**9 * min(i, 10) + i for i in range(40)],
    "flat, then a line": ramp(35, start=20),
    "warm-up, flat, then a line": [*WARM_UP, *[28] * 14, *range(29, 41)],
    "quadratic while the buffer fills, then a line": np.cumsum([min(i, 5) for i in range(36)]),
    "line with one spike": [i + 500 * (i == 6) for i in range(20)],
    "line with a spike of two": [i + 500 * (i in (6, 7)) for i in range(20)],
    "line with a spike of three": [i + 500 * (i in (6, 7, 8)) for i in range(30)],
    "line with one release": [i - 5 * (i > 15) for i in range(40)],
    "line after a big release": [100] * 10 + list(range(20)),
    "sawtooth, then a line that outgrows its cycles": [*teeth(20, 4), *range(20)],
    "sawtooth, floor rises": teeth(17, 5, leak=0.5),
    "sawtooth, floor rises by little": teeth(60, 5, leak=0.01),
    "line in white noise of its slope": np.arange(30) + noise(30),
    "line in white noise of three slopes": np.arange(60) + noise(60, scale=3),
    "bend in white noise": 5 * np.minimum(np.arange(60), 20) + np.arange(60) + noise(60),
    "noisy stairs": np.arange(100) // 10 * 10 + noise(100, scale=0.5),
    "random walk with drift": np.arange(100) + noise(100).cumsum(),
    "line that leaps at its end": [*range(30), 5000],
    "leaps every tenth, crumbs between": [5000 * ((i + 1) // 10) + i * 7 % 5 // 4 + i // 3 for i in range(50)],
    "one leap in a line": [i + 5000 * (i > 20) for i in range(40)],
}
HEALTHY = {
    "constant": ([7] * 10, "stable"),
    "constant at zero": ([0] * 30, "stable"),
    "falls": (list(range(30, 0, -1)), "stable"),
    "one spike": ([0] * 10 + [50] + [0] * 10, "stable"),
    "spike of two": ([0] * 10 + [50, 60] + [0] * 10, "stable"),
    "spikes with a period": ([50 * (i % 6 == 5) for i in range(35)], "stable"),
    "wobbles by one": ([100 + (i * 7 % 10 < 3) for i in range(30)], "stable"),
    "one step": ([0] * 10 + [5] * 10, "step"),
    "one step, just seen": ([0] * 9 + [5], "step"),
    "two steps": ([0] * 10 + [5] * 10 + [9] * 10, "step"),
    "second step of ten, just seen": (stairs(20, 10), "step"),
    "warm-up of six, 10": ([*WARM_UP, *[28] * 4], "plateau"),
    "warm-up of six, 30": ([*WARM_UP, *[28] * 24], "plateau"),
    "first reading low": ([0] + [70] * 20, "stable"),
    "buffer full at 8, 30": (fill(30, 8), "plateau"),
    "buffer full at 10, 30": (fill(30, 10), "plateau"),
    "buffer full at 10, 14": (fill(14, 10), "plateau"),
    "buffer full at 400 of 600": (fill(600, 400), "plateau"),
    "memo completes, 10": (memo(10), "plateau"),
    "memo completes, 30": (memo(30), "plateau"),
    "three imports, then one object": (imports([4800] * 12 + [4801] * 6), "plateau"),
    "vocabulary, 20": (vocabulary(20), "plateau"),
    "vocabulary, 40": (vocabulary(40), "plateau"),
    "exponential approach": ((1e6 * (1 - np.exp(-np.arange(40) / 5))).round(), "plateau"),
    "logarithm": ((1000 * np.log(1 + np.arange(30))).round(), "growing"),
    "sawtooth of five": (teeth(40, 5), "sawtooth"),
    "sawtooth, the last cycle is not over": ([*teeth(40, 5), *range(14)], "sawtooth"),
    "sawtooth of five, two floors": (teeth(12, 5), "sawtooth"),
    "sawtooth, uneven": ([t for k in (5, 8, 6, 7, 5, 8) for t in range(k)], "sawtooth"),
    "first tooth just ended": ([*range(12), 0, 1], "sawtooth"),
    "three imports, crumbs between that end": (
        [5000 * sum(i >= at for at in (6, 11, 16)) + min(i, 20) for i in range(40)], "plateau"
    ),
    "two leaps, crumbs that die away": (
        [90_000 * (i > 9) + 900_000 * (i > 23) + int(100 * (1 - 0.8**i)) for i in range(40)], "step"
    ),
    "white noise": (noise(100), "stable"),
    "noisy step": (np.repeat([0, 20], 30) + noise(60), "step"),
    "noisy buffer fills": (np.minimum(np.arange(60), 20) * 5 + noise(60), "plateau"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_leak_is_found(name):
    assert judge(LEAKS[name]).verdict == "leak"


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_series_has_its_word(name):
    values, verdict = HEALTHY[name]

    assert judge(values).verdict == verdict


@pytest.mark.parametrize("n", range(6))
def test_five_readings_are_too_short(n):
    found = judge(ramp(n))

    assert (found.verdict, found.confidence, found.n) == ("too short", 0.0, n)


def test_six_readings_are_growing_at_most():
    assert judge(ramp(6)).verdict == "growing"


@pytest.mark.parametrize("n", range(10, 41))
def test_vocabulary_is_no_leak_at_any_length(n):
    assert judge(vocabulary(n, seed=n)).verdict != "leak"


@pytest.mark.parametrize("n", range(9, 37))
def test_warm_up_is_no_leak_at_any_length(n):
    assert judge([*WARM_UP, *[28] * 30][:n]).verdict != "leak"


@pytest.mark.parametrize("n", range(11, 41))
def test_full_buffer_is_no_leak_from_the_first_flat_reading(n):
    assert judge(fill(n, n - 2 if n < 13 else 10)).verdict != "leak"


@pytest.mark.parametrize("n", range(14, 41))
def test_uneven_steps_are_never_at_rest(n):
    assert judge(UNEVEN[:n]).verdict in ("leak", "growing")


def test_slope_of_exact_line_is_exact():
    found = judge([88_064 * i for i in range(30)])

    assert (found.slope, found.slope_low, found.slope_high) == (88_064, 88_064, 88_064)


def test_slope_beside_full_buffer_is_that_of_the_leak():
    assert judge([100 * min(i, 10) + 3 * i for i in range(40)]).slope == 3


def test_slope_of_superlinear_growth_is_the_recent_one():
    found = judge([i * i for i in range(30)])

    assert found.shape == "superlinear"
    assert 45 < found.slope < 58


def test_slope_of_plateau_is_zero():
    found = judge(fill(40, 10))

    assert found.slope == 0


def test_slope_of_sawtooth_is_that_of_its_floor():
    assert judge(teeth(60, 5, leak=0.25)).slope == pytest.approx(0.25)


def test_interval_holds_the_slope_under_noise():
    found = judge(np.arange(60) + noise(60, scale=3))

    assert found.slope_low < 1 < found.slope_high


def test_growth_is_the_rise_of_the_judged_part():
    found = judge(ramp(13, slope=2))

    assert (found.warm_up, found.n, found.growth) == (3, 10, 18)


@pytest.mark.parametrize(("values", "since"), [(ramp(30), 0), (ramp(35, start=20), 20), (stairs(30, 3), 5)])
def test_begin_of_growth(values, since):
    assert judge(values).since == since


def test_begin_of_growth_under_noise():
    assert judge(np.maximum(np.arange(80) - 40, 0) * 5 + noise(80)).since == pytest.approx(40, abs=4)


def test_begin_is_a_generation_not_an_index():
    assert judge(ramp(35, start=20), generations=range(100, 450, 10)).since == 300


def test_no_growth_has_no_begin():
    assert judge([3] * 20).since is None


def test_gap_in_generations_keeps_the_slope():
    generations = [0, 1, 2, 3, 7, 8, 9, 20, 21, 22, 23]

    assert judge([5 * g for g in generations], generations=generations).slope == 5


@pytest.mark.parametrize("length", [2, 5, 40])
@pytest.mark.parametrize("start", [4, 7, 12])
def test_steady_growth_stays_a_leak_where_nobody_looked_for_a_while(start, length):
    """What grew in between is no jump, and that nobody looked is no stand."""
    turns = [turn for turn in range(16 + length) if not start <= turn < start + length]

    found = judge([128_000 * turn + turn % 3 for turn in turns], generations=turns)

    assert (found.verdict, found.since) == ("leak", 0)


@pytest.mark.parametrize(("n_after", "verdict"), [(2, "growing"), (6, "growing")])
def test_growth_that_may_have_ended_where_nobody_looked_is_no_leak_yet(n_after, verdict):
    """What a buffer that is full still gains is a trickle."""
    turns = [*range(8), *range(20, 20 + n_after)]
    values = [min(turn, 17) * 100_000 + max(0, turn - 17) * 50 for turn in turns]

    assert judge(values, generations=turns).verdict == verdict


def test_one_reading_after_a_gap_shows_that_growth_went_on_only_if_it_kept_its_pace():
    turns = [*range(7), 41]

    assert judge([241_000 * min(turn, 24) for turn in turns], generations=turns).verdict == "growing"
    assert judge([241_000 * turn for turn in turns], generations=turns).verdict == "leak"


def test_a_leak_beneath_a_sawtooth_is_one_though_readings_grow_rare():
    """Two are started in every second generation and one of them is ended."""
    turns = [*range(18), 28, 37, 52]

    assert judge([6 + turn // 2 - turn % 2 for turn in turns], generations=turns).verdict == "leak"


def test_a_leak_that_begins_when_readings_have_grown_rare_has_its_own_slope():
    """A trickle of 1 kB, and from the twentieth generation on 1 MB, which four readings show."""
    turns = [*range(14), 15, 17, 19, 27, 35, 44, 54]

    found = judge([1_000 * turn + 1_024_000 * max(0, turn - 20) for turn in turns], generations=turns)

    assert (found.verdict, found.since) == ("leak", 19)
    assert 9e5 < found.slope < 1.1e6


RARE = [*range(14), 15, 17, 19, 23, 27, 31, 39, 48, 52]


@pytest.mark.parametrize("turns", [range(60), RARE])
@pytest.mark.parametrize(("grows_until", "verdict"), [(22, "plateau"), (60, "leak")])
def test_two_levels_in_turns_do_not_hide_what_lies_beneath(turns, grows_until, verdict):
    """Later readings may all be of the higher level: two buffers of 1.8 MB are used in turns."""
    values = [140_000 + 260 * min(turn, grows_until) + 1800 * (turn % 2) for turn in turns]

    assert judge(values, generations=turns).verdict == verdict


def test_a_rise_in_noise_that_ended_half_way_is_seldom_called_a_leak():
    """Two noise widths high: nobody can tell for sure; of six, over all the time, one can."""
    ended = [judge(2 * np.minimum(np.arange(60), 30) / 30 + noise(60, seed)).verdict for seed in range(40)]
    goes_on = [judge(6 * np.arange(60) / 60 + noise(60, seed)).verdict for seed in range(40)]

    assert ended.count("leak") <= 10
    assert goes_on.count("leak") >= 38


def test_a_stand_that_was_seen_ends_what_came_before_though_readings_are_missing():
    turns = [*range(8), 30, *range(60, 70)]
    values = [turn if turn < 8 else 7 + max(0, turn - 60) for turn in turns]

    assert judge(values, generations=turns).since == 60


def test_missing_readings_are_left_out():
    values = [float(i) for i in range(14)]
    values[5] = values[9] = float("nan")

    found = judge(values)

    assert (found.verdict, found.slope, found.n + found.warm_up) == ("leak", 1, 12)


def test_readings_after_collections_make_the_floor():
    """Young collections drop the level too; only full ones, at every sixth reading, show that it rises."""
    rng = np.random.default_rng(3)
    full = np.arange(60) % 6 == 5
    values = np.where(full, np.arange(60), np.arange(60) + 40 * (np.arange(60) % 3 + 1) + rng.integers(0, 20, 60))

    found = judge(values, after_collection=full)

    assert (found.verdict, found.slope) == ("leak", 1)


def test_more_readings_are_more_confident():
    short, long = judge(ramp(10)), judge(ramp(100))

    assert 0.5 < short.confidence < long.confidence <= 1


def test_noise_is_less_confident_than_a_counter():
    assert judge(np.arange(30) + noise(30)).confidence < judge(ramp(30)).confidence


@pytest.mark.parametrize(
    "values", [np.arange(100_000), np.arange(100_000) % 7, noise(100_000), np.arange(100_000) % 7 + noise(100_000) / 9]
)
def test_hundred_thousand_readings_take_under_50_ms(values):
    best = min(_seconds(values) for _ in range(5))

    assert best < 0.05


def _seconds(values):
    begin = time.process_time()
    judge(values)
    return time.process_time() - begin


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"values": [1.0, float("inf")] * 5}, "must be finite"),
        ({"values": [1] * 8, "generations": [1] * 8}, "must increase"),
        ({"values": [1] * 8, "generations": [1, 2]}, "one length"),
        ({"values": [1] * 8, "after_collection": [True]}, "one length"),
    ],
)
def test_bad_arguments_are_refused(arguments, words):
    with pytest.raises(UsageError, match=words):
        judge(arguments.pop("values"), **arguments)
