"""What the documentation is made of, for the tests and for the tool that refreshes its generated parts.

    python tests/docs/pages.py --help-texts     write the live --help into docs/reference/cli.md
    python tests/docs/pages.py --demo           run the demo and put what it prints into the tutorial and the README

Two comments in a page have a meaning.
``<!-- help: NAME -->`` stands before a block that holds the help of a command. ``<!-- demo: begin NAME -->`` and
``<!-- demo: end -->`` stand around a block of the demo's output.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CLI_PAGE = DOCS / "reference" / "cli.md"
TUTORIAL, README = DOCS / "tutorial.md", ROOT / "README.md"
DEMO_GENERATIONS = "12"

_CODE = re.compile(r"^```python\n(?P<shown>.*?)^```$", re.MULTILINE | re.DOTALL)
_HELP = re.compile(r"<!-- help:(?: (?P<name>\w+))? -->\n```text\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_DEMO = re.compile(
    r"<!-- demo: begin (?P<name>\w+) -->\n```text\n(?P<text>.*?)^```\n<!-- demo: end -->", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """Python code of a page, and the line of the page that its first line is."""

    code: str
    line: int


def pages() -> list[Path]:
    """Return every page that users read."""
    return [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def python_blocks(page: Path) -> list[Block]:
    """Return the code that a page runs, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["shown"], text.count("\n", 0, found.start()) + 2)
        for found in _CODE.finditer(text)
    ]


def links(page: Path) -> Iterator[str]:
    """Yield the targets of a page's links, code left out."""
    for found in _LINK.finditer(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        yield found["target"]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = (found["text"].strip().lower() for found in _HEADING.finditer(text))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def help_blocks() -> dict[str, str]:
    """Return command name to its help as the page shows it; the program's own is under ``""``."""
    return {found["name"] or "": found["text"] for found in _HELP.finditer(CLI_PAGE.read_text(encoding="utf-8"))}


def live_help(command: str) -> str:
    """Return what ``phaseprof COMMAND --help`` prints."""
    return run_phaseprof([*([command] if command else []), "--help"])


def run_phaseprof(words: list[str], cwd: Path = ROOT) -> str:
    """Run the command line in a process of its own and return what it printed."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    environ = {**os.environ, "COLUMNS": "80", "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    environ.pop("NO_COLOR", None)  # it asks for plain text, and pages show the other
    command = [sys.executable, "-m", "phaseprof", *words]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environ, cwd=cwd)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"phaseprof {' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def words_of(text: str) -> list[str]:
    """Return a text's words, so that another Python's way to wrap lines is no difference."""
    return text.split()


def refresh_help() -> None:
    """Write the live help into the page of the command line; a new command gets a section at the end."""
    from phaseprof.cli import COMMANDS

    text = CLI_PAGE.read_text(encoding="utf-8")
    for name in ["", *(name for name, _, _ in COMMANDS)]:
        mark = f"<!-- help: {name} -->" if name else "<!-- help: -->"
        block = f"{mark}\n```text\n{live_help(name)}```"
        if name in help_blocks():
            pattern = re.compile(rf"{mark}\n```text\n.*?^```$", re.MULTILINE | re.DOTALL)
            text = pattern.sub(lambda _, block=block: block, text)
        else:
            text = f"{text.rstrip()}\n\n## `{name}`\n\n{block}\n"
    CLI_PAGE.write_text(text, encoding="utf-8")


def demo_outputs(scenario: str = "evaluate") -> dict[str, str]:
    """Run the demo and its recording's check; return name of a block to its text."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        printed = run_phaseprof(
            ["demo", "--full", "--scenario", scenario, "--generations", DEMO_GENERATIONS, "--out", "run"], cwd=out
        )
        checked = run_phaseprof(["check", "run"], cwd=out)
    parts = sections(printed)
    return {"start": parts.pop("", ""), **parts, "check": checked}


# Blocks of the demo's output by the word that their headings are known by.
SECTIONS = {
    "findings": "FINDINGS", "phases": "PHASES AND CHECKPOINTS", "trend": "MEMORY TREND",
    "growth": "MEMORY GROWTH ANALYSIS", "counts": "WATCHED OBJECT COUNTS", "tracked": "Memory Report",
    "throughput": "THROUGHPUT", "sums": "WHERE MEMORY GREW", "explained": "RSS GROWTH EXPLAINED",
    "devices": "TENSORS BY DEVICE", "cost": "COST OF PROFILING",
}  # fmt: skip


def sections(printed: str) -> dict[str, str]:
    """Part the demo's output at its headings; what comes before the first is under ``""``."""
    lines = printed.splitlines()
    starts = {
        name: next((n - 1 for n, line in enumerate(lines) if word in line and n and set(lines[n - 1]) == {"="}), None)
        for name, word in SECTIONS.items()
    }
    found = sorted((at, name) for name, at in starts.items() if at is not None)
    final = next((n - 1 for n, line in enumerate(lines) if "FINAL MEMORY ANALYSIS" in line), len(lines))
    parts = {"": "\n".join(lines[:final]).rstrip() + "\n"}
    for (begin, name), end in zip(found, [*(at for at, _ in found[1:]), len(lines)], strict=True):
        parts[name] = "\n".join(lines[begin:end]).rstrip() + "\n"
    return parts


def refresh_demo() -> None:
    """Put the demo's output between the markers of the tutorial and the README, long parts shortened."""
    outputs = demo_outputs()
    for page, head in ((TUTORIAL, 34), (README, 24)):
        page.write_text(_with_outputs(page.read_text(encoding="utf-8"), outputs, head), encoding="utf-8")


def _with_outputs(text: str, outputs: dict[str, str], head: int) -> str:
    def filled(found: re.Match[str]) -> str:
        name = found["name"]
        return f"<!-- demo: begin {name} -->\n```text\n{shortened(outputs[name], head)}```\n<!-- demo: end -->"

    return _DEMO.sub(filled, text)


def shortened(text: str, head: int, tail: int = 1) -> str:
    """Leave out the middle of a long text, with a line of three dots in its place."""
    lines = [line.rstrip() for line in text.splitlines()]
    if len(lines) > head + tail + 1:
        lines = [*lines[:head], "...", *lines[-tail:]]
    return "\n".join(lines) + "\n"


def demo_blocks(page: Path) -> dict[str, str]:
    """Return the blocks of the demo's output that a page shows."""
    return {found["name"]: found["text"] for found in _DEMO.finditer(page.read_text(encoding="utf-8"))}


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--help-texts", action="store_true")
    parser.add_argument("--demo", action="store_true")
    given = parser.parse_args()
    if given.help_texts:
        refresh_help()
    if given.demo:
        refresh_demo()
