"""Settings: what comes first wins, and a wrong one says which rule it breaks."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import sys
import warnings
from pathlib import Path

import pytest

from phaseprof import Profiler
from phaseprof.errors import PhaseprofWarning, UsageError
from phaseprof.live.settings import VARIABLES, Settings, from_config, resolve


def project(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_defaults_are_the_documented_ones(tmp_path: Path) -> None:
    found = resolve({}, environ={}, folder=tmp_path)

    assert dataclasses.asdict(found) == {
        "run": None, "enabled": True, "budget": 0.02, "report_every": None, "leak_threshold_mb": 5.0,
        "on_violation": "report", "track_every": 1, "sample_every_s": None, "max_file_mb": None,
        "max_pause": 0.1, "max_look": 2.0, "signals": False, "min_generation_s": 0.5,
    }  # fmt: skip


def test_arguments_before_environment_before_file(tmp_path: Path) -> None:
    folder = project(tmp_path, "[tool.phaseprof]\nbudget = 0.1\ntrack_every = 2\nreport_every = 3\n")
    environ = {"PHASEPROF_TRACK_EVERY": "4", "PHASEPROF_REPORT_EVERY": "5"}

    found = resolve({"report_every": 6}, environ=environ, folder=folder)

    assert (found.budget, found.track_every, found.report_every) == (0.1, 4, 6)


def test_the_file_of_the_working_folder_or_else_of_its_repository_is_read(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    project(tmp_path, "[tool.phaseprof]\nbudget = 0.3\n")

    assert resolve({}, environ={}, folder=inner).budget == 0.3
    project(inner, "[tool.other]\nbudget = 0.4\n")
    assert resolve({}, environ={}, folder=inner).budget == 0.3
    project(inner, "[tool.phaseprof]\nbudget = 0.4\n")
    assert resolve({}, environ={}, folder=inner).budget == 0.4


def test_files_of_other_folders_above_do_not_count(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    inner = repository / "a" / "b"
    inner.mkdir(parents=True)
    (repository / ".git").write_text("gitdir: elsewhere")
    for folder in (tmp_path, inner.parent):
        project(folder, "[tool.phaseprof]\nbudget = 0.3\n")

    assert resolve({}, environ={}, folder=inner) == Settings()
    assert resolve({}, environ={}, folder=tmp_path / "repository") == Settings()


@pytest.mark.parametrize("text", ["not [ toml", "tool = 3", "", "[tool.other]\nbudget = 1\n", "\x00\x01"])
def test_a_file_that_is_not_for_us_is_left_alone(tmp_path: Path, text: str) -> None:
    assert resolve({}, environ={}, folder=project(tmp_path, text)) == Settings()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tool]\nphaseprof = 3\n", r"tool\.phaseprof must be a table"),
        ("[tool.phaseprof]\nbuget = 0.1\n", r"pyproject\.toml \[tool\.phaseprof\]: .*did you mean 'budget'\?"),
        ("[tool.phaseprof]\nbudget = 5\n", r"pyproject\.toml \[tool\.phaseprof\]: budget must be in"),
        ("[tool.phaseprof]\nbudget = [1, 2]\n", r"pyproject\.toml \[tool\.phaseprof\]: budget must be a number"),
        ("[tool.phaseprof]\nrun = 3\n", r"pyproject\.toml \[tool\.phaseprof\]: run must name a folder"),
        (f"[tool.phaseprof]\ntrack_every = {'9' * 400}.5\n", r"pyproject\.toml \[tool\.phaseprof\]: track_every must"),
        (f"[tool.phaseprof]\nsample_every_s = {'9' * 400}\n", r"pyproject\.toml \[tool\.phaseprof\]: sample_every_s"),
        ("[tool.phaseprof]\nenabled = 1979-05-27\n", r"pyproject\.toml \[tool\.phaseprof\]: enabled must be true"),
        ("[tool.phaseprof]\non_violation = {a = 1}\n", r"pyproject\.toml \[tool\.phaseprof\]: on_violation must be"),
    ],
)
def test_what_is_wrong_in_the_file_is_warned_of_and_the_rest_counts(tmp_path: Path, text: str, told: str) -> None:
    rest = "\nreport_every = 7\n" if "[tool.phaseprof]" in text else ""

    with pytest.warns(PhaseprofWarning, match=told) as caught:
        found = resolve({}, environ={}, folder=project(tmp_path, text + rest))

    assert len(caught) == 1
    assert found == Settings(report_every=7 if rest else None)


def test_a_project_file_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").mkdir()
    assert resolve({}, environ={}, folder=tmp_path) == Settings()
    (tmp_path / "pyproject.toml").rmdir()

    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pyproject.toml")
    assert resolve({}, environ={}, folder=tmp_path) == Settings()


def test_lists_of_the_command_line_may_stand_in_the_file(tmp_path: Path) -> None:
    folder = project(tmp_path, '[tool.phaseprof]\nphase = ["a:b"]\nwatch = ["a:C=2"]\nbudget = 0.5\n')

    assert resolve({}, environ={}, folder=folder).budget == 0.5


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("BUDGET", "none", None), ("BUDGET", "0.5", 0.5), ("ENABLED", "off", False), ("ENABLED", "YES", True),
        ("REPORT_EVERY", "7", 7), ("MAX_FILE_MB", "0.5", 0.5), ("RUN", "/runs/1", "/runs/1"),
        ("ON_VIOLATION", "warn", "warn"), ("SAMPLE_EVERY_S", "unbounded", None),
    ],
)  # fmt: skip
def test_the_environment_is_text(tmp_path: Path, name: str, text: str, value: object) -> None:
    found = resolve({}, environ={f"PHASEPROF_{name}": text}, folder=tmp_path)

    assert getattr(found, name.lower()) == value


def test_an_empty_variable_is_not_set(tmp_path: Path) -> None:
    assert resolve({}, environ={"PHASEPROF_BUDGET": "", "PHASEPROF_BUDGT": ""}, folder=tmp_path).budget == 0.02


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("PHASEPROF_BUDGT", "PHASEPROF_BUDGET"), ("PHASEPROF_RUNS", "PHASEPROF_RUN"),
        ("PHASEPROF_REPORTEVERY", "PHASEPROF_REPORT_EVERY"), ("PHASEPROF_PHASES", "PHASEPROF_PHASE"),
        ("PHASEPROF_budget", "PHASEPROF_BUDGET"), ("PHASEPROF_ASCI", "PHASEPROF_ASCII"),
    ],
)  # fmt: skip
def test_a_misspelt_variable_is_warned_of_in_one_line_that_names_the_nearest(
    tmp_path: Path, name: str, nearest: str
) -> None:
    with pytest.warns(PhaseprofWarning) as caught:
        found = resolve({"budget": 0.1}, environ={name: "0.2", "HOME": "x"}, folder=tmp_path)

    told = str(caught[0].message)
    assert found == Settings(budget=0.1)
    assert told.startswith(f"{name} is ignored: environment variable must be one of PHASEPROF_RUN, PHASEPROF_ENABLED, ")
    assert told.endswith(f"(got {name!r}); did you mean {nearest!r}?")
    assert "\n" not in told


@pytest.mark.parametrize("name", ["PHASE", "GENERATION", "WATCH", "TRACK", "ASCII"])
def test_variables_that_other_parts_read_are_no_settings_and_no_errors(tmp_path: Path, name: str) -> None:
    assert resolve({}, environ={f"PHASEPROF_{name}": "1"}, folder=tmp_path) == Settings()


@pytest.mark.parametrize("name", ["PHASEPROFILE", "phaseprof_budgt", "MY_PHASEPROF_BUDGT", "PHASEPROF"])
def test_variables_of_others_are_left_alone(tmp_path: Path, name: str) -> None:
    assert resolve({}, environ={name: "1"}, folder=tmp_path) == Settings()


def test_every_variable_in_use_is_known() -> None:
    """No part of the package may read a variable that the settings refuse."""
    package = Path(sys.modules["phaseprof"].__file__ or "").parent
    read = {name for file in package.rglob("*.py") for name in re.findall(r"PHASEPROF_[A-Z_]+", file.read_text())}

    assert read - {"PHASEPROF_"} <= set(VARIABLES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 0}, "budget must be in"), ({"budget": 1.5}, "budget must be in"), ({"budget": math.nan}, "budget"),
        ({"budget": "much"}, "budget must be a number"), ({"budget": True}, "budget must be a number"),
        ({"report_every": 0}, "report_every must be > 0"), ({"report_every": 2.5}, "report_every must be a whole"),
        ({"leak_threshold_mb": -1}, "leak_threshold_mb must be > 0"),
        ({"leak_threshold_mb": None}, "leak_threshold_mb must be a number"),
        ({"track_every": None}, "track_every must be a number"), ({"track_every": 0}, "track_every must be > 0"),
        ({"sample_every_s": 0.0}, "sample_every_s must be"), ({"max_file_mb": 0}, "max_file_mb must be > 0"),
        ({"max_file_mb": math.inf}, "max_file_mb must be > 0"), ({"on_violation": "shout"}, "on_violation must"),
        ({"enabled": "maybe"}, "enabled must be true or false"), ({"run": ""}, "run must name a folder"),
        ({"run": 3}, r"run must name a folder, or be None \(got 3\)"),
    ],
)  # fmt: skip
def test_a_wrong_value_says_which_rule(tmp_path: Path, given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve(given, environ={}, folder=tmp_path)


def test_the_seeds_keys_are_taken() -> None:
    config = {
        "memory_tracking_enabled": False,
        "memory_report_interval": 5,
        "memory_leak_threshold_mb": 2.5,
        "budget": None,
    }

    assert from_config(config) == {"enabled": False, "report_every": 5, "leak_threshold_mb": 2.5, "budget": None}


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'memory_leak_threshold_mb'"):
        from_config({"memory_leak_treshold_mb": 1})


def test_a_path_names_the_run(tmp_path: Path) -> None:
    assert resolve({"run": tmp_path / "run"}, environ={}, folder=tmp_path).run == str(tmp_path / "run")


def test_a_profiler_from_a_config() -> None:
    profiler = Profiler.from_config({"memory_tracking_enabled": False, "memory_report_interval": 5})

    assert (profiler.enabled, profiler.settings.report_every) == (False, 5)
    profiler.close()


def test_the_environment_reaches_a_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHASEPROF_LEAK_THRESHOLD_MB", "12")

    profiler = Profiler()

    assert profiler.settings.leak_threshold_mb == 12
    profiler.close()


def test_a_slip_in_the_environment_ends_no_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PHASEPROF_BUDGT", "0.5")
    monkeypatch.setenv("PHASEPROF_REPORT_EVERY", "often")
    monkeypatch.setenv("PHASEPROF_RUN", str(tmp_path / "file"))

    with pytest.warns(PhaseprofWarning) as caught:
        profiler = Profiler(budget=0.1)

    told = sorted(str(warning.message) for warning in caught)
    assert [text.partition(" ")[0] for text in told] == ["PHASEPROF_BUDGT", "PHASEPROF_REPORT_EVERY", "run"]
    assert told[2].endswith("this recording is kept in memory")
    assert (profiler.settings.run, profiler.settings.budget, profiler.settings.report_every) == (None, 0.1, None)
    with profiler.phase("train"):
        pass
    profiler.close()


def test_an_argument_that_cannot_be_followed_raises_when_configured_anew(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    profiler = Profiler()

    with pytest.raises(UsageError, match="run must name a folder"):
        profiler.reconfigure(run=tmp_path / "file")
    profiler.reconfigure(budget=0.5)

    assert (profiler.settings.run, profiler.settings.budget) == (None, 0.5)
    profiler.close()


def test_a_warning_that_the_program_makes_an_error_is_not_raised_into_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHASEPROF_BUDGET", "much")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profiler = Profiler()

    assert profiler.settings.budget == 0.02
    profiler.close()


def test_a_working_folder_that_was_removed_has_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    Profiler(None).close()
    with pytest.raises(UsageError, match="run must name a folder"):
        Profiler("relative")
