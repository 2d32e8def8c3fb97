"""Markup that cannot be forged: every text is escaped unless this module made it."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from math import isfinite

from phaseprof.report.text import Style, clean

_STYLE = Style()
_LONG = 32  # characters of a table's cell that is text rather than a figure
_LONG_NAME = 12  # characters of a name that would break badly in a narrow column
_VOID = frozenset({"meta", "hr", "br"})
# What may end a script element or begin another, and the line ends that old engines read inside a string.
_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


class Html(str):
    """Text that is markup already.  Only functions of this package make it, from parts that were escaped."""

    __slots__ = ()


def escape(text: str) -> Html:
    """Return foreign text as markup that shows it: no control or direction characters, no tag, no attribute's end."""
    return text if isinstance(text, Html) else Html(html.escape(clean(text, _STYLE), quote=True))


def join(*parts: str) -> Html:
    """Return the parts one after the other; what is not markup is escaped."""
    return Html("".join(map(escape, parts)))


def element(name: str, /, *children: str, **attributes: str | float | bool | None) -> Html:
    """Return one element.

    Args:
        name: the tag.
        children: markup, or text that is escaped.
        attributes: a trailing underscore is dropped and others become dashes; ``None`` and ``False`` leave one out,
            ``True`` gives it without a value.

    >>> str(element("a", "<b>", class_="x", aria_label='"', hidden=True))
    '<a class="x" aria-label="&quot;" hidden>&lt;b&gt;</a>'
    """
    written = []
    for key, value in attributes.items():
        label = key.rstrip("_").replace("_", "-")
        if value is True:
            written.append(f" {label}")
        elif value is not None and value is not False:
            written.append(f' {label}="{escape(value if isinstance(value, str) else str(value))}"')
    opening = f"<{name}{''.join(written)}>"
    return Html(opening if name in _VOID else f"{opening}{join(*children)}</{name}>")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str) -> Html:
    """Return a table that scrolls by itself where it is too wide.

    The first column names the row; of the others, columns of figures stand to the right and columns of words to the
    left.
    """
    words = [at == 0 or _is_words([row[at] for row in rows]) for at in range(len(titles))]
    heads = (element("th", t, scope="col", class_="words" if w else None) for t, w in zip(titles, words, strict=True))
    body = [
        element("tr", _name(row[0]), *(_cell(c, is_words=w) for c, w in zip(row[1:], words[1:], strict=True)))
        for row in rows
    ]
    whole = element(
        "table", element("caption", caption, class_="unseen"), element("thead", element("tr", *heads)),
        element("tbody", *body),
    )  # fmt: skip
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _is_words(column: Sequence[str]) -> bool:
    """Tell whether a column holds anything but figures; what is empty tells nothing."""
    return any(cell and (isinstance(cell, Html) or not (cell[0] in "+-?" or cell[0].isdigit())) for cell in column)


def _name(content: str) -> Html:
    """Return the cell that names a row: a long name gets room before it breaks."""
    return element("th", content, scope="row", class_="long" if len(content) > _LONG_NAME else None)


def _cell(content: str, *, is_words: bool) -> Html:
    """Return a cell: a figure stays on one line, a longer text may break."""
    is_long = len(content) > _LONG and not isinstance(content, Html)
    return element("td", content, class_="text" if is_long else "words" if is_words else None)


def json_text(tree: object) -> Html:
    """Write JSON that may stand inside a script element: nothing in it can end the element."""
    text = json.dumps(_finite(tree), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Html(text.translate(_IN_SCRIPT))


def _finite(tree: object) -> object:
    """Replace numbers that JSON does not have, and write whole floats as integers, which are shorter."""
    if isinstance(tree, float):
        if not isfinite(tree):
            return None
        return int(tree) if tree.is_integer() else float(f"{tree:.7g}")
    if isinstance(tree, dict):
        return {key: _finite(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_finite(value) for value in tree]
    return tree
