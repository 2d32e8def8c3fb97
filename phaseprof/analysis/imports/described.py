"""What a file that cannot be imported seems to be, in one line."""

from __future__ import annotations

from pathlib import Path

from phaseprof.analysis.imports.limits import ImportFailure, fail
from phaseprof.analysis.imports.names import is_about_memory
from phaseprof.analysis.imports.units import read_quantity

_MARKS = (
    ("<?xml", "XML"), ("<html", "a web page"), ("<!DOCTYPE", "a web page"), ("#!", "a script"), ("---", "YAML"),
    ("Traceback", "a traceback"), ("%PDF", "a PDF"), ("SQLite format 3", "an SQLite database"),
)  # fmt: skip


def describe_text(file: Path, start: str) -> ImportFailure:
    """Word the refusal of a text that no reader took."""
    line = next((text.strip() for text in start.splitlines() if text.strip()), "")
    for mark, what in _MARKS:
        if start.lstrip().lower().startswith(mark.lower()):
            return fail(file, f"it seems to be {what}, which holds no table of readings", "give a log or a table")
    if "\x00" in start:
        return fail(file, "it seems to be binary, in a format that is not known", "give a text export of it")
    delimiter = next((mark for mark in ("\t", ";", ",", "|") if mark in line), "")
    names = [cell.strip() for cell in line.split(delimiter)] if delimiter else line.split()
    if names and all(read_quantity(name) for name in names):
        rule = f"it seems to be a table without names (it begins {line[:60]!r})"
        return fail(file, rule, "write a first line that names its columns, such as time,rss_kb", line=1)
    if delimiter and len(names) > 1 and not any(map(read_quantity, names)):
        told = ", ".join(names)[:160]
        about = [name for name in names if is_about_memory(name)]
        if about:
            rule = f"it seems to be a table with {', '.join(about)[:100]}, and none of its rows can be read"
            return fail(file, rule, "give it with its rows, each with as many fields as there are names", line=1)
        rule = f"it seems to be a table, and no column's name is about memory (got {told})"
        return fail(file, rule, "its columns must name memory, or be step,point,metric,value", line=1)
    rule = f"it seems to be a log of text (it begins {line[:60]!r}), and no figure of memory with its unit was found"
    return fail(file, rule, r"name one with --pattern 'RSS: (?P<rss_MB>\d+)'")
