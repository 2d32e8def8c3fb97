"""The part that every tool adapter shares: context managers that do nothing until overridden."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from leakbench import Finding


class BaseTool:
    """An instrument that looks at nothing and reports nothing."""

    def start(self, program: Any) -> None:
        """Called once, after the program is built and before its first generation."""

    @contextmanager
    def generation(self, index: int) -> Iterator[None]:
        yield

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        yield

    @contextmanager
    def checkpoint(self, label: str) -> Iterator[None]:
        yield

    def watch(self, cls: type, expected: int | tuple[int, int] | None = None) -> None:
        pass

    def track(self, name: str, getter: Callable[[], Any]) -> None:
        pass

    def findings(self) -> list[Finding]:
        """Called once, after the last generation."""
        return []
