"""Seed 000: named objects sized every N epochs, their growth an epoch, a threshold, and the keys of a trainer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from seed_programs import generations

from phaseprof import Profiler
from phaseprof.errors import UsageError
from phaseprof.integrations import wandb

Config = dict[str, object]
HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])}


def tracked(name: str, target: object, epochs: int = 8, grow: Callable[[int], object] = lambda turn: None) -> Profiler:
    profiler = Profiler(budget=None)  # an epoch of the tests takes no time of which measuring could have a share
    profiler.track(name, target)
    generations(profiler, range(epochs), rollout=grow)
    profiler.close()
    return profiler


def sizes(profiler: Profiler) -> dict[str, dict[str, object]]:
    report = profiler.report().to_dict()["tracked"]
    return {one["name"]: one for one in report["sizes"]}  # type: ignore[index]


def test_000_01_memory_tracking_enabled() -> None:
    assert Profiler.from_config({"memory_tracking_enabled": False}).settings.enabled is False


def test_000_02_memory_report_interval(capsys: pytest.CaptureFixture[str]) -> None:
    profiler = Profiler.from_config({"memory_report_interval": 20})
    experience: list[bytearray] = []
    profiler.track("experience", lambda: experience)
    generations(profiler, range(60), rollout=lambda _: experience.append(bytearray(100_000)))
    profiler.close()

    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if "Epoch" in line] == [
        "Memory Report - Epoch 19", "Memory Report - Epoch 39", "Memory Report - Epoch 59",
    ]  # fmt: skip
    for size in (" 2.00 MB", " 4.00 MB", " 6.00 MB"):  # of the epoch that is named, not of one before
        assert size in shown


def test_000_03_the_default_interval_is_a_hundred() -> None:
    assert Profiler.from_config({"memory_tracking_enabled": True}).settings.report_every == 100


def test_000_04_sizes_of_a_report_are_of_its_epoch_however_seldom_names_are_sized(
    capsys: pytest.CaptureFixture[str],
) -> None:
    profiler = Profiler(track_every=10, report_every=7)
    stats: list[bytearray] = []
    profiler.track("stats", lambda: stats)
    generations(profiler, range(7), rollout=lambda _: stats.append(bytearray(1_000_000)))
    profiler.close()

    assert "7.00 MB" in capsys.readouterr().out


@pytest.mark.parametrize(("each", "is_suspect"), [(1_020_000, True), (980_000, False)])
def test_000_05_memory_leak_threshold_mb(each: int, is_suspect: bool) -> None:
    profiler = Profiler(leak_threshold_mb=1.0)
    experience: list[bytearray] = []
    profiler.track("experience", lambda: experience)
    generations(profiler, range(8), rollout=lambda _: experience.append(bytearray(each)))
    text = str(profiler.report())
    profiler.close()

    assert ("(1.02 MB/epoch)" if is_suspect else " kB/epoch)") in text  # in the unit of the threshold
    assert ("WARNING: Potential memory leaks" in text) is is_suspect


def test_000_06_the_experience_buffer_and_its_parts() -> None:
    np = pytest.importorskip("numpy")
    obs = np.zeros((64, 1000), np.float32)

    one = sizes(tracked("experience.obs", lambda: obs))["experience.obs"]

    assert one["size_bytes"] == pytest.approx(256_000, rel=0.01)
    assert one["growth_bytes"] == 0


def test_000_07_recurrent_states() -> None:
    states: dict[int, bytearray] = {}

    one = sizes(tracked("lstm_h", lambda: states, 8, lambda t: states.update({t: bytearray(100_000)})))["lstm_h"]

    assert one["growth_bytes_per_epoch"] == pytest.approx(100_000, rel=0.01)


def test_000_08_stats_losses_and_evaluations() -> None:
    stats: dict[str, list[float]] = {}

    one = sizes(tracked("trainer.stats", lambda: stats, 8, lambda t: stats.update({f"m{t}": [0.5 * t] * 100})))

    each = sys.getsizeof([0.5] * 100) + sys.getsizeof(0.5) + sys.getsizeof("m0")
    assert one["trainer.stats"]["growth_bytes"] == pytest.approx(7 * each, rel=0.2)  # the dict's own table grows, too


def test_000_09_state_dicts_stay_constant() -> None:
    torch = pytest.importorskip("torch")
    policy = torch.nn.Linear(500, 500)

    one = sizes(tracked("policy.state_dict", lambda: policy.state_dict()))["policy.state_dict"]

    assert one["size_bytes"] == pytest.approx(4 * 500 * 501, rel=0.02)
    assert one["growth_bytes"] == 0


def test_000_10_what_is_none_takes_nothing() -> None:
    assert sizes(tracked("wandb_run", lambda: None))["wandb_run"]["size_bytes"] == 0


def test_000_11_each_name_is_one_line() -> None:
    profiler = Profiler()
    for name in ("experience", "trainer.stats", "policy_store", "curriculum"):
        profiler.track(name, lambda: [1, 2, 3])
    generations(profiler, range(2), rollout=lambda _: None)
    profiler.close()

    assert len(sizes(profiler)) == 4


@pytest.mark.parametrize(
    "config",
    [
        {"trainer": {"memory_tracking_enabled": True, "memory_report_interval": 50, "batch_size": 512}, "seed": 1},
        {"memory_report_interval": "50"},
    ],
)
def test_000_12_keys_under_trainer(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Profiler.from_config(config).settings.report_every == 50


def test_000_12_a_slip_in_a_key_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'memory_report_interval'"):
        Profiler.from_config({"trainer": {"memory_report_intervall": 5}})


def test_000_13_the_layout_of_the_report() -> None:
    replay: list[bytearray] = []
    profiler = tracked("replay", lambda: replay, 8, lambda _: replay.append(bytearray(1_000_000)))

    lines = str(profiler.report()).splitlines()
    start = lines.index("Memory Report - Epoch 7")

    assert set(lines[start - 1]) == set(lines[start + 1]) == {"="}
    assert lines[start + 3] == "Current Memory Usage:"
    assert "Memory Growth:" in lines[start:]


def test_000_14_growth_an_epoch() -> None:
    replay: list[bytearray] = []
    profiler = tracked("replay", lambda: replay, 6, lambda _: replay.append(bytearray(1_000_000)))

    assert "(1.00 MB/epoch)" in str(profiler.report())


def test_000_15_the_warning_names_what_grows_over_the_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    profiler = Profiler.from_config({"memory_report_interval": 5})
    replay: list[bytearray] = []
    profiler.track("replay", lambda: replay)
    profiler.track("policy_store", lambda: 7)
    generations(profiler, range(10), rollout=lambda _: replay.append(bytearray(6_000_000)))
    in_time = capsys.readouterr().out
    profiler.close()

    warning = "WARNING: Potential memory leaks detected in: ['replay']"
    assert in_time.count(warning) == 2  # in each periodic report, not only at the end
    assert warning in str(profiler.report())


def test_000_16_what_levelled_off_is_not_warned_about() -> None:
    replay: list[bytearray] = []
    fill = lambda turn: replay.append(bytearray(30_000_000)) if turn < 4 else None  # noqa: E731
    profiler = tracked("replay", lambda: replay, 16, fill)

    assert "(6.00 MB/epoch)" in str(profiler.report())  # over the threshold of 5, all in all
    assert "WARNING" not in str(profiler.report())


def test_000_17_the_keys_of_weights_and_biases() -> None:
    replay: list[bytearray] = []
    profiler = tracked("replay", lambda: replay, 6, lambda _: replay.append(bytearray(1_000_000)))

    figures = wandb.scalars(profiler)

    assert figures["memory/replay/size_mb"] == pytest.approx(6, rel=0.01)
    assert figures["memory/replay/growth_mb_per_epoch"] == pytest.approx(1, rel=0.01)


def test_000_18_states_for_environments_that_do_not_exist_are_found() -> None:
    # In a process of its own: what other tests leave free in this one's heap would hide what is kept.
    code = """
from phaseprof import Profiler
from seed_programs import generations
states, profiler = {}, Profiler(budget=None)
generations(profiler, range(12), rollout=lambda t: states.update({t: [float(i) for i in range(30_000)]}))
print(*[(found.verdict, found.phase, found.holder[0].partition(" (")[0]) for found in profiler.findings()])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=HERE, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stdout.strip() == "('leak', 'rollout', 'module __main__.states')", done.stderr
