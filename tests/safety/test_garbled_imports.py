"""Logs of other tools in which anything may stand are imported or refused in one line, and what is made is read."""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
from pathlib import Path

import pytest

from phaseprof import load
from phaseprof.cli import main
from phaseprof.units import for_terminal

N = 12
LOGS = {
    "tidy.csv": "step,point,metric,value,time_s\n"
    + "".join(f"{i},end,rss_bytes,{10**8 + i * 10**6},{i * 2.5}\n" for i in range(N)),
    "export.csv": "step,point,metric,value,time_s,index,process\n"
    + "".join(f"{i},generation end,rss_bytes,{10**8 + i * 10**6},{i * 2.5},{i},rank0-pid1\n" for i in range(N)),
    "wide.csv": "Step,run - rss_mb,_timestamp\n" + "".join(f"{i},{100 + i},{1.7e9 + i}\n" for i in range(N)),
    "history.jsonl": "".join(
        json.dumps({"_step": i, "_timestamp": 1.7e9 + i, "rss_mb": 100 + i}) + "\n" for i in range(N)
    ),
    "stats.json": json.dumps([{"allocated_bytes.all.current": 10**6 * i, "step": i} for i in range(N)]),
    "profile.dat": "CMDLINE python x.py\n"
    + "".join(f"MEM {100 + i * 0.5:.3f} {1.7e9 + i * 0.1:.4f}\n" for i in range(N)),
    "scrape.prom": "# TYPE process_resident_memory_bytes gauge\n"
    + "".join(f"process_resident_memory_bytes {10**8 + i * 10**6} {1_700_000_000_000 + i * 1000}\n" for i in range(N)),
    "table.txt": "Time   PID  RSS(MB)\n" + "".join(f"10:00:{i:02d}  12  {100 + i}\n" for i in range(N)),
    "train.log": "".join(f"2024-05-01 10:00:{i:02d} INFO step {i} RSS: {1000 + i} MB\n" for i in range(N)),
}  # fmt: skip
VALUES = [
    "nan", "inf", "-inf", "1e999", "9" * 400, "-" + "9" * 400, "9" * 5000, "1e308", "-1e308", "1e30", "4.0e15 GB",
    "-1", "", "\x00", "\x1b[31m", "0x10", "1_000", "\u0967\u0968", "x" * 50_000, "=1+1", "9007199254740993", '"', "\r",
    "\n", "{}", "[" * 20_000, "null", "\ud800", "99:99:99", "253402300800", "1e19", "Infinity",
]  # fmt: skip


def garble(text: str, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 2, 6, 15))):
        found = list(re.finditer(r"-?\d+(?:\.\d+)?" if rng.random() < 0.7 else r"[A-Za-z_]+", text))
        if found:
            place = rng.choice(found)
            text = text[: place.start()] + rng.choice(VALUES) + text[place.end() :]
        if rng.random() < 0.1:
            text = text[: rng.randrange(len(text) + 1)] or "x"
    content = text.encode("utf-8", "surrogatepass")
    at = rng.randrange(len(content) + 1)
    return content[:at] + b"\xff\x9d" + content[at:] if rng.random() < 0.1 else content


def run_command(*argv: object) -> tuple[int, str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = main([str(word) for word in argv])
    return status, printed.getvalue()


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("seed", range(12))
def test_any_log_is_imported_or_refused_in_one_line(tmp_path: Path, name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    (tmp_path / name).write_bytes(garble(LOGS[name], rng))

    status, printed = run_command("import", tmp_path / name, "--out", tmp_path / "run")

    assert printed == for_terminal(printed)
    if status:
        assert (status, printed.count("\n")) == (2, 1)
        return
    assert not [note for process in load(tmp_path / "run").processes for note in process.notes if "skipped" in note]
    for command in ("report", "check"):
        assert run_command(command, tmp_path / "run")[0] in (0, 1, 3)


@pytest.mark.parametrize("time_s", ["1e308", "-1e308", "inf", "9" * 400, "1e19"])
@pytest.mark.parametrize("value", ["1e308", "9" * 400, "-1e300", "200"])
@pytest.mark.parametrize("step", ["1", "9007199254740992"])
def test_a_reading_that_no_machine_has_is_left_out_and_the_others_stay(
    tmp_path: Path, time_s: str, value: str, step: str
) -> None:
    rows = [f"{i},end,rss_bytes,{100 + i},{i}" for i in (0, 2)]
    rows.insert(1, f"{step},end,rss_bytes,{value},{time_s}")
    (tmp_path / "log.csv").write_text("\n".join(["step,point,metric,value,time_s", *rows]) + "\n")

    status, printed = run_command("import", tmp_path / "log.csv", "--out", tmp_path / "run")

    assert status == 0, printed
    process = load(tmp_path / "run").main
    assert [value for _, value in process.series["end", "rss_bytes"]][:1] == [100.0]
    assert len(process.series["end", "rss_bytes"]) == (3 if value == "200" else 2)
    assert ("1 values were left out" in " ".join(process.notes)) == (value in ("1e308", "-1e300"))
