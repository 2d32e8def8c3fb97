"""A picture of what refers to a class's instances: objgraph walks and describes, Graphviz draws."""

from __future__ import annotations

import os
import shutil
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

from phaseprof.errors import MissingExtra, UsageError
from phaseprof.probes.census import instances
from phaseprof.probes.typeinfo import is_a, type_name

_MAX_DRAWN = 3  # more of one class have the same holders, and make the picture unreadable
_MAX_REFERRERS = 20
MOST_LEVELS = 1000


def draw_holders(cls: type, file: str | os.PathLike[str], *, depth: int = 5) -> int:
    """Draw what refers to the newest instances of a class, level by level.

    Unlike all other looks it holds the program's objects while it works, and objgraph asks some for their ``repr``.

    Args:
        cls: the class; its subclasses' instances count.
        file: written anew; ``.dot`` is text for Graphviz, any other ending a picture that its ``dot`` program makes.
        depth: levels of referrers.

    Returns:
        How many instances were drawn.

    Raises:
        MissingExtra: objgraph is not installed, or Graphviz for a picture.
        UsageError: ``cls`` is no class or has no instance, ``depth`` is no number of levels, or the file cannot be
            written.
    Cost: one pass of objgraph over the heap for each object drawn, 0.1 to 1 s on a million objects.
    """
    file = Path(file)
    objgraph = _objgraph(file)
    if not is_a(cls, type):
        raise UsageError(f"cls must be a class (got {type_name(type(cls))})")
    if not is_a(depth, int) or is_a(depth, bool) or not 1 <= depth <= MOST_LEVELS:
        raise UsageError(f"depth must be a number of levels from 1 to {MOST_LEVELS} (got {depth!r:.100})")
    found = instances([cls])
    del found[:-_MAX_DRAWN]
    if not found:
        raise UsageError(f"{type_name(cls)} has no instance that the collector tracks; draw it while one is alive")
    text = StringIO()
    objgraph.show_backrefs(
        found, max_depth=depth, too_many=_MAX_REFERRERS, extra_ignore=[id(found)], output=text
    )  # fmt: skip
    _write(text.getvalue(), file)
    return len(found)


def _objgraph(file: Path) -> Any:  # a module without types
    try:
        import objgraph
    except ImportError as error:
        raise MissingExtra("drawing holders needs objgraph; pip install 'phaseprof[graphs]'") from error
    if file.suffix != ".dot" and shutil.which("dot") is None:
        raise MissingExtra(f"{file.name} needs the dot of Graphviz, which is not on the path; write a .dot file")
    return objgraph


def _write(text: str, file: Path) -> None:
    try:
        if file.suffix == ".dot":
            file.write_text(text, encoding="utf-8")
            return
        command = ["dot", f"-T{file.suffix[1:]}", "-o", str(file)]
        subprocess.run(command, input=text, encoding="utf-8", check=True, capture_output=True)  # noqa: S603
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}; give a file in a folder that exists") from error
    except subprocess.CalledProcessError as error:
        raise UsageError(f"cannot draw {file}: {' '.join(error.stderr.split())}") from error
