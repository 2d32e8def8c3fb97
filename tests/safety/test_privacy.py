"""What a recording stores: names of types, attributes, phases and files; nothing that the program keeps under them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phaseprof import load
from phaseprof.probes.names import bare_name, looks_like_name, shown_attribute, shown_key

SECRETS = ["ada@example.org", "hunter2 hunter2", "4111111111111111", "tok_9f86d081884c7d65", "Ada Lovelace, patient 7"]

PROGRAM = """
import os, sys, types, warnings
import functools
warnings.simplefilter("ignore")
import phaseprof
SECRETS = {secrets!r}

class Record:
    def __init__(self):
        self.data = [0] * 50

class Entry(Record):
    pass

class Holder:
    pass

tables = {{secret: [] for secret in SECRETS}}
numbered = {{4111111111111111: {{("Ada Lovelace, patient 7", 3): []}}}}
holder = Holder()
for secret in SECRETS:
    holder.__dict__[secret] = []
    globals()[secret] = []
bound = functools.partial(print, **{{secret: [] for secret in SECRETS}})
names = types.SimpleNamespace(history=[])

def getter():
    raise ValueError(SECRETS[0])

def act(text):
    raise ValueError(SECRETS[1])

profiler = phaseprof.Profiler(sys.argv[1], budget=None, on_violation=act)
profiler.watch(Record, expected=0)
profiler.watch(Entry, expected=0)
profiler.track("broken", getter)
profiler.track("tables", lambda: tables)
for turn in range(14):
    with profiler.generation(turn), profiler.phase("train"):
        for secret in SECRETS:
            tables[secret].append(Record())
            holder.__dict__[secret].append(Record())
            bound.keywords[secret].append(Record())
            globals()[secret].append(Record())
        numbered[4111111111111111][("Ada Lovelace, patient 7", 3)].append(Entry())
        names.history.append([Record() for _ in range(3)])
        tables[SECRETS[0]].append(SECRETS[4] * 100_000)
try:
    with profiler.phase("fails"):
        raise RuntimeError(SECRETS[2])
except RuntimeError:
    pass
profiler.findings()
profiler.large_objects(0.1)
profiler.snapshot("end")
profiler.close()
"""


def test_no_key_value_argument_or_exception_of_the_program_is_stored(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(secrets=SECRETS))
    environ = {**os.environ, "API_TOKEN": SECRETS[3]}
    command = [sys.executable, str(program), str(tmp_path / "run"), f"--password={SECRETS[1]}", SECRETS[0]]

    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr
    stored = b"".join(file.read_bytes() for file in (tmp_path / "run").iterdir()).decode()
    assert [secret for secret in SECRETS if secret in stored] == []
    main = load(tmp_path / "run").main
    steps = " ".join(step for holder in main.holders for step in holder.steps)
    assert "[key]" in steps
    assert main.header is not None
    assert main.header.argv == ["program.py"]


@pytest.mark.parametrize(
    "name",
    ["losses", "_cache", "conv2d_weight", "layer1", "lastEpochLoss", "LOCAL_RANK", "obs", "x", "größe", "seq2seq"],
)
def test_names_are_shown(name: str) -> None:
    assert (shown_key(name), shown_attribute(name), bare_name(name)) == (f"['{name}']", f".{name}", name)


@pytest.mark.parametrize(
    "key",
    [
        *SECRETS, "", "a b", "a.b", "1st", 7, 7.5, None, b"losses", ("losses",), "x" * 41, "word_" * 9,
        "d41d8cd98f00b204e9800998ecf8427e", "deadbeefdeadbeefdeadbeefdeadbeef", "AKIAIOSFODNN7EXAMPLE",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "user_4111111111",
        "aBcDeFgHiJkLmNoP", type("Name", (str,), {})("losses"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_name_is_not_shown(key: object) -> None:
    assert not looks_like_name(key)
    assert {shown_key(key), shown_attribute(key), bare_name(key)} == {"[key]"}
