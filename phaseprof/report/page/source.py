"""Where a phase is written: the lines around it, and a link that opens them in an editor.

Nothing of a program's text is recorded; its lines are read when the page is made, where the file is there.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from phaseprof.recording.model import ProcessRun
from phaseprof.report.page.markup import Html, element, join

_BEFORE, _AFTER = 2, 9
_MAX_BYTES = 1 << 20
_WIDEST = 160
_ENDING = ".py"


@dataclass(frozen=True)
class Site:
    """A line of the program.

    Attributes:
        file: path as the interpreter has it.
        line: its number, from 1.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def short(self) -> str:
        """The file's name and the line."""
        return f"{Path(self.file).name}:{self.line}"


def site_of(text: str) -> Site | None:
    """Read ``file:line``; ``None`` where a text is none."""
    file, colon, line = text.rpartition(":")
    return Site(file, int(line)) if colon and file and line.isascii() and line.isdigit() and len(line) < 9 else None


def sites_of(process: ProcessRun) -> dict[str, Site]:
    """Return where each phase, block and checkpoint is written, by its label."""
    found = ((label.name, site_of(label.site)) for label in process.labels.values() if label.role != "generation")
    return {name: site for name, site in found if site is not None}


def editor_link(site: Site) -> Html:
    """Return the file and the line as a link that an editor opens, as plain text where the path is not a whole one."""
    words = element("code", site.short, title=str(site))
    if not site.file.startswith("/"):
        return words
    return element("a", words, href=f"vscode://file{quote(site.file)}:{site.line}")


def source_block(site: Site, *, until_unix_s: float, says: str = "Defined at") -> Html:
    """Return the lines around a place in a program that opens at a click; where they cannot be read, the place alone.

    Args:
        site: the place.
        until_unix_s: when the recording ended: of a file that was changed later, it is said.
        says: what leads the place.
    """
    lines = _lines_around(site)
    path = element("code", str(site), class_="path")
    where = element("p", f"{says} ", editor_link(site), " ", path, class_="site")
    if not lines:
        return where
    changed = Path(site.file).stat().st_mtime > until_unix_s > 0
    note = element("p", "The file was changed after the run.", class_="fine") if changed else ""
    shown = [
        element("span", element("i", f"{number:>5}"), f" {written}\n", class_="here" if number == site.line else None)
        for number, written in lines
    ]
    text = element("pre", *shown, class_="source")
    return join(where, element("details", element("summary", "Show the lines"), note, text))


def _lines_around(site: Site) -> Sequence[tuple[int, str]]:
    """Read the lines; of nothing but a Python file: a recording may name any file of whoever makes the page."""
    path = Path(site.file)
    try:
        if path.suffix != _ENDING or not path.is_absolute() or not stat.S_ISREG(path.stat().st_mode):
            return ()
        with path.open("rb") as stream:
            text = stream.read(_MAX_BYTES).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ()
    first = max(1, site.line - _BEFORE)
    return [(number, text[number - 1][:_WIDEST]) for number in range(first, min(site.line + _AFTER, len(text)) + 1)]
