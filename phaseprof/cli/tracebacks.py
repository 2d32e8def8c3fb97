"""Shows an exception of the user's program as the interpreter would have, without the frames that ran it."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import phaseprof

_OURS = str(Path(phaseprof.__file__).parent) + os.sep
_DEMO = _OURS + "demo" + os.sep


def show(error: BaseException) -> None:
    """Give an exception to ``sys.excepthook``, which the program may have set."""
    _trim(error, set())
    sys.excepthook(type(error), error, error.__traceback__)


def _trim(error: BaseException | None, seen: set[int]) -> None:
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = without_ours(error.__traceback__)
    _trim(error.__cause__, seen)
    _trim(error.__context__, seen)


def without_ours(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """Drop frames of phaseprof, and of the import system, that lie above a frame of the user's.

    The innermost frames stay whosever they are: there the error was raised.
    """
    chain: list[types.TracebackType] = []
    while traceback is not None:
        chain.append(traceback)
        traceback = traceback.tb_next
    users = [at for at, one in enumerate(chain) if not _is_ours(one)]
    last = users[-1] if users else -1
    kept: types.TracebackType | None = None
    for at in range(len(chain) - 1, -1, -1):
        one = chain[at]
        if at > last >= 0 or not _is_ours(one):
            kept = types.TracebackType(kept, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return kept


def _is_ours(traceback: types.TracebackType) -> bool:
    file = traceback.tb_frame.f_code.co_filename
    return file.startswith("<frozen importlib") or (file.startswith(_OURS) and not file.startswith(_DEMO))
