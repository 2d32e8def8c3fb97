"""The folder through which whoever attaches and the observed program speak: small files, each written whole."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from phaseprof.attaching import begin

BEGAN, ENDED, STOP, PAGE, ORDER = "began", "ended", "stop", "page", "order"
# What the program is made to run: it binds no name, leaves no file open, and does nothing once the folder is gone.
_CODE = """\
try:
 __import__('builtins').exec(
  (lambda file: (file.read(), file.close())[0])(__import__('builtins').open({script!r}, encoding='utf-8')),
  {{'folder': {folder!r}}})
except OSError:
 pass
"""


class Errand:
    """What is asked of the program, and what it answers; when the block is left, nobody asks any more.

    Args:
        order: what ``phaseprof.attaching.inside`` is to do.

    Attributes:
        folder: where the files lie, for this user alone.
        script: a file that begins it, for interpreters that take one.
        code: the text of that file.
    """

    def __init__(self, order: Mapping[str, object]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="phaseprof-attach-"))
        begins = self.folder / "begin.py"
        begins.write_text(Path(begin.__file__).read_text(encoding="utf-8") + "\n\nbegin(folder)\n", encoding="utf-8")
        self.code = _CODE.format(script=str(begins), folder=str(self.folder))
        self.script = self.folder / "code.py"
        self.script.write_text(self.code, encoding="utf-8")
        self.write(ORDER, order)

    def __enter__(self) -> Errand:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name: str, what: object) -> None:
        """Write one file."""
        (self.folder / name).write_text(json.dumps(what), encoding="utf-8")

    def write_lines(self, name: str, lines: Sequence[str]) -> Path:
        """Write a file of lines; return where it is."""
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def answer(self, name: str) -> dict[str, object] | None:
        """What the program has written under a name; ``None`` until it has."""
        try:
            found: dict[str, object] = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except OSError:
            return None
        return found
