"""Lines over a few points as SVG, for what is hard to read in a table. A few lines of our own: a
chart needs no plotting library to be drawn.

Chart      where data lies: x and y in the units of the data, on a linear or a logarithmic axis, to
places on the drawing
drawn      the whole drawing as text: axes with ticks, a line with dots for each series, its name at
its last point
charts_of  the drawings that docs/benchmarks.md shows, from the recorded figures
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = (
    64,
    190,
    44,
    52,
)  # what is left for ticks, names, title and the name of the axis
_LABEL_GAP = 14
_COLOURS = (
    "#c1272d",
    "#1f5fa8",
    "#2f8f4e",
    "#b8860b",
    "#7b4fa3",
    "#4a9aa8",
    "#8a5a3c",
    "#777777",
    "#d06fa0",
)
_TICKS = 5

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """A frame: what it is called, and from where to where its axes go. A logarithmic axis has
    limits above 0."""

    title: str
    x_name: str
    y_name: str
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_log: bool = False
    y_log: bool = False

    def x(self, value: float) -> float:
        """The place of a value, from the left edge of the drawing."""
        return LEFT + _share(value, self.x_range, self.x_log) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """The place of a value, from the upper edge of the drawing: larger values lie higher."""
        return HEIGHT - BOTTOM - _share(value, self.y_range, self.y_log) * (HEIGHT - TOP - BOTTOM)


def _share(value: float, limits: tuple[float, float], log: bool) -> float:
    low, high = limits
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low)


def ticks(limits: tuple[float, float], *, log: bool) -> list[float]:
    """Round values within the limits: powers of ten on a logarithmic axis, else steps of 1, 2 or 5
    times one."""
    low, high = limits
    if log:
        return [
            10.0**power
            for power in range(
                math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1
            )
        ]
    rough = (high - low) / _TICKS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough - 1e-12)
    return [
        step * number
        for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


def drawn(chart: Chart, series: Mapping[str, Points], *, x_ticks: Sequence[float] = ()) -> str:
    """The drawing. `x_ticks` stand where the data has few places of its own."""
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
            ' font-family="sans-serif" font-size="12" role="img">'
        ),
        f"<title>{escape(chart.title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 22, chart.title, size=14),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, chart.x_name, anchor="middle"),
        _text(LEFT, TOP - 6, chart.y_name, colour="#555"),
    ]
    for value in x_ticks or ticks(chart.x_range, log=chart.x_log):
        parts.append(
            _line((chart.x(value), HEIGHT - BOTTOM), (chart.x(value), HEIGHT - BOTTOM + 4), "#555")
        )
        parts.append(_text(chart.x(value), HEIGHT - BOTTOM + 18, f"{value:,g}", anchor="middle"))
    for value in ticks(chart.y_range, log=chart.y_log):
        parts.append(_line((LEFT, chart.y(value)), (WIDTH - RIGHT, chart.y(value)), "#e4e4e4"))
        parts.append(_text(LEFT - 8, chart.y(value) + 4, f"{value:,g}", anchor="end"))
    parts.append(_line((LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, HEIGHT - BOTTOM), "#555"))
    labels = _apart({name: chart.y(points[-1][1]) for name, points in series.items()})
    for number, (name, points) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [(chart.x(x), chart.y(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}"'
            f' stroke-width="{2.5 if number == 0 else 1.5}"/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(_text(places[-1][0] + 8, labels[name] + 4, name, colour=colour))
    return "\n".join([*parts, "</svg>", ""])


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#222", size: int = 12
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
        f' font-size="{size}">{escape(text)}</text>'
    )


def _line(start: tuple[float, float], end: tuple[float, float], colour: str) -> str:
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
        f' stroke="{colour}"/>'
    )


def _apart(wanted: Mapping[str, float]) -> dict[str, float]:
    """Places for names, from the top, each at least a line below the one above; moved up again
    where they would leave the frame."""
    found: dict[str, float] = {}
    last = -math.inf
    for name, place in sorted(wanted.items(), key=lambda item: item[1]):
        last = max(place, last + _LABEL_GAP)
        found[name] = last
    beyond = max(0.0, last - (HEIGHT - BOTTOM))
    return {name: place - beyond for name, place in found.items()}


def charts_of(figures: Mapping[str, float], *, dates: Mapping[str, str]) -> dict[str, str]:
    """Drawings by file name, of what the recorded figures hold; nothing for what was not measured.
    `dates` say when each command's were taken."""
    found = {
        "recall-by-budget.svg": _recall_by_budget(figures, dates.get("locomo", "")),
        "latency-by-size.svg": _latency_by_size(figures, dates.get("speed", "")),
        "machines-by-tenants.svg": _machines_by_tenants(figures, dates.get("scale", "")),
    }
    return {name: drawing for name, drawing in found.items() if drawing}


