"""Takes a page apart, as a browser that runs no script reads it."""

from __future__ import annotations

import json
from html.parser import HTMLParser

VOID = {"meta", "hr", "br", "link", "img", "input"}


class Page(HTMLParser):
    """A page taken apart: elements with their attributes, the text outside scripts and styles, scripts by type."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.badly_nested: list[str] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        if tag == "script":
            self.scripts.append((attributes, ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.badly_nested.append(tag)

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif inside != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def data(self) -> dict[str, object]:
        return json.loads(next(text for attributes, text in self.scripts if attributes.get("id") == "phaseprof-data"))

    def named(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]
