"""What must be undone is undone, even if a signal handler raises while a loop goes round.

From Python 3.12 on the compiler leaves a loop's conditional jump back out of the ``try`` or ``with`` around it.  Signal
handlers run at that very jump: what they raise there passes by, and a lock stays locked.  A loop that ends in a plain
statement, or is in a function of its own, is protected.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

import phaseprof

HOME = Path(phaseprof.__file__).parent
# Where the program's signals come: what runs in its loop.
ROOMS = ("live", "native", "probes")

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="older compilers protect every jump")

LOOPS = """
def protected(lock, waiting):
    with lock:
        for one in waiting:
            one()

def bare(lock, waiting):
    with lock:
        while waiting:
            waiting.pop()

def restored(self, waiting):
    try:
        while waiting:
            waiting.pop()
    finally:
        self.is_busy = False
"""


def functions_of(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from functions_of(constant)


def bare_jumps(code: CodeType) -> Iterator[int]:
    """Yield the lines of loops within a ``with``, or a ``try`` that sets an attribute at its end, with a bare jump."""
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    handlers = [(entry.end - entry.start, range(entry.start, entry.end), entry.target) for entry in table]
    steps = list(dis.get_instructions(code))

    def handler_of(offset: int) -> int | None:
        around = [(length, target) for length, covered, target in handlers if offset in covered]
        return min(around, default=(0, None))[1]

    for step in steps:
        if step.opname != "JUMP_BACKWARD":
            continue
        around = handler_of(step.argval)
        if around is not None and handler_of(step.offset) != around and undoes(steps, around):
            yield step.positions.lineno if step.positions and step.positions.lineno else code.co_firstlineno


def undoes(steps: list[dis.Instruction], handler: int) -> bool:
    """Whether a handler leaves a ``with`` or sets an attribute before it raises anew."""
    for step in steps:
        if step.offset >= handler:
            if step.opname in ("WITH_EXCEPT_START", "STORE_ATTR"):
                return True
            if step.opname in ("RERAISE", "CHECK_EXC_MATCH"):
                return False
    return False


def test_a_bare_jump_is_found() -> None:
    found = {code.co_name: list(bare_jumps(code)) for code in functions_of(compile(LOOPS, "loops", "exec"))}

    assert found["protected"] == []
    assert found["bare"] == [9]
    assert found["restored"] == [14]


def test_no_loop_of_ours_lets_a_handlers_exception_pass_what_must_be_undone() -> None:
    files = [file for room in ROOMS for file in (HOME / room).rglob("*.py")]
    files += [HOME / "recording" / name for name in ("writer.py", "parts.py")]

    bare = [
        f"{file.relative_to(HOME)}:{line} {code.co_qualname}"
        for file in files
        for code in functions_of(compile(file.read_text(encoding="utf-8"), str(file), "exec"))
        for line in bare_jumps(code)
    ]

    assert len(files) > 50
    assert bare == []
