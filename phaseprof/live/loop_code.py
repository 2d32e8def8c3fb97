"""The loops of a code object, read from its instructions."""

from __future__ import annotations

import dis
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType


@dataclass(frozen=True)
class Loop:
    """One loop of a function or module.

    Attributes:
        code: whose.
        head: offset in bytes of the instruction that a turn begins with.
        end: offset of the last jump back to it.
        line: the line of the head, in the source file.
        variable: what a ``for`` binds, the first name of several; ``None`` where there is none.
    """

    code: CodeType
    head: int
    end: int
    line: int
    variable: str | None

    def __str__(self) -> str:
        what = "while" if self.variable is None else f"for {self.variable}"
        return f"{self.code.co_filename}:{self.line} ({what} ...)"


@lru_cache(maxsize=512)
def loops_of(code: CodeType) -> tuple[Loop, ...]:
    """Return the loops of a code object, outer ones first.  Cost: 1 µs an instruction, once."""
    steps = list(dis.get_instructions(code))
    at = {step.offset: number for number, step in enumerate(steps)}
    # Where an exception ends an ``await``, a jump goes back to its end.
    ends_of_await = {step.offset for step in steps if step.opname == "END_SEND"}
    ends: dict[int, int] = {}
    for step in steps:
        if _is_jump(step) and step.argval <= step.offset and step.argval not in ends_of_await:
            ends[step.argval] = max(step.offset, ends.get(step.argval, 0))
    lines = dict(_lines(code))
    found = [
        Loop(code, head, end, _line_of(lines, head), _variable(steps[at[head] :]) if head in at else None)
        for head, end in ends.items()
    ]
    return tuple(sorted(found, key=lambda loop: (loop.head, -loop.end)))


def loops_at(code: CodeType, offset: int) -> list[Loop]:
    """Return the loops that an instruction lies in, outermost first."""
    return [loop for loop in loops_of(code) if loop.head <= offset <= loop.end]


def _is_jump(step: dis.Instruction) -> bool:
    # The jumps of ``await`` and ``yield from`` go round inside one expression.
    return "JUMP" in step.opname and "NO_INTERRUPT" not in step.opname and isinstance(step.argval, int)


def _lines(code: CodeType) -> list[tuple[int, int]]:
    return [(start, line) for start, line in dis.findlinestarts(code) if line is not None]


def _line_of(lines: dict[int, int], offset: int) -> int:
    before = [start for start in lines if start <= offset]
    return lines[max(before)] if before else 0


def _variable(steps: list[dis.Instruction]) -> str | None:
    """The name that the head of a ``for`` binds."""
    if not steps or steps[0].opname != "FOR_ITER":
        return None
    for step in steps[1:4]:
        if step.opname.startswith("STORE_"):
            name = step.argval[0] if isinstance(step.argval, tuple) else step.argval
            return name if isinstance(name, str) else None
    return None
