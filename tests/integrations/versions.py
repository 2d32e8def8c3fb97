"""Whether the table of docs/integrations.md names the installed versions: python versions.py [--write]"""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"
_NAMED = re.compile(r"\| (?P<package>[a-z][\w-]+) (?P<version>\d[\w.]*) \|$", re.MULTILINE)


def named() -> dict[str, str]:
    """Return package to the version that the page names."""
    return {found["package"]: found["version"] for found in _NAMED.finditer(PAGE.read_text(encoding="utf-8"))}


def refresh() -> None:
    """Write the installed versions into the page."""
    text = _NAMED.sub(lambda found: f"| {found['package']} {version(found['package'])} |", PAGE.read_text("utf-8"))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if "--write" in sys.argv:
        refresh()
    older = {package: (shown, version(package)) for package, shown in named().items() if version(package) != shown}
    for package, (shown, installed) in older.items():
        print(f"{package}: the page says {shown}, installed is {installed}; run versions.py --write")