def _recall_by_budget(figures: Mapping[str, float], date: str) -> str:
    before, after = "turn.answerable.recall_in_", "_tokens"
    series: dict[str, list[tuple[float, float]]] = {}
    for key, value in figures.items():
        command, _, rest = key.partition(".")
        system, found, budget = rest.partition(before)
        if (
            command == "locomo"
            and found
            and budget.endswith(after)
            and not system.startswith(("gain", "doxa_"))
        ):
            name = system.removeprefix("baseline.").removesuffix(".") or "doxa"
            series.setdefault(name, []).append((float(budget.removesuffix(after)), 100 * value))
    if not series:
        return ""
    ordered = {
        name: sorted(points)
        for name, points in sorted(
            series.items(), key=lambda item: (item[0] != "doxa", -max(y for _, y in item[1]))
        )
    }
    budgets = sorted({x for points in ordered.values() for x, _ in points})
    low = min(90, math.floor(min(y for points in ordered.values() for _, y in points) / 10) * 10)
    title = f"LoCoMo: evidence recall within a token budget ({date})"
    chart = Chart(
        title, "tokens of what is recalled", "evidence recall, %", (0, budgets[-1]), (low, 100)
    )
    return drawn(chart, ordered, x_ticks=budgets)


_LATENCIES = {
    "doxa, question embedded": "recall.with_embedding",
    "doxa, question known": "recall.without_embedding",
    "doxa, words alone": "recall.words_only",
    "plain FTS5": "plain_fts5",
    "plain numpy, vectors alone": "plain_numpy",
}


def _latency_by_size(figures: Mapping[str, float], date: str) -> str:
    sizes = sorted(
        {
            int(key.split(".")[2])
            for key in figures
            if key.startswith("speed.scale.") and key.endswith("recall.with_embedding.p50_ms")
        }
    )
    if len(sizes) < 2:
        return ""
    series = {
        name: [
            (float(size), figures[place])
            for size in sizes
            if (place := f"speed.scale.{size}.{key}.p50_ms") in figures
        ]
        for name, key in _LATENCIES.items()
    }
    held = {name: points for name, points in series.items() if points}
    values = [y for points in held.values() for _, y in points]
    low = math.floor(math.log10(min(values)))
    limits = (10.0**low, 10.0 ** max(low + 1, math.ceil(math.log10(max(values)))))
    chart = Chart(
        f"Recall: median latency by size of the store ({date})",
        "exchanges in the store",
        "milliseconds, logarithmic",
        (sizes[0], sizes[-1]),
        limits,
        x_log=True,
        y_log=True,
    )
    return drawn(chart, held, x_ticks=sizes)


_MACHINES = {"doxa servers": "servers", "PostgreSQL hosts": "engines", "clusters": "clusters"}


def _machines_by_tenants(figures: Mapping[str, float], date: str) -> str:
    counts = sorted(
        int(key.split(".")[2])
        for key in figures
        if key.startswith("scale.forecast.") and key.endswith(".servers")
    )
    if len(counts) < 2:
        return ""
    series = {
        name: [(float(n), figures[f"scale.forecast.{n}.{key}"]) for n in counts]
        for name, key in _MACHINES.items()
    }
    most = max(y for points in series.values() for _, y in points)
    chart = Chart(
        f"Machines by tenants, calculated from what was measured ({date})",
        "tenants",
        "machines, logarithmic",
        (counts[0], counts[-1]),
        (1.0, 10.0 ** math.ceil(math.log10(most))),
        x_log=True,
        y_log=True,
    )
    return drawn(chart, series, x_ticks=counts)
