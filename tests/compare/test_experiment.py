from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from phaseprof.analysis.compare import compare
from phaseprof.analysis.experiment import Experiment, judge_experiment
from phaseprof.errors import UsageError
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.report.compare_text import experiment_sentence, experiment_text

KIB = 1024


def make_run(kib: float, n: int = 60, wobble: float = 0.0) -> Run:
    process = ProcessRun()
    for g in range(n):
        process.add(fmt.GenerationBegin(g, g, g))
        level = 5e7 + kib * KIB * g + wobble * KIB * ((g * 7919) % 101 - 50)
        process.add(fmt.Metrics(g, g, {"cuda0/allocated_bytes": level}))
    return Run(None, [process])


def experiment(pairs: Sequence[tuple[str, float]], *, name: str = "seq_len", wobble: float = 0.0) -> Experiment:
    runs = [make_run(kib, wobble=wobble) for _, kib in pairs]
    compared = compare(runs, [f"run{at}" for at in range(len(pairs))])
    return judge_experiment(compared, [{name: value} for value, _ in pairs])


@pytest.mark.parametrize(
    ("pairs", "scaling"),
    [
        ([("50", 100), ("25", 50)], "proportional"),
        ([("25", 50), ("50", 103)], "proportional"),
        ([("25", 51), ("50", 100), ("100", 199)], "proportional"),
        ([("50", 100), ("25", 100)], "independent"),
        ([("50", 100), ("25", 98), ("100", 101)], "independent"),
        ([("50", 100), ("25", 75)], "partly"),
        ([("50", 100), ("25", 25)], "partly"),
        ([("50", 100), ("25", 0)], "only where"),
        ([("50", 0), ("25", 0)], "independent"),
        ([("on", 100), ("off", 0)], "does not apply"),
    ],
)
def test_scaling(pairs: Sequence[tuple[str, float]], scaling: str) -> None:
    assert experiment(pairs).scaling == scaling


def test_halving_the_sequence_halves_the_slope() -> None:
    found = experiment([("50", 100), ("25", 50)])

    assert found.exponent is not None
    assert found.exponent[0] == pytest.approx(1.0)
    assert "Growth scales with seq_len" in experiment_sentence(found)


def test_offset_is_found_from_three_values() -> None:
    found = experiment([("10", 60), ("20", 70), ("40", 90)])

    assert found.offset_share == pytest.approx(50 / 60, abs=0.02)
    assert "does not depend on it" in experiment_sentence(found)


def test_wide_intervals_decide_nothing() -> None:
    found = experiment([("50", 100), ("40", 80)], wobble=30)

    assert found.scaling == "undecided"
    assert "not decided" in experiment_sentence(found)


def test_two_settings_at_once_cannot_be_told_apart() -> None:
    settings = [{"seq_len": "50", "batch": "8"}, {"seq_len": "25", "batch": "4"}]

    found = judge_experiment(compare([make_run(100), make_run(50)], ["a", "b"]), settings)

    assert found.scaling == "does not apply"
    assert "seq_len and batch changed together" in experiment_sentence(found)


def test_constant_settings_beside_the_one_that_differs_do_not_matter() -> None:
    settings = [{"seq_len": "50", "batch": "8"}, {"seq_len": "25", "batch": "8"}]

    assert judge_experiment(compare([make_run(100), make_run(50)], ["a", "b"]), settings).parameter == "seq_len"


def test_no_setting_differs() -> None:
    with pytest.raises(UsageError, match="a setting must differ"):
        judge_experiment(compare([make_run(1), make_run(1)], ["a", "b"]), [{"a": "1"}, {"a": "1"}])


def test_missing_setting_is_named() -> None:
    with pytest.raises(UsageError, match="b has no value for 'a'"):
        judge_experiment(compare([make_run(1), make_run(1)], ["a", "b"]), [{"a": "1"}, {}])


def test_text_shows_the_setting_beside_each_run() -> None:
    text = experiment_text(experiment([("50", 100), ("25", 50)]))

    assert "seq_len" in text.splitlines()[2]
    assert any(line.split()[:2] == ["run1", "25"] for line in text.splitlines())


def test_json_ready() -> None:
    document = json.loads(json.dumps(experiment([("50", 100), ("25", 50)]).to_dict()))

    assert document["format"] == 1
    assert document["values"] == ["50", "25"]
