"""Hold a run against a recorded one: `python -m bench compare`.

Machines and days differ, so times are compared as ratios to what a plain tool needed in the same
run: a durable update of one SQLite row, FTS5, a join by hand, a bare interpreter. A ratio that is
more than WORSE_MAX worse than the recorded one fails, and so does any difference in a figure of
quality (evidence found, right answers, postulates that hold), which no machine changes.

A run is what `--json` of a command wrote, or a file of `bench/results`. Without one, `speed` runs
here and now, over the sizes given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.report import markdown

WORSE_MAX = 0.15


@dataclass(frozen=True)
class Rule:
    """A figure, the plain row of the same run that it is divided by, and which way is better.
    `plain` is a replacement for the match of `figure`; empty compares the figure itself."""

    figure: str
    plain: str
    higher: bool


_ROW = "speed.revise.sqlite_row_per_s"
RULES = (
    Rule(r"speed\.(revise|remember|tell|forget|undo)\.(with_edge_)?per_s", _ROW, True),
    Rule(r"speed\.ingest\.\w+_turns_per_s", _ROW, True),
    Rule(
        r"(speed\.load)\.(?:unwind_)?edges(?:_with_property)?_per_s",
        r"\1.sqlite_edges_per_s",
        True,
    ),
    Rule(
        r"(speed\.load)\.(?:nodes|unwind_(?:nodes|merge|merge_set))_per_s",
        r"\1.sqlite_nodes_per_s",
        True,
    ),
    Rule(r"(speed\.updates)\.(?:one|many)_threads?_per_s", r"\1.sqlite_per_s", True),
    Rule(
        r"(speed\.scale\.\d+)\.recall\.(?:words_only|with_embedding|without_embedding)\.p50_ms",
        r"\1.plain_fts5.p50_ms",
        False,
    ),
    Rule(r"(speed\.scale\.\d+\.disk)\.bytes_per_exchange", r"\1.text_bytes_per_exchange", False),
    Rule(r"speed\.scale\.\d+\.(?:recall\.memory|process)_bytes", "", False),
    Rule(r"(speed\.graph)\.two_hops\.p50_ms", r"\1.plain_sqlite_two_hops.p50_ms", False),
    Rule(r"(speed\.image)\.with\.(\w+)\.p50_ms", r"\1.without.\2.p50_ms", False),
    Rule(
        r"(speed\.start)\.(?:import|cli\.help|cli\.recall|mcp_to_tools)\.p50_ms",
        r"\1.python.start.p50_ms",
        False,
    ),
    Rule(r"(graph\.\w+)\.doxa\.(\w+)\.p50_ms", r"\1.graphqlite.\2.p50_ms", False),
    Rule(
        r"(clients)\.doxa_\d\.(one_hop|mixed)\.(clients_\d+)\.per_s",
        r"\1.echo.\2.\3.per_s",
        True,
    ),
    Rule(
        r"(clients)\.doxa_\d\.updates(?:_alone)?\.clients_\d+\.per_s",
        r"\1.sqlite.updates.per_s",
        True,
    ),
    Rule(  # a second worker, and what threads that disturb each other take
        r"(clients)\.doxa_2\.(one_hop\.clients_32)\.per_s",
        r"\1.doxa_1.\2.per_s",
        True,
    ),
    Rule(
        r"(clients\.doxa_\d)\.one_hop\.clients_32\.per_s",
        r"\1.one_hop.clients_8.per_s",
        True,
    ),
    Rule(r"(libraries\.[\w.]+)\.doxa\.query\.p50_ms", r"\1.sqlite-vec.query.p50_ms", False),
    Rule(r"(libraries\.[\w.]+)\.doxa\.load\.turns_per_s", r"\1.sqlite-vec.load.turns_per_s", True),
    Rule(r"(persistence\.[\w.]+)\.p50_over_plain", "", False),
)
# Equal digit for digit: what is found, what is right, what holds.
QUALITY = re.compile(
    r"(locomo|locomo-plus|beam|longmemeval)\..*"
    r"|agm\..*\.(passed|checks|claims_held|changes|sequences|wrong|all|answers|right)"
    r"|persistence\..*\.(passed|right|answers)"
    r"|graph\..*\.doxa\..*\.right"
    r"|libraries\..*\.doxa\w*\.recall_at_10"
    r"|speed\..*\.recall_at_10"
    r"|speed\.image\..*\.right"
    r"|clients\.doxa_\d\.lost"
)
# What must be the same for the ratios that begin so to mean the same.
CONDITIONS = {
    "speed.graph.": ("speed.graph.nodes", "speed.graph.edges"),
    "speed.image.": ("speed.image.nodes", "speed.image.edges"),
    "speed.ingest.": ("speed.ingest.turns",),
    "clients.": ("clients.people",),
}


@dataclass(frozen=True)
class Row:
    """One comparison. `change` is how much worse the run is than the recorded one, as a share of
    it: negative is better."""

    figure: str
    plain: str
    recorded: float
    now: float
    change: float
    failed: bool


@dataclass(frozen=True)
class Comparison:
    ratios: list[Row]
    quality: list[Row]
    left_out: list[str]

    @property
    def failed(self) -> list[Row]:
        return [row for row in (*self.ratios, *self.quality) if row.failed]

    def text(self) -> str:
        parts = [_table(self.ratios)] if self.ratios else ["No ratio is in both runs."]
        same = sum(not row.failed for row in self.quality)
        parts.append(f"Figures of quality: {same} of {len(self.quality)} equal.")
        differing = [row for row in self.quality if row.failed]
        if differing:
            parts.append(_table(differing))
        if self.left_out:
            parts.append("Not compared, as the conditions differ: " + ", ".join(self.left_out))
        bad = len(self.failed)
        parts.append(f"{bad} worse by more than {WORSE_MAX:.0%}, or different." if bad else "Held.")
        return "\n\n".join(parts)


def _table(rows: Sequence[Row]) -> str:
    head = ("figure", "divided by", "recorded", "now", "worse by", "")
    return markdown(
        head,
        [
            (
                row.figure,
                row.plain or "–",
                f"{row.recorded:.4g}",
                f"{row.now:.4g}",
                f"{row.change:+.1%}",
                "FAILED" if row.failed else "",
            )
            for row in rows
        ],
    )


def compare(recorded: Mapping[str, float], now: Mapping[str, float]) -> Comparison:
    """Compare every ratio and every figure of quality that both runs have."""
    left_out = [
        start
        for start, keys in CONDITIONS.items()
        if any(recorded.get(key) != now.get(key) for key in keys)
        and any(key.startswith(start) for key in now)
    ]
    ratios = [
        row
        for row in _ratios(recorded, now)
        if not any(row.figure.startswith(start) for start in left_out)
    ]
    quality = [
        Row(key, "", recorded[key], now[key], 0.0, recorded[key] != now[key])
        for key in sorted(now)
        if key in recorded and QUALITY.fullmatch(key)
    ]
    return Comparison(ratios, quality, left_out)


def _ratios(recorded: Mapping[str, float], now: Mapping[str, float]) -> Iterator[Row]:
    for rule in RULES:
        for key in sorted(now):
            found = re.fullmatch(rule.figure, key)
            if not found or key not in recorded:
                continue
            plain = found.expand(rule.plain)
            if plain and not all(run.get(plain) for run in (recorded, now)):
                continue
            before = recorded[key] / (recorded[plain] if plain else 1)
            after = now[key] / (now[plain] if plain else 1)
            if not before or not after:
                continue
            change = before / after - 1 if rule.higher else after / before - 1
            yield Row(key, plain, before, after, change, change > WORSE_MAX)


def figures_of(path: Path) -> dict[str, float]:
    """The figures of a file of results, or of one command's `--json`, under the same keys."""
    found = json.loads(path.read_text())
    name = found.get("command")
    figures: dict[str, float] = found["figures"]
    return {f"{name}.{key}": value for key, value in figures.items()} if name else figures


def newest(folder: Path) -> Path | None:
    """The last recorded run."""
    return max(folder.glob("[0-9]*.json"), default=None)
