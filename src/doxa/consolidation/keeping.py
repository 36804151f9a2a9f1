"""What rules keep of the structure that a host or a model made of a session which has grown since.

Rules find less than they do. So where nobody names a producer, what they made stays as it is as far
as its turns are still sources, and rules add what they find in the turns that are new. A caller who
names the producer wants its structure alone, and learns whose was replaced.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from doxa.base.errors import DoxaError
from doxa.belief.graph import current_of
from doxa.consolidation.drafts import KEPT, STRUCTURE
from doxa.consolidation.structure import SECTIONS, Structure, read_structure
from doxa.consolidation.units import Unit
from doxa.store import Reader

RULES = "rules"


class Former(NamedTuple):
    """The structure of a unit that is stored: what a host or model gave of it, by whom, and the
    turns that were read. `structure` is None where it was too large to be kept as data."""

    structure: Structure | None
    producer: str
    model: str
    turns: frozenset[str]


def former_of(reader: Reader, unit: Unit) -> Former | None:
    """Return what a host or model made of a unit; None if only rules, or nobody, did."""
    item = reader.node_by_kref(str(unit.kref))
    held = current_of(reader, item.id) if item is not None else None
    if held is None:
        return None
    kept = held.props.get(KEPT)
    by: dict[str, Any] = msgspec.json.decode(kept) if isinstance(kept, str) else {}
    producer = str(by.get("producer") or held.props.get("producer", ""))
    if producer in ("", RULES):
        return None
    model = str(by.get("model") or held.props.get("model", ""))
    turns = by.get("turns") or {
        str(node.props["kref"]).rpartition("/")[2].partition(".")[0]
        for node in reader.nodes([e.dst for e in reader.edges_out(held.id, "DERIVED_FROM")])
    }
    return Former(_part(held.props.get(STRUCTURE), by), producer, model, frozenset(turns))


def _part(stored: object, by: dict[str, Any]) -> Structure | None:
    """Return the part of a stored structure that was kept before, which comes first."""
    if not isinstance(stored, str) or not stored:
        return None
    try:
        whole, _ = read_structure(stored)
    except DoxaError:
        return None
    if not by:
        return whole
    counts = by["counts"]
    part = {name: getattr(whole, name)[: counts.get(name, 0)] for name in SECTIONS}
    return Structure(title=whole.title if counts.get("title") else None, **part)


def merged(
    former: Former, added: Structure, *, turns: frozenset[str]
) -> tuple[Structure, Structure]:
    """Return a structure with what is kept of the former one first, and the part that is kept.
    What is drawn from turns that are not among `turns` any more is not."""
    assert former.structure is not None
    kept: dict[str, Any] = {}
    both: dict[str, Any] = {}
    for name in SECTIONS:
        kept[name] = tuple(
            entry for entry in getattr(former.structure, name) if turns.issuperset(entry.sources)
        )
        new = (e for e in getattr(added, name) if not former.turns.issuperset(e.sources))
        both[name] = (*kept[name], *new)
    title = former.structure.title
    if title is not None and not turns.issuperset(title.sources):
        title = None
    return Structure(title=title or added.title, **both), Structure(title=title, **kept)


def kept_note(former: Former, structure: Structure, kept: Structure) -> tuple[str, frozenset[Any]]:
    """Return what the summary says of the part that was kept, and its entries. `structure` is the
    validated one: what was not confirmed again is not kept. The turns are those that the former
    producer read."""
    titled = structure.title is not None and kept.title is not None
    counts: dict[str, int] = {"title": int(titled)}
    held: set[Any] = set()
    for name in SECTIONS:
        still = set(getattr(kept, name)) & set(getattr(structure, name))
        counts[name] = len(still)
        held |= {(name, entry) for entry in still}
    note = {
        "producer": former.producer,
        "model": former.model,
        "counts": counts,
        "turns": sorted(former.turns),
    }
    return msgspec.json.encode(note).decode(), frozenset(held)
