"""Traversal patterns: which kinds of paths lead from a memory to others that are used with it.

A pattern is a sequence of edge types with a direction, such as `MENTIONS> <MENTIONS` (another
memory about the same entity). What is used together is known without watching anybody: the grounds
of one belief (DERIVED_FROM, DEPENDS_ON, REFERENCED), or a list of addresses that a host or a data
set says to belong to one answer. From each of these the pattern is followed, and what it reaches is
counted.

    yield     (used + 1) / (reached + 2): the share of what it reaches that was used, as Laplace
              estimates it, so that a path that was tried twice proves nothing
    coverage  the share of what was used that it reaches
    overlap   the share of what it reaches that one edge leads to as well

The path between memories itself is cut where more than `FAN_OUT_MAX` edges of its type leave a
node, since what leads everywhere says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from doxa.belief import parse_target
from doxa.belief.graph import HAS_REVISION, MENTIONS, SAME_AS, resolve
from doxa.store import Reader, int64_array

FAN_OUT_MAX = 50
SETS_MAX = 500  # of what was used together, the latest
USES = ("DERIVED_FROM", "DEPENDS_ON", "REFERENCED")

Path = tuple[tuple[str, bool], ...]  # edge types, and whether each is followed forwards

_MENTION: Path = ((MENTIONS, True), (MENTIONS, False))
PATHS: dict[str, Path] = {
    "MENTIONS> <MENTIONS": _MENTION,
    "MENTIONS> SAME_AS> <MENTIONS": ((MENTIONS, True), (SAME_AS, True), (MENTIONS, False)),
    "MENTIONS> <SAME_AS <MENTIONS": ((MENTIONS, True), (SAME_AS, False), (MENTIONS, False)),
    "MENTIONS> <MENTIONS MENTIONS> <MENTIONS": _MENTION + _MENTION,
    "NEXT>": (("NEXT", True),),
    "<NEXT": (("NEXT", False),),
    "DERIVED_FROM>": (("DERIVED_FROM", True),),
    "<DERIVED_FROM": (("DERIVED_FROM", False),),
    "<DERIVED_FROM DERIVED_FROM>": (("DERIVED_FROM", False), ("DERIVED_FROM", True)),
    "DEPENDS_ON>": (("DEPENDS_ON", True),),
    "<HAS_REVISION HAS_REVISION>": ((HAS_REVISION, False), (HAS_REVISION, True)),
}

_STEP = (
    "SELECT f.value, e.{to} FROM carray(?) f JOIN edge e ON e.{at} = f.value AND e.type = ?"
    " ORDER BY f.value, e.id DESC"
)
_USED = (
    "SELECT src, dst FROM edge WHERE type IN ('DERIVED_FROM', 'DEPENDS_ON', 'REFERENCED') AND src"
    " IN (SELECT id FROM node WHERE kref >= ? AND kref < ?) ORDER BY src DESC"
)


@dataclass(frozen=True, slots=True)
class PathYield:
    """What a pattern is worth: how many memories it reached, how many of these were used, its yield
    and coverage, and its overlap with single edges."""

    path: str
    reached: int
    used: int
    yield_score: float
    coverage: float
    overlap: float


def path_yields(
    reader: Reader, project: str = "", *, together: Iterable[Sequence[str]] = ()
) -> list[PathYield]:
    """Measure every pattern on what was used together: `together` as lists of addresses, or else
    the grounds of the project's beliefs. The best yield first, those that reached nothing last."""
    sets = [
        {int(resolve(reader, parse_target(kref)).id) for kref in krefs}
        for krefs in islice(together, SETS_MAX)
    ] or _grounds(reader, project)
    sets = [one for one in sets if len(one) > 1]
    seeds = sorted(set().union(*sets)) if sets else []
    direct = follow(reader, seeds, None)
    found = []
    for name, path in PATHS.items():
        reached = follow(reader, seeds, path)
        total = used = related = wanted = 0
        for one in sets:
            for seed in one:
                ends = reached.get(seed, set()) - {seed}
                total += len(ends)
                used += len(ends & one)
                related += len(ends & direct.get(seed, set()))
                wanted += len(one) - 1
        found.append(
            PathYield(
                name,
                total,
                used,
                round((used + 1) / (total + 2), 4),
                round(used / wanted, 4) if wanted else 0.0,
                round(related / total, 4) if total else 0.0,
            )
        )
    return sorted(found, key=lambda one: (not one.reached, -one.yield_score, one.path))


def _grounds(reader: Reader, project: str) -> list[set[int]]:
    """The grounds of each belief, of the latest beliefs that have several."""
    first = f"kref://{project}/" if project else "kref://"
    found: dict[int, set[int]] = {}
    for src, dst in reader.rows(_USED, (first, first[:-1] + "0")):
        found.setdefault(src, set()).add(dst)
    return list(islice((one for one in found.values() if len(one) > 1), SETS_MAX))


def follow(reader: Reader, seeds: Sequence[int], path: Path | None) -> dict[int, set[int]]:
    """Return what a path reaches from each seed; None: what any one edge leads to."""
    if path is None:
        found: dict[int, set[int]] = {}
        for at, to in (("src", "dst"), ("dst", "src")):
            sql = f"SELECT f.value, e.{to} FROM carray(?) f JOIN edge e ON e.{at} = f.value"
            for seed, end in reader.rows(sql, (int64_array(list(seeds)),)):
                found.setdefault(seed, set()).add(end)
        return found
    reached = {seed: {seed} for seed in seeds}
    for kind, forwards in path:
        front = sorted(set().union(*reached.values())) if reached else []
        at, to = ("src", "dst") if forwards else ("dst", "src")
        steps: dict[int, list[int]] = {}
        rows = reader.rows(_STEP.format(at=at, to=to), (int64_array(front), kind))
        for node, end in rows:
            steps.setdefault(node, []).append(end)
        steps = {node: ends for node, ends in steps.items() if len(ends) <= FAN_OUT_MAX}
        reached = {
            seed: {end for node in nodes for end in steps.get(node, ())}
            for seed, nodes in reached.items()
        }
    return reached
