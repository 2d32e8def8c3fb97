"""Compare what a tool reports with where the leak is, and add it up."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from leakbench import Finding, Truth

MARKS = ("detected", "phase", "kind", "subject", "holder")
SITE = "site"  # a sixth, of cases in which a line allocates what stays; not in "whole", since only few tools name one
SUSPECTS = 3  # a tool may name several suspects, but those after the third are ignored


def in_order(words: tuple[str, ...], text: str) -> bool:
    at, text = 0, text.lower()
    for word in words:
        at = text.find(word.lower(), at)
        if at < 0:
            return False
        at += len(word)
    return True


def grade(truth: Truth, findings: Sequence[Finding]) -> dict[str, bool]:
    """The best that any one finding scores on the leaky build."""
    best = {"detected": bool(findings), "phase": False, "kind": False, "subject": False, "holder": False}
    best |= {SITE: False} if truth.site else {}
    subjects = {s.lower() for s in (truth.subject or "", *truth.subject_also)}
    for f in findings[:SUSPECTS]:
        got = {
            "detected": True,
            "phase": f.phase.lower() == truth.phase.lower(),
            "kind": f.kind in (truth.kind, *truth.also),
            "subject": truth.subject is None or f.subject.split(".")[-1].lower() in subjects,
            "holder": in_order(truth.holder, f.holder),
        }
        if truth.site:
            got[SITE] = function_at(f.site) in truth.site
        if sum(got.values()) > sum(best.values()):
            best = got
    return best


def is_whole(marks: Mapping[str, bool]) -> bool:
    """Whether all but the site is right."""
    return all(marks[mark] for mark in MARKS)


@cache
def function_at(site: str) -> str:
    """Name the innermost function around ``file:line``, with its class; empty where there is none."""
    file, _, line = site.rpartition(":")
    if not file or not Path(file).is_file():
        return ""
    kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
    node: ast.AST = ast.parse(Path(file).read_text(encoding="utf-8"))
    names: list[str] = []
    while True:
        blocks = (one for one in ast.iter_child_nodes(node) if isinstance(one, kinds))
        inner = next((one for one in blocks if one.lineno <= int(line) <= (one.end_lineno or 0)), None)
        if inner is None:
            return ".".join(names)
        names.append(inner.name)
        node = inner


def describe(row: Mapping[str, Any]) -> str:
    """One line about one build: the marks, or silence, and the first finding."""
    if "skipped" in row:
        return f"skipped: {row['skipped']}"
    if "error" in row:
        return str(row["error"])
    findings = row["findings"]
    if row["build"] == "leaky":
        verdict = " ".join(k if v else f"({k})" for k, v in row["grade"].items())
    else:
        verdict = "FALSE ALARM" if findings else "silent"
    if not findings:
        return verdict
    first = Finding(**findings[0])
    return f"{verdict}  {first.phase}|{first.kind}|{first.subject}|{first.holder[:60]}"


class Score:
    """Sums over the rows of one run.  A row without an answer counts as an error, and as a leak that was missed."""

    def __init__(self) -> None:
        names = ("leaky", *MARKS, "whole", "has_site", SITE, "healthy", "false_alarms", "errors", "skipped")
        self.sums: Counter[str] = Counter(dict.fromkeys(names, 0))

    def add(self, row: Mapping[str, Any]) -> None:
        if "skipped" in row:
            self.sums["skipped"] += 1
            return
        self.sums[row["build"]] += 1
        self.sums["errors"] += "error" in row
        if row["build"] == "leaky":
            self.sums.update({mark: int(right) for mark, right in row["grade"].items()})
            self.sums["whole"] += is_whole(row["grade"])
            self.sums["has_site"] += SITE in row["grade"]
        else:
            self.sums["false_alarms"] += bool(row.get("findings"))

    def to_dict(self) -> dict[str, int]:
        return dict(self.sums)
