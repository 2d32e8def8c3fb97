"""The commands as a user gives them, through a parser of the shape that the program has."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from phaseprof.cli import diff, export, import_
from phaseprof.errors import UsageError

TRACES = Path(__file__).parents[1] / "data" / "traces"


def command(*words: object) -> int:
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers(required=True)
    for module in (import_, export, diff):
        module.add_parser(subparsers)
    args = parser.parse_args([str(word) for word in words])
    return int(args.run(args))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name in ("dreamer_collect", "dreamer_none", "leak_league", "healthy_fill"):
        assert command("import", TRACES / f"{name}.csv.gz", "--out", folder / name) == 0
    return folder


def test_import_tells_what_it_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command("import", TRACES / "leak_league.csv.gz", "--out", tmp_path / "run")

    assert "9,600 readings in 400 steps" in capsys.readouterr().out


def test_import_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command("import", TRACES / "leak_league.csv.gz", "--out", tmp_path / "run", "--json")

    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["readings"], document["steps"]) == (1, 9600, 400)
    assert "cuda0/allocated_bytes" in document["metrics"]


def test_import_with_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.csv").write_text("step,point,metric,value\n0,end,gpu_mem,1\n0,end,other_mem,1\n")

    code = command("import", tmp_path / "log.csv", "--out", tmp_path / "run", "--unit", "MiB", "--unit", "other_mem=GB")

    assert code == 0
    assert "cuda0/used_bytes, other_mem_bytes" in capsys.readouterr().out


def test_import_without_the_unit_is_a_usage_error_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,point,metric,value\n0,end,gpu_mem,1\n")

    with pytest.raises(UsageError, match="--unit gpu_mem=MiB"):
        command("import", tmp_path / "log.csv", "--out", tmp_path / "run")

    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "form"), [("out.csv", "csv"), ("out.csv.gz", "csv"), ("out.json", "perfetto"), ("out.prom", "openmetrics")]
)
def test_export_takes_the_format_from_the_name(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, form: str
) -> None:
    command("export", runs / "leak_league", "--out", tmp_path / name, "--json")

    assert json.loads(capsys.readouterr().out)["form"] == form
    assert (tmp_path / name).stat().st_size > 1000


def test_export_of_an_unclear_name_asks_for_the_format(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--format must be one of"):
        command("export", runs / "leak_league", "--out", tmp_path / "out.xyz")


def test_exported_trace_has_the_findings(runs: Path, tmp_path: Path) -> None:
    command("export", runs / "leak_league", "--format", "perfetto", "--out", tmp_path / "out")

    events = json.loads((tmp_path / "out").read_bytes())["traceEvents"]
    assert any(event.get("cat") == "finding" and event["name"].startswith("leak") for event in events)


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("dreamer_collect", "dreamer_none", 0),
        ("dreamer_none", "dreamer_collect", 1),
        ("healthy_fill", "leak_league", 1),
    ],
)
def test_diff_exit_codes(runs: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, code: int) -> None:
    assert command("diff", runs / before, runs / after) == code
    assert "One run of each cannot show" in " ".join(capsys.readouterr().out.split())


def test_diff_too_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.csv").write_text("step,point,metric,value\n0,end,rss_bytes,1\n1,end,rss_bytes,2\n")
    command("import", tmp_path / "log.csv", "--out", tmp_path / "run")

    assert command("diff", tmp_path / "run", tmp_path / "run") == 3
    assert "Too short" in capsys.readouterr().out


def test_diff_json(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command("diff", runs / "dreamer_collect", runs / "dreamer_none", "--json")

    document = json.loads(capsys.readouterr().out)
    assert document["headline"]["changes"][0]["word"] == "collapsed"
    assert "collapsed" in document["summary"]


def test_diff_of_one_run_is_a_usage_error(runs: Path) -> None:
    with pytest.raises(UsageError, match="two runs or more"):
        command("diff", runs / "leak_league")


def test_experiment_with_words(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = command("experiment", f"no_grad=off:{runs / 'dreamer_collect'}", f"no_grad=on:{runs / 'dreamer_none'}")

    assert code == 0
    assert "Growth collapsed" in capsys.readouterr().out


def test_experiment_with_numbers_tests_proportion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for length in (25, 50):
        rows = "".join(f"{g},end,cuda.allocated_bytes,{10**8 + g * length * 1000}\n" for g in range(40))
        (tmp_path / f"{length}.csv").write_text(f"step,point,metric,value\n{rows}")
        command("import", tmp_path / f"{length}.csv", "--out", tmp_path / f"run{length}")
    capsys.readouterr()

    command("experiment", f"seq_len=50:{tmp_path / 'run50'}", f"seq_len=25:{tmp_path / 'run25'}", "--json")

    document = json.loads(capsys.readouterr().out)
    assert document["scaling"] == "proportional"
    assert document["exponent"][0] == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["run", "seq_len:run", "=5:run", "seq_len=5:", "seq_len=5"])
def test_experiment_run_without_a_setting_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="NAME=VALUE:RUN"):
        command("experiment", text, text)
