"""Recordings of which any field may be anything: a line is skipped with its number, and no command raises."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import json
import os
import random
from pathlib import Path

import pytest

from phaseprof import load
from phaseprof.cli import main
from phaseprof.recording import format as fmt
from phaseprof.units import for_terminal, plain_cell, safe_cell

HEADER = fmt.Header(
    format=fmt.FORMAT_VERSION, phaseprof="1", pid=7, started_unix_s=1e9, started_ns=5, page_bytes=4096, argv=["x.py"]
)
KINDS = {kind.__struct_config__.tag: kind for kind in fmt.Record.__args__}  # type: ignore[attr-defined]
NAME = "rank0-pid7.jsonl"
EVIL = "\x1b[2J\x1b]0;owned\x07\u202ered\x9b1m"


def run_of(generations: int = 12) -> list[dict[str, object]]:
    """Records of a run that leaks, one of each kind at least."""
    records: list[fmt.Record] = [
        HEADER, fmt.Label(0, "generation", "generation"), fmt.Label(1, "train", "phase"),
        fmt.Label(2, "mark", "checkpoint"), fmt.Watch("Env", 1, 2),
    ]  # fmt: skip
    t = 1000
    for g in range(generations):
        records.append(fmt.GenerationBegin(t, g, g))
        for label, edge in ((0, 1), (1, 1), (2, 0), (1, 2), (0, 2)):
            t += 10**8
            devices = {"cuda:0": [g * 10**6] * len(fmt.DEVICE_COUNTERS)}
            records.append(fmt.Point(t, label, edge, g, f"{10_000 + 500 * g} {5000 + 400 * g} 100 1 0 300 0", devices))
        records.append(fmt.GenerationEnd(t, g, 0.5, 3.0))
        figures = {"count/list": 1000.0 + 100 * g, "watched/Env": 2.0 + g, "malloc_in_use_bytes": 1e7 + 2e6 * g}
        records.append(fmt.Metrics(t, g, figures))
    records += [
        fmt.Violation(t, 3, "Env", 15, 1, 2, "train", 3), fmt.Births(t, 3, "watched/Env", {"train": [5.0, 500.0]}),
        fmt.Holder(t, 3, "watched/Env", ["module x", ".kept (list, 5)"], "module global", "", 5, 5, "Env", "list", 15),
        fmt.Large(t, 3, 10, [("list", 10**8, "x", "y")]),
        fmt.SnapshotTaken(t, 3, "snap", {"rss_bytes": 1e8, "anonymous_bytes": 9e7}, {"list": 5}),
        fmt.Cost(t, 3, 8.0, {"points": 0.1}, {"heap": 2}), fmt.Note(t, "hello"), fmt.Thread(t, 1),
        fmt.Dying(t, 3, "SIGTERM", "a"), fmt.Program(["app"]), fmt.Visits(t, 3, {1: 5}, {1: 2.0}),
        fmt.Places(t, 3, 1, 500, [fmt.Place(["module x", ".kept"], "list", 1, 500, 0, [("Env", 5, 500)], [])]),
        fmt.Sites(t, 3, "train", [fmt.Site(["module x", ".kept"], "Env", "train.py", 7, 5, 500, "make")]),
        fmt.End(t, "closed"),
    ]  # fmt: skip
    return [json.loads(fmt.encode(record)) for record in records]


def write(folder: Path, lines: list[bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / NAME).write_bytes(b"\n".join(lines) + b"\n")
    return folder


def as_lines(records: list[dict[str, object]]) -> list[bytes]:
    return [json.dumps(record).encode() for record in records]


VALUES: list[object] = [
    None, True, 0, -1, 2**31, 2**53 + 1, 2**63 - 1, 2**64, 10**400, -(10**400), 1e308, -1e308, 0.5,
    float("nan"), float("inf"), "", EVIL, "x" * 20_000, "\ud800", "=cmd()", "-1 -1 -1", "9" * 19 + " 2 3 4 5 6 7",
    "1e5 \xb2 3", [], [1],
    ["a"], [[1, 2]], {}, {"": None}, {"train": []}, {"train": [1e308, 1e308]}, {"cuda:0": [2**63] * 20},
    {"count/list": 1e308}, {"1": -5}, {"watched/Env": -5.0}, [["list", -5, EVIL, "=b"]],
]  # fmt: skip


def garbled(rng: random.Random) -> list[bytes]:
    records = [dict(record) for record in run_of()]
    for _ in range(rng.choice((1, 2, 8, 40))):
        at = rng.randrange(len(records))
        record = records[at]
        kind = record.get("k")
        known = KINDS.get(kind) if isinstance(kind, str) else None
        fields = known.__struct_fields__ if known is not None else tuple(record) or ("k",)
        how = rng.random()
        if how < 0.75:
            record[rng.choice((*fields, "k", "more"))] = rng.choice(VALUES)
        elif how < 0.85:
            records.insert(at, dict(rng.choice(records)))
        elif how < 0.92:
            other = rng.randrange(len(records))
            records[at], records[other] = records[other], records[at]
        elif len(records) > 2:
            del records[at]
    lines = as_lines(records)
    for _ in range(rng.choice((0, 1, 3))):
        at = rng.randrange(len(lines))
        cut = rng.randrange(len(lines[at]) + 1)
        deep = b'{"k":"note","t":1,"text":"a","more":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
        lines[at] = rng.choice([lines[at][:cut], lines[at][:cut] + b"\xff\x9d" + lines[at][cut:], deep, b"\x00" * 9])
    return lines


def run_command(*argv: object) -> tuple[int, str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = main([str(word) for word in argv])
    return status, printed.getvalue()


COMMANDS: list[tuple[object, ...]] = [
    ("report", "RUN"), ("report", "RUN", "--json"), ("report", "RUN", "--markdown"), ("check", "RUN"),
    ("export", "RUN", "--out", "OUT.csv"), ("export", "RUN", "--out", "OUT.json"),
    ("export", "RUN", "--out", "OUT.txt", "--format", "openmetrics"),
    ("diff", "GOOD", "RUN"), ("diff", "RUN", "GOOD", "--json"),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_no_command_raises_on_any_file(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    run, good = write(tmp_path / "run", garbled(rng)), write(tmp_path / "good", as_lines(run_of()))
    names = {"RUN": run, "GOOD": good}

    for command in rng.sample(COMMANDS, 4):
        words = [names.get(str(word), str(word).replace("OUT", str(tmp_path / "out"))) for word in command]
        status, printed = run_command(*words)

        assert status in (0, 1, 2, 3)
        assert printed == for_terminal(printed)
        assert "Traceback" not in printed


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"header"}))
def test_every_field_that_is_wrong_is_skipped_with_its_number(tmp_path: Path, kind: str) -> None:
    """A value either is one that the field may have, or the line is named; either way the others are read."""
    records = run_of()
    at = next(at for at, record in enumerate(records) if record["k"] == kind)

    for field in KINDS[kind].__struct_fields__:
        for value in (10**400, -(10**400), [None], {"a": [None]}, None):
            changed = as_lines([*records[:at], {**records[at], field: value}, *records[at + 1 :]])

            process = load(write(tmp_path / "run", changed)).main

            assert [note.partition(":")[0] for note in process.notes if "skipped" in note] == [
                f"{NAME} line {at + 1} is skipped"
            ]


def test_an_enormous_number_of_labels(tmp_path: Path) -> None:
    labels = [fmt.encode(fmt.Label(n, f"label {n}", "phase")) for n in range(100_000)]
    points = [fmt.encode(fmt.Point(n, n, 1 + n % 2, 0, f"{n} {n} 1")) for n in range(0, 100_000, 50)]
    run = write(tmp_path / "run", [fmt.encode(HEADER), *labels, *points])

    status, printed = run_command("report", run)

    assert status in (0, 1, 3)
    assert len(printed) < 100_000


def test_names_reach_the_terminal_without_what_it_acts_upon(tmp_path: Path) -> None:
    records = run_of()
    for record in records:
        for field in ("name", "host", "reason", "label", "text", "phase", "subject", "steps", "argv", "index"):
            if field in record:
                record[field] = [EVIL] if isinstance(record[field], list) else EVIL
    run = write(tmp_path / f"run {EVIL.replace('/', '')}", as_lines(records))

    for words in (("report", run), ("check", run), ("report", run, "--markdown"), ("diff", run, run)):
        _, printed = run_command(*words)
        assert printed == for_terminal(printed)
    _, printed = run_command("report", f"{run} nowhere")
    assert printed == for_terminal(printed)


FORMULAS = ["=cmd|'/c calc'!A1", "+1", "-1+2", "@SUM(A1)", "\t=1", "'=1"]


@pytest.mark.parametrize("name", FORMULAS)
def test_names_that_begin_a_formula_are_quoted_and_come_back(tmp_path: Path, name: str) -> None:
    records = run_of(3)
    for record in records:
        if record["k"] == "label" and record["id"] == 2:
            record["name"] = name
    run = write(tmp_path / "run", as_lines(records))

    assert run_command("export", run, "--out", tmp_path / "out.csv")[0] == 0
    assert run_command("import", tmp_path / "out.csv", "--out", tmp_path / "again")[0] == 0

    with (tmp_path / "out.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert f"'{name}" in {row["point"] for row in rows}
    assert all(row["value"].lstrip("-").replace(".", "").isdigit() for row in rows)
    points = {point for point, _ in load(tmp_path / "again").main.series}
    assert name in points


@pytest.mark.parametrize("text", [*FORMULAS, "", "'", "''=x", "train", "a=b", "it's"])
def test_quoting_is_undone_exactly(text: str) -> None:
    assert plain_cell(str(safe_cell(text))) == text
    assert safe_cell(-1.5) == -1.5


def test_a_carriage_return_begins_no_formula() -> None:
    assert safe_cell("\r=1") == " =1"


@pytest.mark.parametrize("seed", range(40, 60))
def test_a_run_is_watched_whatever_is_in_it(tmp_path: Path, seed: int) -> None:
    run = write(tmp_path / "run", garbled(random.Random(seed)))

    status, printed = run_command("watch", run, "--once")

    assert status in (0, 2)
    assert "Traceback" not in printed
    assert printed == for_terminal(printed)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_among_the_files_is_not_waited_for(tmp_path: Path) -> None:
    run = write(tmp_path / "run", as_lines(run_of()))
    os.mkfifo(run / "rank1-pid8.jsonl")

    watch = [("watch", run, "--once")] if importlib.util.find_spec("rich") else []
    for words in (("report", run), *watch, ("export", run, "--out", tmp_path / "out.csv")):
        assert run_command(*words)[0] in (0, 1, 3)
