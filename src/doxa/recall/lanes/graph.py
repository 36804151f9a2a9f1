"""The lane of links: how much of the best hits' score reaches a memory along edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from doxa.recall import constants
from doxa.recall.indexes.project_index import ProjectIndex
from doxa.store import Reader, int64_array

_STRUCTURE = (
    "HAS_SPACE",
    "HAS_ITEM",
    "HAS_REVISION",
    "CURRENT",
    "TAG",
    "HAS_ARTIFACT",
    "MEMBER",
    "HAS_THREAD",
    "HAS_EXCHANGE",
    "CHALLENGER",
    "HELD",
    "SUPERSEDES",
    "NEXT",
    "CANDIDATE",
    "MENTIONS",
    "SAME_AS",
)
# Linked nodes, in both directions; a superseded revision passes its links on to the current one.
# What is not believed, or is hidden by a policy, links nothing. Begins with WITH, where the reader
# inserts a table of the time if policies need it.
_LINKED = """WITH near(seed, other, type, forwards) AS (
  SELECT f.value, e.dst, e.type, 1 FROM carray(?) f JOIN {edges} e ON e.src = f.value
  WHERE e.type NOT IN ({structure})
  UNION ALL SELECT f.value, e.src, e.type, 0 FROM carray(?) f JOIN {edges} e ON e.dst = f.value
  WHERE e.type NOT IN ({structure})),
current(seed, other, type, forwards) AS (
  SELECT n.seed, coalesce((SELECT c.dst FROM edge h
      JOIN edge c ON c.src = h.src AND c.type = 'CURRENT'
    WHERE h.dst = n.other AND h.type = 'HAS_REVISION'), n.other),
    n.type, n.forwards FROM near n LIMIT ?)
SELECT c.seed, c.other, c.type, c.forwards FROM current c JOIN {nodes} x ON x.id = c.other
  LEFT JOIN doc d ON d.node = c.other WHERE coalesce(d.live, 1)
"""
# The other revisions of the same items: their links count for what is believed now.
_FORMER = """
SELECT f.value, o.dst FROM carray(?) f JOIN edge h ON h.dst = f.value AND h.type = 'HAS_REVISION'
  JOIN edge o ON o.src = h.src AND o.type = h.type
"""


class Link(NamedTuple):
    """How a memory is linked with one of the best hits: how much of its score arrives, the node of
    the hit, and the types of the edges from there, each with whether it is followed forwards."""

    value: float
    seed: int
    path: tuple[tuple[str, bool], ...] = ()


def spread(reader: Reader, seeds: dict[int, float]) -> dict[int, Link]:
    """Return what reaches other nodes of the seeds' values, in [0, 1], along edges: GRAPH_DECAY of
    it with each hop, divided by the square root of a node's degree, so that a node that is linked
    with everything says little about each. Of several ways the one by which most arrives counts."""
    reached: dict[int, Link] = {}
    front = {seed: Link(value, seed) for seed, value in seeds.items()}
    for seed, other in reader.rows(_FORMER, (int64_array(list(seeds)),)):
        front.setdefault(other, Link(seeds[seed], seed))
    within = frozenset(front)
    visible = reader.sight()
    sql = _LINKED.format(
        edges=visible.table(edge=True),
        nodes=visible.table(edge=False),
        structure=", ".join(f"'{name}'" for name in _STRUCTURE),
    )
    for _ in range(constants.GRAPH_HOPS):
        nodes, most = list(front), constants.GRAPH_EDGES_MAX * len(front)
        rows = reader.rows(sql, (int64_array(nodes), int64_array(nodes), most)) if front else []
        degree: dict[int, int] = {}
        for node, *_rest in rows:
            degree[node] = degree.get(node, 0) + 1
        following: dict[int, Link] = {}
        for node, other, kind, forwards in rows:
            held = front[node]
            value = held.value * constants.GRAPH_DECAY / degree[node] ** 0.5
            if other not in within and (other not in following or value > following[other].value):
                following[other] = Link(value, held.seed, (*held.path, (kind, bool(forwards))))
        front = {
            node: link
            for node, link in following.items()
            if node not in reached or link.value > reached[node].value
        }
        reached |= front
    return reached


# What else mentions an entity that a seed mentions, by any of its names.
_NAMED = """WITH RECURSIVE named(seed, name) AS (
  SELECT DISTINCT f.value, e.dst FROM carray(?) f JOIN edge e ON e.src = f.value
    AND e.type = 'MENTIONS' JOIN node_label l ON l.node = e.dst AND l.label = 'Entity'),
top(name, root) AS (
  SELECT DISTINCT name, name FROM named
  UNION SELECT t.name, e.dst FROM top t JOIN edge e ON e.src = t.root AND e.type = 'SAME_AS')
SELECT n.seed, t.root FROM named n JOIN top t ON t.name = n.name
WHERE NOT EXISTS (SELECT 1 FROM edge e WHERE e.src = t.root AND e.type = 'SAME_AS')
"""
_MENTIONING = """WITH RECURSIVE below(root, name) AS (
  SELECT f.value, f.value FROM carray(?) f
  UNION SELECT b.root, e.src FROM below b JOIN edge e ON e.dst = b.name AND e.type = 'SAME_AS'),
rare(root) AS (
  SELECT b.root FROM below b JOIN edge e ON e.dst = b.name AND e.type = 'MENTIONS'
  GROUP BY b.root HAVING count(*) <= ?)
SELECT DISTINCT b.root, e.src FROM rare r JOIN below b ON b.root = r.root
  JOIN {edges} e ON e.dst = b.name AND e.type = 'MENTIONS'
  JOIN {nodes} x ON x.id = e.src LEFT JOIN doc d ON d.node = e.src
WHERE coalesce(d.live, 1)
"""


def mentioned_with(reader: Reader, seeds: dict[int, float]) -> dict[int, float]:
    """Return what reaches other memories of the seeds' values, in [0, 1], by way of the entities
    that both mention: GRAPH_DECAY of it with each of the two steps, divided by the square root of
    the number of memories that mention the entity. One of more than GRAPH_EDGES_MAX mentions says
    nothing."""
    named = reader.rows(_NAMED, (int64_array(list(seeds)),))
    roots = sorted({root for _, root in named})
    if not roots:
        return {}
    visible = reader.sight()
    sql = _MENTIONING.format(edges=visible.table(edge=True), nodes=visible.table(edge=False))
    sources: dict[int, list[int]] = {}
    for root, source in reader.rows(sql, (int64_array(roots), constants.GRAPH_EDGES_MAX)):
        sources.setdefault(root, []).append(source)
    reached: dict[int, float] = {}
    for seed, root in named:
        held = sources.get(root, [])
        value = seeds[seed] * constants.GRAPH_DECAY**2 / max(len(held), 1) ** 0.5
        for source in held:
            if source not in seeds:
                reached[source] = 1 - (1 - reached.get(source, 0.0)) * (1 - value)
    return reached


def rows_of(reader: Reader, project: ProjectIndex, nodes: Iterable[int]) -> dict[int, int]:
    """Return the search rows of nodes in one project, by node."""
    sql = "SELECT d.node, d.doc FROM carray(?) f JOIN doc d ON d.node = f.value WHERE d.scope = ?"
    return {node: row for node, row in reader.rows(sql, (int64_array(list(nodes)), project.scope))}
