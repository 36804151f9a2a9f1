"""Walking the typed edges between revisions: traverse, shortest path, impact, provenance. Each
answer says when it was cut.

A level of the walk is one SQL statement over the whole frontier. Structural edges (an item's to its
revisions, a space's to its items) are not walked: they would connect everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import msgspec

from doxa.base.errors import InputError, LimitError
from doxa.base.ids import NodeId
from doxa.base.limits import TRAVERSE_DEPTH_DEFAULT, TRAVERSE_DEPTH_MAX, TRAVERSE_NODES_MAX
from doxa.belief.graph import HAS_REVISION, STRUCTURE, current_of, parse_target, require, resolve
from doxa.belief.kref import Kref
from doxa.belief.reading.bundles import BUNDLE_KIND, MEMBER, is_bundle, read_bundle
from doxa.belief.support import STATE, State, would_fall
from doxa.belief.types import Step, Walk
from doxa.belief.writes import check_edge_type
from doxa.store import Reader, int64_array

Direction = Literal["out", "in", "both"]
SUPPORT = ("DEPENDS_ON", "DERIVED_FROM", "CREATED_FROM")


def traverse(
    reader: Reader,
    start: str | Kref,
    *,
    direction: Direction = "out",
    depth: int = TRAVERSE_DEPTH_DEFAULT,
    types: Sequence[str] = (),
) -> Walk:
    """Return everything reached within `depth` edges (1-20), nearest first, each element once."""
    if _check(direction) == "in":
        return _walk(
            reader,
            [_start(reader, start)],
            depth=_check_depth(depth),
            direction="in",
            types=_check_types(types),
        )
    return _walk_out(
        reader, start, depth=_check_depth(depth), direction=direction, types=_check_types(types)
    )


def impact(reader: Reader, start: str | Kref, *, depth: int | None = None) -> Walk:
    """Return what depends on this belief, directly or not: DEPENDS_ON, DERIVED_FROM and
    CREATED_FROM backwards, all of it unless a depth is given. A step `falls` if it would lose
    its support without the belief.

    An unpinned address asks for all revisions of the item, since what was derived from an older one
    depends on it too.
    """
    starts = _starts(reader, parse_target(start))
    if depth is None:
        return _walk_back(reader, starts)
    falling = would_fall(reader, [identity for identity, _ in starts])
    walk = _walk(reader, starts, depth=_check_depth(depth), direction="in", types=SUPPORT)
    known = {str(node.props["kref"]) for node in reader.nodes(sorted(falling))}
    return replace(
        walk,
        steps=tuple(msgspec.structs.replace(step, falls=step.kref in known) for step in walk.steps),
    )


def _walk_back(reader: Reader, starts: Sequence[tuple[NodeId, str]]) -> Walk:
    """A walk backwards without a bound, level by level, each read in one statement."""
    nodes, edges = (reader.sight().table(edge=edge) for edge in (False, True))
    sql = (
        "SELECT n.id, e.type, e.dst, coalesce(n.kref, ''), CASE WHEN h.src IS NULL THEN n.props"
        " ->> '$.deprecated' END, CASE e.type WHEN 'DEPENDS_ON' THEN e.props ->> '$.set' END,"
        f" {STATE} FROM carray(?) f CROSS JOIN {edges} e ON e.dst = f.value AND e.type IN {SUPPORT}"
        f" CROSS JOIN {nodes} n ON n.id = e.src LEFT JOIN edge h ON h.dst = n.id AND h.type ="
        " 'HAS_REVISION'"
    )
    names: dict[int, str] = dict(starts)
    states: dict[NodeId, State] = {}
    found: list[tuple[NodeId, str, int, str, NodeId]] = []
    gone = frozenset(identity for identity, _ in starts)
    broken = set(gone)
    frontier, depth = list(gone), 0
    while frontier and len(found) < TRAVERSE_NODES_MAX:
        due, frontier, depth = int64_array(frontier), [], depth + 1
        for node, kind, via, kref, retired, together, item, current, tagged, beside in reader.rows(
            sql, (due,)
        ):
            if kind == "DEPENDS_ON" and via in broken and together is None:
                broken.add(node)
            if node not in names:
                names[node] = kref
                states[node] = State(
                    item, not retired and (item is None or current == 1), tagged, beside == 1
                )
                found.append((node, kref, depth, kind, via))
                frontier.append(node)
    falling = would_fall(reader, gone, states, frozenset(broken - gone))
    steps = tuple(
        Step(kref, level, kind, names[via], states[node].live, node in falling)
        for node, kref, level, kind, via in found
    )
    return Walk(
        starts[0][1] if starts else "",
        steps,
        cut=f"stopped after {TRAVERSE_NODES_MAX:,} elements" if frontier else "",
    )


def provenance(reader: Reader, start: str | Kref, *, depth: int = TRAVERSE_DEPTH_DEFAULT) -> Walk:
    """Return what this belief depends on: the same edges forwards, down to its exchanges."""
    return _walk_out(reader, start, depth=_check_depth(depth), direction="out", types=SUPPORT)


def shortest_path(
    reader: Reader,
    start: str | Kref,
    end: str | Kref,
    *,
    depth: int = TRAVERSE_DEPTH_DEFAULT,
    types: Sequence[str] = (),
) -> Walk:
    """Find the fewest edges between two elements, in either direction; no steps and a `cut` text if
    there is no such path."""
    types = _check_types(types)
    source, target = resolve(reader, parse_target(start)), resolve(reader, parse_target(end))
    origin = str(source.props.get("kref", ""))
    came: dict[int, tuple[int, str, str]] = {source.id: (0, "", origin)}
    frontier: list[int] = [source.id]
    for _ in range(_check_depth(depth)):
        if target.id in came or not frontier:
            break
        reached: list[int] = []
        for kind, via, node, kref, _live in _level(reader, frontier, direction="both", types=types):
            if node not in came:
                came[node] = (via, kind, kref)
                reached.append(node)
        frontier = reached
        if len(came) > TRAVERSE_NODES_MAX:
            return Walk(origin, (), cut=f"stopped after {TRAVERSE_NODES_MAX:,} elements")
    if target.id not in came:
        return Walk(origin, (), cut=f"no path within {depth} edges" if frontier else "no path")
    return Walk(origin, tuple(_backwards(came, target.id)))


def _backwards(came: dict[int, tuple[int, str, str]], end: int) -> list[Step]:
    chain: list[tuple[str, str, str]] = []
    at = end
    while came[at][0]:
        via, kind, kref = came[at]
        chain.append((kref, kind, came[via][2]))
        at = via
    return [
        Step(kref, depth, kind, via) for depth, (kref, kind, via) in enumerate(reversed(chain), 1)
    ]


def _starts(reader: Reader, kref: Kref) -> list[tuple[NodeId, str]]:
    if not kref.is_item or kref != kref.item() or kref.kind == "exchange":
        node = resolve(reader, kref)
        return [(node.id, str(node.props.get("kref", "")))]
    item = require(reader, kref)
    if is_bundle(reader, item):
        held = [edge.dst for edge in reader.edges_out(item.id, MEMBER)]
        return [
            (item.id, str(kref)),
            *(
                (edge.dst, str(kref))
                for member in held
                for edge in reader.edges_out(member, HAS_REVISION)
            ),
        ]
    return [(edge.dst, str(kref)) for edge in reader.edges_out(item.id, HAS_REVISION)]


def _start(reader: Reader, start: str | Kref) -> tuple[NodeId, str]:
    node = resolve(reader, parse_target(start))
    return node.id, str(node.props.get("kref", ""))


def _walk_out(
    reader: Reader, start: str | Kref, *, depth: int, direction: Direction, types: Sequence[str]
) -> Walk:
    """A walk from the start; from a bundle, the first step leads to the current revisions of its
    members."""
    kref = parse_target(start)
    node, origin = _start(reader, kref)
    if (
        kref.kind != BUNDLE_KIND
        or MEMBER in types
        or not is_bundle(reader, require(reader, kref.item()))
    ):
        return _walk(reader, [(node, origin)], depth=depth, direction=direction, types=types)
    held = read_bundle(reader, require(reader, kref.item()), at=kref.at_ns)
    said = [
        current_of(reader, require(reader, parse_target(member.kref)).id) for member in held.members
    ]
    first = [
        (revision.id, str(revision.props["kref"])) for revision in said if revision is not None
    ]
    steps = [Step(address, 1, MEMBER, origin) for _, address in first]
    return _walk(
        reader, [(node, origin), *first], depth=depth, direction=direction, types=types, steps=steps
    )


def _walk(
    reader: Reader,
    starts: Sequence[tuple[NodeId, str]],
    *,
    depth: int,
    direction: Direction,
    types: Sequence[str],
    steps: Sequence[Step] = (),
) -> Walk:
    """`steps` are those that led to the starts themselves; the walk goes on after them."""
    names: dict[int, str] = dict(starts)
    origin = starts[0][1] if starts else ""
    steps = list(steps)
    frontier: list[int] = list(names)
    for level in range(1 + bool(steps), depth + 1):
        reached: list[int] = []
        for kind, via, node, kref, live in _level(
            reader, frontier, direction=direction, types=types
        ):
            if node in names:
                continue
            names[node] = kref
            steps.append(Step(kref, level, kind, names[via], live))
            reached.append(node)
            if len(steps) >= TRAVERSE_NODES_MAX:
                return Walk(
                    origin, tuple(steps), cut=f"stopped after {TRAVERSE_NODES_MAX:,} elements"
                )
        frontier = reached
        if not frontier:
            return Walk(origin, tuple(steps))
    more = _goes_on(reader, frontier, set(names), direction=direction, types=types)
    return Walk(
        origin, tuple(steps), cut=f"stopped at depth {depth}; there is more" if more else ""
    )


def _goes_on(
    reader: Reader,
    frontier: Sequence[int],
    seen: set[int],
    *,
    direction: Direction,
    types: Sequence[str],
) -> bool:
    """Whether an edge leaves the frontier for something not reached yet; stops at the first, so
    that `cut` costs little."""
    test, names = ("IN", tuple(types)) if types else ("NOT IN", tuple(sorted(STRUCTURE)))
    marks = ", ".join("?" * len(names))
    nodes, edges = (reader.sight().table(edge=edge) for edge in (False, True))
    for near, far in _ENDS[direction]:
        sql = (
            f"SELECT 1 FROM carray(?) f CROSS JOIN {edges} e ON e.{near} = f.value CROSS JOIN"
            f" {nodes} n ON n.id = e.{far} WHERE e.type {test} ({marks}) AND e.{far} NOT IN (SELECT"
            " value FROM carray(?)) LIMIT 1"
        )
        if reader.rows(sql, (int64_array(frontier), *names, int64_array(sorted(seen)))):
            return True
    return False


def _level(
    reader: Reader, frontier: Sequence[int], *, direction: Direction, types: Sequence[str]
) -> list[tuple[str, int, int, str, bool]]:
    """(edge type, from, to, kref, whether it is in recall) for every edge out of the frontier."""
    found: list[tuple[str, int, int, str, bool]] = []
    nodes, edges = (reader.sight().table(edge=edge) for edge in (False, True))
    for near, far in _ENDS[direction]:
        # one probe of the covering index per frontier element; the node is read for its address
        sql = (
            f"SELECT e.type, e.{near}, e.{far}, coalesce(n.props ->> '$.kref', ''),"
            f" coalesce(d.live, 1) FROM carray(?) f CROSS JOIN {edges} e ON e.{near} = f.value"
            f" CROSS JOIN {nodes} n ON n.id = e.{far} LEFT JOIN doc d ON d.node = n.id"
        )
        rows = reader.rows(sql, (int64_array(frontier),))
        found += [
            (row[0], row[1], row[2], row[3], bool(row[4]))
            for row in rows
            if (row[0] in types if types else row[0] not in STRUCTURE)
        ]
    return found


_ENDS: dict[str, tuple[tuple[str, str], ...]] = {
    "out": (("src", "dst"),),
    "in": (("dst", "src"),),
    "both": (("src", "dst"), ("dst", "src")),
}


def _check_depth(depth: int) -> int:
    if (
        isinstance(depth, bool)
        or not isinstance(depth, int)
        or not 1 <= depth <= TRAVERSE_DEPTH_MAX
    ):
        raise LimitError(
            f"A depth lies between 1 and {TRAVERSE_DEPTH_MAX}; this is {depth!r:.20}.",
            next_step="Ask for fewer levels.",
            limit_depth=TRAVERSE_DEPTH_MAX,
        )
    return depth


def _check_types(types: Sequence[str]) -> tuple[str, ...]:
    if isinstance(types, str) or not isinstance(types, Iterable):
        raise InputError(
            f"types is a list of edge types; this is {types!r:.60}.",
            next_step="Give the types in a list.",
            field="types",
        )
    return tuple(map(check_edge_type, types))


def _check(direction: Direction) -> Direction:
    if not isinstance(direction, str) or direction not in _ENDS:
        raise InputError(
            f"{str(direction)[:40]!r} is not a direction.",
            next_step="Use out, in or both.",
            field="direction",
        )
    return direction
