"""``check`` in the words of continuous integration: annotations, JUnit, SARIF, a step's summary, a badge."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from phaseprof.cli import main
from phaseprof.cli.check_formats import to_badge, to_github, to_junit, to_sarif, to_summary
from phaseprof.cli.judged import JudgedRun
from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.records import Finding

HOSTILE = "a,b: c%\n::error::x | <b> ]]> \x00 \"&`"
LEAK = Finding("leak", "tensors", phase="train", subject="Tensor", slope=4096.0, since_generation=3,
               summary="Tensors created in train leak.", advice="Keep floats, not tensors.")  # fmt: skip


def judged(*findings: Finding, site: str = "") -> JudgedRun:
    process = ProcessRun()
    process.extend([
        fmt.Header(format=1, phaseprof="0.1.0", pid=7, started_unix_s=1.0, started_ns=0, page_bytes=4096),
        fmt.Label(0, "train", "phase", site=site),
        *(fmt.Metrics(g, g, {"anonymous_bytes": 1e6}, at="generation end") for g in range(12)),
    ])  # fmt: skip
    return JudgedRun(Run(None, [process]), (tuple(findings),))


def test_a_leak_is_an_error_at_the_line_of_its_phase(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    run = judged(LEAK, site=f"{Path.cwd()}/src/train.py:12")

    text = to_github(run, "FAILED")

    assert text.splitlines() == [
        "::error file=src/train.py,line=12,title=leak%3A Tensor in train::Tensors created in train leak. "
        "Keep floats, not tensors.",
        "::notice title=phaseprof::FAILED",
    ]
    (result,) = json.loads(to_sarif(run))["runs"][0]["results"]
    assert result["level"] == "error"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/train.py"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 12


def test_a_finding_that_does_not_fail_is_a_warning() -> None:
    run = judged(replace(LEAK, verdict="growing"))

    assert to_github(run, "OK").startswith("::warning title=growing")
    assert json.loads(to_sarif(run))["runs"][0]["results"][0]["level"] == "warning"
    suite = ET.fromstring(to_junit(run, "OK"))[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")


@pytest.mark.parametrize(
    ("site", "uri"),
    [("/a b/100%.py:3", "file:///a%20b/100%25.py"), ("a#b?c.py:3", "a%23b%3Fc.py"), ("src/train.py:3", "src/train.py")],
)
def test_a_path_is_an_address_in_sarif(site: str, uri: str) -> None:
    (result,) = json.loads(to_sarif(judged(LEAK, site=site)))["runs"][0]["results"]

    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


@pytest.mark.parametrize("findings", [(), (LEAK,), (LEAK, replace(LEAK, verdict="growing"))])
def test_a_log_has_what_the_schema_of_sarif_requires(findings: tuple[Finding, ...]) -> None:
    log = json.loads(to_sarif(judged(*findings, site="/home/me/my train.py:12")))

    assert (log["version"], set(log)) == ("2.1.0", {"$schema", "version", "runs"})
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    assert len(run["results"]) == len(findings)
    for result in run["results"]:
        assert result["message"]["text"]
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        place = result["locations"][0]["physicalLocation"]
        assert re.fullmatch(r"[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]+", place["artifactLocation"]["uri"])
        assert place["region"]["startLine"] >= 1


def test_junit_counts_what_failed() -> None:
    suite = ET.fromstring(to_junit(judged(LEAK, replace(LEAK, verdict="growing")), "FAILED"))[0]

    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    assert [case.get("name") for case in suite] == ["leak: Tensor in train", "growing: Tensor in train"]
    failure = suite[0].find("failure")
    assert failure is not None
    assert failure.text == "Tensors created in train leak. Keep floats, not tensors."


def test_a_clean_run_is_a_test_that_passes_and_a_short_one_is_skipped() -> None:
    clean = ET.fromstring(to_junit(judged(), "OK"))[0]
    short = ET.fromstring(to_junit(JudgedRun(Run(None, []), ()), "TOO SHORT"))[0]

    assert (clean.get("tests"), clean.get("failures"), clean.get("skipped")) == ("1", "0", "0")
    assert (short.get("tests"), short.get("failures"), short.get("skipped")) == ("1", "0", "1")


def hostile() -> JudgedRun:
    names = dict.fromkeys(("phase", "subject", "summary", "advice"), HOSTILE)
    return judged(replace(LEAK, **names, since_generation=HOSTILE), site=f"/{HOSTILE}.py:3")  # type: ignore[arg-type]


def test_hostile_names_forge_no_command_no_element_and_no_cell() -> None:
    run = hostile()

    assert [line.split(" ")[0] for line in to_github(run, HOSTILE).splitlines()] == ["::error", "::notice"]
    assert len(ET.fromstring(to_junit(run, HOSTILE))[0]) == 1
    json.loads(to_sarif(run))
    table = to_summary(run, HOSTILE).splitlines()
    assert len(table) == 7
    assert "<b>" not in "".join(table)
    assert table[-1].replace("\\|", "").count("|") == 7


@pytest.mark.parametrize(
    ("run", "message", "color"),
    [(judged(LEAK), "leak", "red"), (judged(), "no leak", "brightgreen"),
     (JudgedRun(Run(None, []), ()), "too short", "lightgrey")],
)  # fmt: skip
def test_a_badge_says_the_verdict(run: JudgedRun, message: str, color: str) -> None:
    assert json.loads(to_badge(run)) == {"schemaVersion": 1, "label": "memory", "message": message, "color": color}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    run = tmp_path / "run"
    run.mkdir()
    (process,) = judged().run.processes
    assert process.header is not None
    records = [process.header, *(fmt.Metrics(g, g, {"anonymous_bytes": 1e6}) for g in range(12))]
    (run / "rank0-pid7.jsonl").write_bytes(b"".join(fmt.encode(one) + b"\n" for one in records))
    yield run


def test_a_step_gets_a_summary_and_a_file_for_the_badge(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")

    status = main(["check", str(folder), "--format", "github", "--badge", str(tmp_path / "badge.json")])

    assert status == 0
    assert capsys.readouterr().out.startswith("::notice title=phaseprof::OK")
    assert (tmp_path / "summary.md").read_text().startswith("before\n### phaseprof\n\nOK: no leak")
    assert json.loads((tmp_path / "badge.json").read_text())["message"] == "no leak"


@pytest.mark.parametrize("form", ["junit", "sarif", "json", "text"])
def test_every_form_has_the_exit_status(form: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(folder), "--format", form]) == 0
    assert capsys.readouterr().out


def test_a_badge_in_no_folder_is_wrong_use(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(folder), "--badge", str(tmp_path / "no" / "badge.json")]) == 2
    assert "give a file in a folder that exists" in capsys.readouterr().err
