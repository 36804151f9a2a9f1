"""Pictures as SVG: a graph, an explanation, a curve. Text stays text that can be selected, and what
comes from a memory is never markup. A picture needs no script, font or file of elsewhere, and
follows the light or dark theme of who looks at it.

Source: SVG 2; WAI-ARIA Graphics (role="img" with a title and a description).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

_STYLE = """
text{font:13px system-ui,sans-serif;fill:#1b1b1b}.small{font-size:11px;fill:#555}
rect,circle{fill:#fff;stroke:#555}.self rect{stroke-width:2.5}.retired rect{stroke-dasharray:4 3}
path,line,polyline{fill:none;stroke:#777}.score{stroke:#0b62a4;stroke-width:2}
.hidden{stroke:#b00;stroke-dasharray:2 4}.threshold{stroke:#b00;stroke-dasharray:6 4}
.page{fill:#fff;stroke:none}
@media(prefers-color-scheme:dark){text{fill:#eee}.small{fill:#bbb}.page{fill:#1b1b1b}
rect,circle{fill:#262626;stroke:#aaa}.score{stroke:#6fb6ee}}
""".replace("\n", "")
_CARD, _ROW, _GAP, _MARGIN = 230, 58, 110, 24
_CHARS = 32


class Card(NamedTuple):
    """A box of a picture: its text, a line below it, its column and what it is."""

    key: str
    text: str
    below: str
    column: int
    kind: str = ""  # self, retired


class Arrow(NamedTuple):
    """An edge between two boxes, with its name."""

    start: str
    end: str
    name: str


def document(width: int, height: int, title: str, body: Iterable[str]) -> str:
    """Return an SVG document."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label={quoteattr(_clean(title))}>'
        f"<title>{_text(title)}</title><style>{_STYLE}</style>"
        f'<rect class="page" width="{width}" height="{height}"/>{"".join(body)}</svg>\n'
    )


def cards_svg(title: str, cards: Sequence[Card], arrows: Sequence[Arrow]) -> str:
    """Return boxes in columns with arrows between them. Each box is as wide as the others, and a
    text that does not fit is cut, and whole in its title."""
    first = min(card.column for card in cards)
    columns: dict[int, list[Card]] = {}
    for card in cards:
        columns.setdefault(card.column - first, []).append(card)
    tallest = max(map(len, columns.values()))
    height = tallest * _ROW + 2 * _MARGIN
    width = (max(columns) + 1) * (_CARD + _GAP) - _GAP + 2 * _MARGIN
    places: dict[str, tuple[float, float]] = {}
    boxes = []
    for column, held in sorted(columns.items()):
        top = _MARGIN + (tallest - len(held)) * _ROW / 2
        for at, card in enumerate(held):
            x, y = _MARGIN + column * (_CARD + _GAP), top + at * _ROW
            places[card.key] = (x, y + 22)
            boxes.append(_box(card, x, y))
    lines = [_arrow(places, arrow) for arrow in arrows if {arrow.start, arrow.end} <= places.keys()]
    marker = (
        '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8" /></marker></defs>'
    )
    return document(width, height, title, [marker, *lines, *boxes])


def _box(card: Card, x: float, y: float) -> str:
    below = _text(_cut(card.below, 40))
    return (
        f'<g class="{card.kind}"><title>{_text(card.text)} {_text(card.below)}</title>'
        f'<rect x="{x:g}" y="{y:g}" width="{_CARD}" height="44" rx="5"/>'
        f'<text x="{x + 10:g}" y="{y + 18:g}">{_text(_cut(card.text))}</text>'
        f'<text class="small" x="{x + 10:g}" y="{y + 35:g}">{below}</text></g>'
    )


def _arrow(places: dict[str, tuple[float, float]], arrow: Arrow) -> str:
    (x1, y1), (x2, y2) = places[arrow.start], places[arrow.end]
    if x1 == x2:  # in one column: around the right side
        start = end = x1 + _CARD
        bend = 40.0
        middle = start + bend * 0.75
    else:
        start, end = (x1 + _CARD, x2) if x1 < x2 else (x1, x2 + _CARD)
        bend = (end - start) / 2
        middle = (start + end) / 2
    turn = end + bend if x1 == x2 else end - bend
    path = f"M{start:g} {y1:g} C{start + bend:g} {y1:g} {turn:g} {y2:g} {end:g} {y2:g}"
    name = _text(_cut(arrow.name, 18))
    label = f'<text class="small" text-anchor="middle" x="{middle:g}" y="{(y1 + y2) / 2 - 4:g}">'
    return f'<path d="{path}" marker-end="url(#end)"/>{label}{name}</text>'


def walk_svg(walk: Any, texts: dict[str, str]) -> str:
    """Return what a traversal reached, a column for each step away. `texts` has what the addresses
    mean."""
    cards = {walk.start: Card(walk.start, texts.get(walk.start, ""), walk.start, 0, "self")}
    arrows = []
    for step in walk.steps:
        kind = "" if step.current else "retired"
        text = texts.get(step.kref) or step.kref
        cards.setdefault(step.kref, Card(step.kref, text, step.kref, step.depth, kind))
        arrows.append(Arrow(step.via, step.kref, step.edge))
    return cards_svg(f"What is around {walk.start}", list(cards.values()), arrows)


def explanation_svg(found: Any) -> str:
    """Return an explanation: grounds to the left, what depends on it to the right, what it replaced
    and what it was retracted for around it."""
    own = found.revision.kref
    status = f"{found.revision.status}, {found.revision.trust}, {found.revision.confidence:g}"
    cards = [Card(own, found.revision.summary, status, 0, "self")]
    arrows = []
    for rows, column, name, inward in (
        (found.grounds, -1, "supports", True),
        (found.replaced, -1, "replaced by", True),
        (found.dependents, 1, "supports", False),
        (found.gave_way_to, 1, "retracted for", False),
        (found.contradicts, 1, "contradicts", False),
    ):
        for at, row in enumerate(rows):
            key = f"{name}{column}{at}"
            kind = "retired" if name == "replaced by" else ""
            cards.append(Card(key, row.says, row.kref, column, kind))
            arrows.append(Arrow(key, own, name) if inward else Arrow(own, key, name))
    return cards_svg(f"Why {found.revision.summary}", cards, arrows)


def curve_svg(found: dict[str, Any]) -> str:
    """Return a policy's score over time, as `policy plot` computes it: what is hidden is dotted."""
    left, top, width, height = 56, 24, 560, 240
    points = found["points"]
    days = points[-1][0] or 1

    def place(day: float, value: float) -> str:
        return f"{left + day / days * width:.1f},{top + (1 - value) * height:.1f}"

    seen: list[tuple[bool, list[str]]] = []
    start, end = found["visibleFromDays"], found["visibleUntilDays"]
    for day, value in points:
        shown = start is not None and day >= start and (end is None or day < end)
        if not seen or seen[-1][0] != shown:
            if seen:
                seen[-1][1].append(place(day, value))
            seen.append((shown, []))
        seen[-1][1].append(place(day, value))
    y = top + (1 - found["threshold"]) * height
    body = [
        f'<polyline class="{"score" if shown else "hidden"}" points="{" ".join(held)}"/>'
        for shown, held in seen
    ]
    body.append(f'<line class="threshold" x1="{left}" x2="{left + width}" y1="{y:g}" y2="{y:g}"/>')
    body += [
        f'<text class="small" x="{left - 8}" y="{top + (1 - value) * height + 4:g}"'
        f' text-anchor="end">{value:.2f}</text>'
        for value in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    body += [
        f'<text class="small" x="{left + part * width:g}" y="{top + height + 18}"'
        f' text-anchor="middle">{days * part:.3g} d</text>'
        for part in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    body.append(
        f'<path d="M{left} {top} V{top + height} H{left + width}"/><text x="{left + 8}"'
        f' y="{top - 8}">{_text(found["name"])}: {_text(found["function"])}, threshold'
        f" {found['threshold']:g}</text>"
    )
    return document(left + width + 24, top + height + 32, f"The score of {found['name']}", body)


def _cut(text: str, chars: int = _CHARS) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"


def _text(text: object) -> str:
    return escape(_clean(str(text)))


def _clean(text: str) -> str:
    """Return a text without the characters that XML cannot have, and without changes of
    direction, which would let a text run over others."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}"
        if (ord(one) < 32 and one not in "\t\n")
        or 0xD800 <= ord(one) < 0xE000
        or one in "\ufffe\uffff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
        else one
        for one in text
    )
