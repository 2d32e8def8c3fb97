"""Results of several runs as one markdown table, a row a run."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

HEADS = (
    "tool",
    "detected",
    "phase",
    "kind",
    "subject",
    "holder",
    "whole",
    "site",
    "false alarms",
    "generations until right",
    "price",
    "errors",
)


def key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["case"], row["build"]


def price(run: Mapping[str, Any], null: Mapping[str, Any] | None) -> str:
    """The loop's time with the tool over its time without, on the builds that both runs finished.

    Padding is left out of what the tool added but not of what the loop takes:
    1 + (busy with the tool - busy without) / (whole loop without).
    """
    if null is None:
        return "not measured"
    without = {key(row): row for row in null["results"] if "seconds" in row}
    pairs = [(row, without[key(row)]) for row in run["results"] if "seconds" in row and key(row) in without]
    whole = sum(b["seconds"] for _, b in pairs)
    if not whole:
        return "not measured"
    added = sum((a["seconds"] - a["slept"]) - (b["seconds"] - b["slept"]) for a, b in pairs)
    return f"{1 + added / whole:.2f} x"


def until(run: Mapping[str, Any]) -> str:
    """Median number of generations until a finding with every mark right was there, and how many got there."""
    if not run["settings"]["until"]:
        return "not asked"
    firsts = [row["first_whole"] for row in run["results"] if "first_whole" in row]
    return f"{statistics.median(firsts):g} (n={len(firsts)})" if firsts else "never"


def label(run: Mapping[str, Any]) -> str:
    settings = run["settings"]
    words = [f"budget {settings['budget']}"] if run["tool"] == "phaseprof" else []
    words += [f"generations of {settings['stretch']:g} s"] if settings["stretch"] else []
    return f"{run['tool']} ({', '.join(words)})" if words else str(run["tool"])


def cells(run: Mapping[str, Any], null: Mapping[str, Any] | None) -> list[str]:
    score = run["score"]
    marks = [f"{score[mark]}/{score['leaky']}" for mark in ("detected", "phase", "kind", "subject", "holder", "whole")]
    marks.append(f"{score['site']}/{score['has_site']}" if "has_site" in score else "not graded")
    alarms = f"{score['false_alarms']}/{score['healthy']}"
    return [label(run), *marks, alarms, until(run), price(run, null), str(score["errors"])]


def table(runs: Sequence[Mapping[str, Any]]) -> str:
    """One row a run; a run of the tool ``null`` with the same stretch gives the others their price."""
    nulls = {run["settings"]["stretch"]: run for run in runs if run["tool"] == "null"}
    rows = [cells(run, nulls.get(run["settings"]["stretch"])) for run in runs if run["tool"] != "null"]
    lines = [HEADS, ["---"] * len(HEADS), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
