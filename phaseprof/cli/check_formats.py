"""The verdict of ``check`` in the words of continuous integration: annotations, JUnit, SARIF, a summary and a badge."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import quote

from phaseprof._version import __version__
from phaseprof.cli.judged import CLEAN, LEAK, JudgedRun
from phaseprof.errors import UsageError
from phaseprof.records import Finding
from phaseprof.report.findings import slope_text

FORMATS = ("text", "json", "github", "junit", "sarif")
_FAILS = ("leak", "expectation")
# What may not stand in an XML document at all.
_NO_XML = {n: "?" for n in range(32) if n not in (9, 10, 13)} | {0xFFFE: "?", 0xFFFF: "?"}
_RULES = "https://json.schemastore.org/sarif-2.1.0.json"
_COLORS = {"no leak": "brightgreen", "leak": "red"}


@dataclass(frozen=True)
class Told:
    """One finding or broken expectation.

    Attributes:
        rule: verdict and kind, as ``leak/tensors``.
        fails: whether the run fails by it.
        title: what and where, in a few words.
        text: what was found and what to do.
        file, line: where the phase is written; empty and 0 if not known.
    """

    rule: str
    fails: bool
    title: str
    text: str
    file: str = ""
    line: int = 0


def told(judged: JudgedRun) -> list[Told]:
    """Return what a run is told, what it fails by first."""
    found = [
        _of_finding(finding, where, sites)
        for where, sites, findings in _processes(judged)
        for finding in findings
    ]  # fmt: skip
    known = {finding.summary for findings in judged.findings for finding in findings}
    found += [
        Told("expectation/objects", True, f"{broken.name}: {broken.expected}", str(broken))
        for broken in judged.broken()
        if str(broken) not in known
    ]
    return sorted(found, key=lambda one: not one.fails)


def _processes(judged: JudgedRun) -> Iterator[tuple[str, Mapping[str, str], tuple[Finding, ...]]]:
    several = len(judged.run.processes) > 1
    for process, findings in zip(judged.run.processes, judged.findings, strict=True):
        header = process.header
        where = f"rank {header.rank}: " if several and header else ""
        yield where, {label.name: label.site for label in process.labels.values() if label.site}, findings


def _of_finding(finding: Finding, where: str, sites: Mapping[str, str]) -> Told:
    file, _, line = (finding.site or sites.get(finding.phase or "", "")).rpartition(":")
    subject = finding.subject or finding.kind
    title = f"{where}{finding.verdict}: {subject}" + (f" in {finding.phase}" if finding.phase else "")
    text = ". ".join(filter(None, (finding.summary.rstrip("."), finding.advice)))
    rule, fails = f"{finding.verdict}/{finding.kind}", finding.verdict in _FAILS
    if not (line.isascii() and line.isdigit() and len(line) < 9):
        return Told(rule, fails, title, text)
    return Told(rule, fails, title, text, _below_here(file), int(line))


def _below_here(file: str) -> str:
    """Return a path as a checkout has it, where it lies below the working folder."""
    path = PurePath(file)
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else file


def to_github(judged: JudgedRun, verdict: str) -> str:
    """Return workflow commands: an error for each leak, a warning for each other finding, and the verdict."""
    lines = [_command(one) for one in told(judged)]
    return "\n".join([*lines, f"::notice title=phaseprof::{_data(verdict)}"])


def _command(one: Told) -> str:
    where = f"file={_property(one.file)},line={one.line}," if one.file else ""
    return f"::{'error' if one.fails else 'warning'} {where}title={_property(one.title)}::{_data(one.text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def to_junit(judged: JudgedRun, verdict: str) -> str:
    """Return one suite: a case for each finding, or one that passes or is skipped where there is none."""
    found = told(judged)
    status = judged.status()
    suite = ET.Element("testsuite", name="phaseprof")
    for one in found:
        case = ET.SubElement(suite, "testcase", classname="phaseprof", name=_xml(one.title), file=_xml(one.file))
        note = ET.SubElement(case, "failure" if one.fails else "system-out")
        note.text = _xml(one.text)
        if one.fails:
            note.attrib.update(message=_xml(one.title), type=_xml(one.rule))
    n_failed = sum(one.fails for one in found)
    if not n_failed:
        case = ET.SubElement(suite, "testcase", classname="phaseprof", name="verdict")
        if status != CLEAN:
            ET.SubElement(case, "skipped" if status != LEAK else "failure", message=_xml(verdict))
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _xml(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8").translate(_NO_XML)


def to_sarif(judged: JudgedRun) -> str:
    """Return a log in SARIF 2.1.0: a result for each finding, at the line of its phase where that is known."""
    found = told(judged)
    rules = sorted({one.rule for one in found})
    run = {
        "tool": {"driver": {"name": "phaseprof", "version": __version__, "rules": [
            {"id": rule, "shortDescription": {"text": rule.replace("/", " of ")}} for rule in rules]}},
        "results": [_result(one, rules) for one in found],
    }  # fmt: skip
    return json.dumps({"$schema": _RULES, "version": "2.1.0", "runs": [run]}, indent=1)


def _result(one: Told, rules: list[str]) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": one.rule, "ruleIndex": rules.index(one.rule), "level": "error" if one.fails else "warning",
        "message": {"text": f"{one.title}. {one.text}"},
    }  # fmt: skip
    if one.file:
        place = {"artifactLocation": {"uri": _uri(one.file)}, "region": {"startLine": max(1, one.line)}}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _uri(file: str) -> str:
    """Return a path as SARIF takes it: relative to the checkout, or an address of the file; spaces are coded."""
    path = quote(file.encode("utf-8", "replace"))
    return f"file://{path}" if path.startswith("/") else path


def to_badge(judged: JudgedRun) -> str:
    """Return what a badge says, as shields.io takes it from an endpoint."""
    word = "leak" if judged.status() == LEAK else judged.answer()
    color = _COLORS.get(word, "lightgrey")
    return json.dumps({"schemaVersion": 1, "label": "memory", "message": word, "color": color})


def to_summary(judged: JudgedRun, verdict: str) -> str:
    """Return a step's summary in Markdown: the verdict, and a row for each finding."""
    lines = ["### phaseprof", "", _cell(verdict), ""]
    findings = [(where, finding) for where, _, found in _processes(judged) for finding in found]
    if findings:
        lines += ["| | what | phase | growth | since | what to do |", "| --- | --- | --- | --- | --- | --- |"]
    for where, finding in findings:
        since = "" if finding.since_generation is None else str(finding.since_generation)
        cells = (f"{where}{finding.verdict}", finding.subject or finding.kind, finding.phase or "", slope_text(finding),
                 since, finding.advice)  # fmt: skip
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Escape what Markdown or HTML would take for its own."""
    for char in "\\|<>`*_[]":
        text = text.replace(char, f"\\{char}" if char not in "<>" else {"<": "&lt;", ">": "&gt;"}[char])
    return " ".join(text.split())


def append_summary(judged: JudgedRun, verdict: str) -> None:
    """Append the summary to the file that a step of GitHub Actions names; nothing elsewhere.

    Raises:
        UsageError: the file cannot be written.
    """
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if file:
        write_text(Path(file), to_summary(judged, verdict), append=True)


def write_text(file: Path, text: str, *, append: bool = False) -> None:
    """Write a file as UTF-8.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        with file.open("a" if append else "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}; give a file in a folder that exists") from error
