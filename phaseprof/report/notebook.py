"""What notebooks and rich show instead of plain text: HTML without scripts, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

Rows = Sequence[Sequence[str]]


def preformatted(text: str) -> str:
    """Return a text as HTML that keeps its columns."""
    return f'<pre style="line-height: 1.25; white-space: pre; overflow-x: auto">{escape(text)}</pre>'


def table(head: Sequence[str], rows: Rows) -> str:
    """Return an HTML table whose cells are texts."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table style="text-align: left"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>'


def folded(title: str, inner: str) -> str:
    """Return HTML that shows ``inner``, which is HTML already, when its title is clicked."""
    return f"<details><summary>{escape(title)}</summary>{inner}</details>"


def rich_text(text: str) -> Any:
    """Return a text that rich prints as it is: brackets in it are no markup."""
    from rich.text import Text

    return Text(text)


def rich_table(title: str, head: Sequence[str], rows: Rows) -> Any:
    """Return a table for rich; cells are texts, not markup."""
    from rich.table import Table
    from rich.text import Text

    made = Table(*head, title=Text(title))
    for row in rows:
        made.add_row(*map(Text, row))
    return made
