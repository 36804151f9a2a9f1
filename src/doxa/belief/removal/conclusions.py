"""What runs of background jobs concluded from sources that are to be erased. It quotes them, and
goes with any of them: what remains of its sources can be concluded from again.

    (conclusion) -DERIVED_FROM-> (source)       also before the run was undone
    (week) -SUMMARIZES-> (day) -SUMMARIZES-> (summary of a session)

An item that a run made goes with all its revisions, since its name is made of the words too; of any
other item only the revisions of runs go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from doxa.belief.graph import HAS_REVISION
from doxa.store import RUN_KREF, Node, Reader, int64_array

_DRAWN = (
    f"SELECT r.id FROM {{table}} d JOIN node r ON r.id = d.src AND r.props ->> '$.{RUN_KREF}' IS"
    " NOT NULL WHERE d.dst IN carray(?) AND d.type = ?"
)
# What a run concluded in these threads, of which not even the past says from what.
_GROUNDLESS = (
    "SELECT r.id FROM node_label l JOIN node r ON r.id = l.node WHERE l.label = 'Revision' AND"
    f" r.props ->> '$.{RUN_KREF}' IS NOT NULL AND r.props ->> '$.thread' IN (SELECT t.kref FROM"
    " edge h JOIN node t ON t.id = h.src WHERE h.dst IN carray(?) AND h.type = 'HAS_EXCHANGE')"
    " AND NOT EXISTS (SELECT 1 FROM edge d WHERE d.src = r.id AND d.type = 'DERIVED_FROM')"
    " AND NOT EXISTS (SELECT 1 FROM edge_past d WHERE d.src = r.id AND d.type = 'DERIVED_FROM')"
)


def conclusions_from(reader: Reader, sources: Collection[int]) -> list[str]:
    """Return the addresses of the items and revisions that runs concluded from these nodes, or
    from what they concluded from them; without those that are among the nodes."""
    given = set(sources)
    if not given:
        return []
    new = _drawn(reader, given, "DERIVED_FROM") - given
    new |= {row[0] for row in reader.rows(_GROUNDLESS, (int64_array(sorted(given)),))} - given
    found: dict[str, None] = {}
    taken = set(given)
    while new:
        taken |= new
        revisions = set[int]()
        for node in _whole(reader, new):
            found[str(node.props["kref"])] = None
            revisions |= {node.id} | {edge.dst for edge in reader.edges_out(node.id, HAS_REVISION)}
        taken |= revisions
        above = _drawn(reader, revisions, "DERIVED_FROM") | _drawn(reader, revisions, "SUMMARIZES")
        new = above - taken
    return sorted(found)


def conclusions_at(reader: Reader, krefs: Iterable[str]) -> list[str]:
    """Return the addresses of what runs concluded from what is at these addresses."""
    nodes = [node for kref in krefs if (node := reader.node_by_kref(kref)) is not None]
    held = {edge.dst for node in nodes for edge in reader.edges_out(node.id, HAS_REVISION)}
    return conclusions_from(reader, held | {node.id for node in nodes})


def _drawn(reader: Reader, nodes: set[int], kind: str) -> set[int]:
    ids = int64_array(sorted(nodes))
    return {
        row[0]
        for table in ("edge", "edge_past")
        for row in reader.rows(_DRAWN.format(table=table), (ids, kind))
    }


def _whole(reader: Reader, revisions: set[int]) -> list[Node]:
    """Return the items that runs made, and the revisions of runs of other items."""
    found: dict[int, Node] = {}
    rows = reader.rows(
        "SELECT DISTINCT src FROM edge WHERE type = 'HAS_REVISION' AND dst IN carray(?)",
        (int64_array(sorted(revisions)),),
    )
    for item in reader.nodes([row[0] for row in rows]):
        if item.props.get(RUN_KREF) is not None:
            found[item.id] = item
            continue
        held = reader.nodes([edge.dst for edge in reader.edges_out(item.id, HAS_REVISION)])
        found |= {node.id: node for node in held if node.props.get(RUN_KREF) is not None}
    return list(found.values())
