"""The frame of every page: one HTML document that holds all it shows, and whose policy forbids everything else.

The page's own script draws the charts; the policy forbids every other by hash, and every request, so that a label that
holds markup could do nothing even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from phaseprof._version import __version__
from phaseprof.report.page.markup import Html, element, join, json_text
from phaseprof.report.words import plural

_SCRIPTS = ("draw.js", "charts.js", "flame.js", "blocks.js", "page.js")  # in this order: each uses those before it


@dataclass(frozen=True)
class Panel:
    """One of several parts of a page that a tab leads to.

    Attributes:
        prefix: leads every identifier in it, and is its own.
        title: names it on the tab.
        n_leaks: leaks found in it.
        body: its markup.
    """

    prefix: str
    title: str
    n_leaks: int
    body: Html


def document(title: str, body: Html, tree: Mapping[str, object]) -> str:
    """Return a whole document.

    Args:
        title: what the browser's tab says.
        body: everything but the scripts.
        tree: what the page's script draws: ``charts`` maps the identifier of a place to its views, ``names`` the
            first part of such an identifier to how generations are called there; ``axis`` is the word for what
            charts run along, ``generation`` if it is not given.
    """
    script = "".join(map(_own, _SCRIPTS))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"phaseprof {__version__}"),
        element("title", title),
        element("style", Html(_own("page.css"))),
    )
    scripts = (
        element("script", json_text(tree), id="phaseprof-data", type="application/json"),
        element("script", Html(script)),
    )
    whole = element("html", head, element("body", body, *scripts), lang="en")
    return str(join(Html("<!DOCTYPE html>\n"), whole))


def _own(name: str) -> str:
    return files("phaseprof.report.page").joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def banner(words: str, kind: str, *, brand: str, command: str = "", facts: Sequence[str] = ()) -> Html:
    """Return the head of a page: the verdict in one line, and what it is on.

    Args:
        words: the verdict.
        kind: the class that colours it: ``bad``, ``warn`` or ``good``.
        brand: what made the page.
        command: what was run or read; left out where empty.
        facts: said in small letters; empty ones are left out.
    """
    return element(
        "header",
        element("div", element("p", brand, class_="brand"), element("h1", words, class_=kind),
                element("p", element("code", command), class_="command") if command else "",
                element("p", " · ".join(filter(None, facts)), class_="fine")),
        class_=f"banner {kind}",
    )  # fmt: skip


def tabs(panels: Sequence[Panel], *, label: str) -> Html:
    """Return the row of buttons that choose a panel."""
    buttons = [
        element(
            "button", panel.title, _mark(panel.n_leaks), type="button", role="tab", id=f"{panel.prefix}-tab",
            aria_controls=panel.prefix, aria_selected="true" if at == 0 else "false",
        )
        for at, panel in enumerate(panels)
    ]  # fmt: skip
    return element("div", *buttons, class_="tabs live-only", role="tablist", aria_label=label)


def _mark(n_leaks: int) -> Html:
    return (
        element("span", plural(n_leaks, "leak"), class_="tag bad")
        if n_leaks
        else element("span", "no leak", class_="tag good")
    )


def bodies(panels: Sequence[Panel]) -> list[Html]:
    """Return the panels themselves; a single one is the page's main part and needs no tab."""
    several = len(panels) > 1
    return [
        element(
            "main" if not several else "div",
            element("h2", panel.title, class_="rank-title") if several else "", panel.body,
            id=panel.prefix, class_="process", role="tabpanel" if several else None,
            aria_labelledby=f"{panel.prefix}-tab" if several else None,
        )
        for panel in panels
    ]  # fmt: skip


def footer() -> Html:
    """Return the last line of a page."""
    said = f"Made by phaseprof {__version__}. This file holds everything it shows and loads nothing."
    return element("footer", element("p", said), class_="fine")
