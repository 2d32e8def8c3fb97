"""The phases that are open in a thread or task, as a tuple of their names."""

from __future__ import annotations


def without_last(stack: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Drop the innermost visit of ``name`` and what was left open inside it."""
    for depth in range(len(stack) - 1, -1, -1):
        if stack[depth] == name:
            return stack[:depth]
    return stack
