"""The TCK's notation of results, read into plain comparable tuples, and results of the engine
turned into the same.

(:A {x: 1})   [:T {y: 2}]   <(:A)-[:T]->(:B)>   [1, 'two']   {k: null}   1.5   NaN   true
"""

from __future__ import annotations

import math
from typing import Any

from doxa.query.core.elements import Edge, Node, Path


def canonical(value: Any) -> Any:
    """A result as a tuple whose equality is the TCK's: types count, elements compare by labels,
    type and properties."""
    if isinstance(value, Node):
        return ("node", tuple(sorted(value.labels)), _map(value.properties))
    if isinstance(value, Edge):
        return ("edge", value.type, _map(value.properties))
    if isinstance(value, Path):
        parts: list[Any] = [canonical(value.nodes[0])]
        for index, edge in enumerate(value.edges):
            parts.append((canonical(edge), "out" if edge.start == value.nodes[index].id else "in"))
            parts.append(canonical(value.nodes[index + 1]))
        return ("path", tuple(parts))
    if isinstance(value, bool) or value is None:
        return ("plain", value)
    if isinstance(value, int):
        return ("integer", value)
    if isinstance(value, float):
        return ("float", "NaN" if math.isnan(value) else value)
    if isinstance(value, list):
        return ("list", tuple(canonical(item) for item in value))
    if isinstance(value, dict):
        return _map(value)
    return ("text", str(value))


def _map(values: dict[str, Any]) -> Any:
    return ("map", tuple(sorted((key, canonical(value)) for key, value in values.items())))


def unordered(value: Any) -> Any:
    """The same with the items of every list sorted, for steps that ignore their order."""
    if isinstance(value, tuple):
        if len(value) == 2 and value[0] == "list":
            return ("list", tuple(sorted((unordered(item) for item in value[1]), key=repr)))
        return tuple(unordered(item) for item in value)
    return value


def expected(text: str) -> Any:
    """Read one cell."""
    reader = _Reader(text)
    found = reader.value()
    reader.blank()
    if reader.at != len(text):
        raise ValueError(f"not read to its end: {text!r} at {reader.at}")
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def blank(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def starts(self, part: str) -> bool:
        self.blank()
        return self.text.startswith(part, self.at)

    def take(self, part: str) -> bool:
        if self.starts(part):
            self.at += len(part)
            return True
        return False

    def need(self, part: str) -> None:
        if not self.take(part):
            raise ValueError(f"{part!r} expected in {self.text!r} at {self.at}")

    def value(self) -> Any:
        self.blank()
        if self.starts("("):
            return self.node()
        if self.starts("[:"):
            return self.edge()
        if self.starts("<"):
            return self.path()
        if self.starts("["):
            return self.list()
        if self.starts("{"):
            return self.map()
        if self.starts("'"):
            return ("text", self.quoted())
        return self.word()

    def node(self) -> Any:
        self.need("(")
        labels = self.labels()
        properties = self.map() if self.starts("{") else ("map", ())
        self.need(")")
        return ("node", tuple(sorted(labels)), properties)

    def labels(self) -> list[str]:
        found = []
        while self.take(":"):
            found.append(self.name())
        return found

    def name(self) -> str:
        self.blank()
        if self.take("`"):
            end = self.text.index("`", self.at)
            name = self.text[self.at : end]
            self.at = end + 1
            return name
        start = self.at
        while self.at < len(self.text) and (
            self.text[self.at].isalnum() or self.text[self.at] in "_#@$."
        ):
            self.at += 1
        return self.text[start : self.at]

    def edge(self) -> Any:
        self.need("[")
        kind = self.labels()[0]
        properties = self.map() if self.starts("{") else ("map", ())
        self.need("]")
        return ("edge", kind, properties)

    def path(self) -> Any:
        self.need("<")
        parts: list[Any] = [self.node()]
        while not self.take(">"):
            if self.take("<-"):
                edge = self.edge()
                self.need("-")
                parts.append((edge, "in"))
            else:
                self.need("-")
                edge = self.edge()
                self.need("->")
                parts.append((edge, "out"))
            parts.append(self.node())
        return ("path", tuple(parts))

    def list(self) -> Any:
        self.need("[")
        items: list[Any] = []
        while not self.take("]"):
            if items:
                self.need(",")
            items.append(self.value())
        return ("list", tuple(items))

    def map(self) -> Any:
        self.need("{")
        items: list[Any] = []
        while not self.take("}"):
            if items:
                self.need(",")
            name = self.name()
            self.need(":")
            items.append((name, self.value()))
        return ("map", tuple(sorted(items)))

    def quoted(self) -> str:
        self.need("'")
        out = ""
        while self.text[self.at] != "'":
            if self.text[self.at] == "\\" and self.text[self.at + 1 : self.at + 2] in ("'", "\\"):
                self.at += 1
            out += self.text[self.at]
            self.at += 1
        self.at += 1
        return out

    def word(self) -> Any:
        start = self.at
        while (
            self.at < len(self.text)
            and self.text[self.at] not in ",]})>"
            and not self.text[self.at].isspace()
        ):
            self.at += 1
        word = self.text[start : self.at]
        if word in ("true", "false", "null"):
            return ("plain", {"true": True, "false": False, "null": None}[word])
        if word in ("NaN", "Inf", "-Inf"):
            return ("float", "NaN" if word == "NaN" else float(word.lower()))
        if word.lstrip("-").isdigit():
            return ("integer", int(word))
        return ("float", float(word))
