"""How beliefs lie in the graph, and the reads of it. Labels and edges, as Cypher will see them:

    (:Project)-[:HAS_SPACE]->(:Space)-[:HAS_SPACE]->(:Space)
    (:Project|Space)-[:HAS_ITEM]->(:Item)
    (:Item)-[:HAS_REVISION]->(:Revision)      (:Item)-[:CURRENT]->(:Revision), at most one
    (:Item)-[:TAG {name}]->(:Revision)
    (:Revision)-[:SUPERSEDES|DEPENDS_ON|DERIVED_FROM|REFERENCED|CONTAINS|CREATED_FROM|…]->(:Revision
    or :Exchange)
    (:Revision)-[:HAS_ARTIFACT]->(:Artifact)      (:Item:Bundle)-[:MEMBER]->(:Item)
    (:Project|Space)-[:HAS_THREAD]->(:Thread)-[:HAS_EXCHANGE]->(:Exchange)-[:NEXT]->(:Exchange)
    (:Exchange|Revision)-[:SUPERSEDES]->(:Exchange), from which a retired belief was read
    (:Run)-[:HAS_PROPOSAL]->(:Proposal)-[:CONCERNS]->(:Item|Revision|Exchange|…), of background jobs
    (:Conflict)-[:CHALLENGER]->(:Revision), not believed      (:Conflict)-[:HELD]->(:Revision), what
    it contradicts
    (:Exchange|Revision)-[:MENTIONS]->(:Entity|PendingEntity)      (:Entity)-[:SAME_AS]->(:Entity)
    (:PendingEntity)-[:CANDIDATE]->(:Entity)

A revision is believed exactly if a CURRENT edge leads to it: a retired item carries `deprecated:
true` and the number of the revision that was (`retired_revision`), and has no such edge. A retired
exchange carries `deprecated` too. The tag `initial` is revision 1 and needs no edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doxa.base.clock import format_time
from doxa.base.errors import InputError, NotFoundError
from doxa.base.ids import NodeId
from doxa.base.values import Value
from doxa.belief.kref import Kref, check_name, parse_kref
from doxa.belief.reading.bundles import BUNDLE_KIND, is_bundle
from doxa.belief.types import (
    CONFLICT_KIND,
    ENRICHMENTS,
    PROPOSAL_KIND,
    RECORD_KIND,
    RESERVED,
    RUN_KIND,
    Fact,
    Status,
    TagMove,
    parse_fact,
)
from doxa.store import RUN_KREF, RUN_MODEL, Edge, Node, Reader
from doxa.store.intake.chains import root_of
from doxa.store.retention.horizon import require_believed

CURRENT, TAG, HAS_REVISION, SUPERSEDES = "CURRENT", "TAG", "HAS_REVISION", "SUPERSEDES"
# of an item: the number of the revision that was current when it was retired
RETIRED_REVISION = "retired_revision"
CHALLENGER, HELD = "CHALLENGER", "HELD"  # a conflict's edges
UNSUPPORTED = "unsupported"  # the tag of a belief that lost its support; written by support.py
SUPPORT_EDGES = ("DEPENDS_ON", "DERIVED_FROM")
# Edges that make what a belief is: operations write them, nobody else.
STRUCTURE = frozenset(
    (
        "HAS_SPACE",
        "HAS_ITEM",
        HAS_REVISION,
        CURRENT,
        TAG,
        "HAS_ARTIFACT",
        "MEMBER",
        "HAS_THREAD",
        "HAS_EXCHANGE",
        CHALLENGER,
        HELD,
    )
)
RESERVED_EDGES = STRUCTURE | {SUPERSEDES, "NEXT"}
PROTECTED_TAGS = ("approved", "published", "verified", "crystallised")
_PROTECTED = {"role": "operator", "names": list(PROTECTED_TAGS)}
_BY_OPERATOR = {"by_hand": "operator"}
# Whom and what memory is about (written by the package entities)
ENTITY, PENDING_ENTITY = "Entity", "PendingEntity"
MENTIONS, SAME_AS, CANDIDATE = "MENTIONS", "SAME_AS", "CANDIDATE"
ENTITY_KIND, PENDING_KIND = "entity", "mention"
_REASONED = ["why", "rule"]  # what every edge about an entity says
EXCHANGE_KIND = "exchange"
_CONVERSATION = {
    EXCHANGE_KIND: "Exchange",
    "thread": "Thread",
    CONFLICT_KIND: "Conflict",
    RUN_KIND: "Run",
    PROPOSAL_KIND: "Proposal",
    RECORD_KIND: "Record",
}  # kinds whose addresses are of no item
# kinds that items may have too: the node tells
_SHARED_KINDS = {ENTITY_KIND: ENTITY, PENDING_KIND: PENDING_ENTITY}

_RECORD_TEXTS = "kref project space kind agent type text data content_hash made_by".split()

# What the ledger declares to the store when a file is new: gates, and what is searchable.
DECLARATIONS: dict[str, Any] = {
    "guard:edge:HAS_SPACE": {
        "ends": [["Project", "Space"], ["Space"]],
        "single_in": True,
        "kept": True,
        **_BY_OPERATOR,
    },
    "guard:edge:HAS_ITEM": {
        "ends": [["Project", "Space"], ["Item"]],
        "single_in": True,
        "kept": True,
        **_BY_OPERATOR,
    },
    "guard:edge:HAS_REVISION": {
        "ends": [["Item"], ["Revision"]],
        "single_in": True,
        "kept": True,
        **_BY_OPERATOR,
    },
    "guard:edge:HAS_ARTIFACT": {
        "ends": [["Revision"], ["Artifact"]],
        "single_in": True,
        **_BY_OPERATOR,
    },
    "guard:edge:HAS_THREAD": {
        "ends": [["Project", "Space"], ["Thread"]],
        "single_in": True,
        "kept": True,
        **_BY_OPERATOR,
    },
    "guard:edge:HAS_EXCHANGE": {
        "ends": [["Thread"], ["Exchange"]],
        "single_in": True,
        "kept": True,
        **_BY_OPERATOR,
    },
    "guard:edge:NEXT": {"ends": [["Exchange"], ["Exchange"]], "kept": True, **_BY_OPERATOR},
    "guard:edge:MEMBER": {"ends": [["Item"], ["Item"]], **_BY_OPERATOR},
    "guard:edge:SUPERSEDES": {
        "ends": [["Revision", "Exchange"], ["Revision", "Exchange"]],
        **_BY_OPERATOR,
    },
    "guard:edge:CHALLENGER": {
        "ends": [["Conflict"], ["Revision"]],
        "kept": True,
        "single": True,
        **_BY_OPERATOR,
    },
    "guard:edge:HELD": {"ends": [["Conflict"], ["Revision"]], "kept": True, **_BY_OPERATOR},
    "guard:edge:CURRENT": {
        "ends": [["Item"], ["Revision"]],
        "single": True,
        "single_in": True,
        "along": HAS_REVISION,
    },
    "guard:edge:TAG": {
        "ends": [["Item"], ["Revision"]],
        "role": "operator",
        "names": list(PROTECTED_TAGS),
        "derived": [UNSUPPORTED, "current", "initial"],
        "single_name": True,
        "along": HAS_REVISION,
    },
    "guard:label:Project": {
        "addressed": True,
        "fixed": ["kref", "name"],
        "holds": {"kref": "text", "name": "text"},
    },
    "guard:label:Space": {
        "addressed": True,
        "fixed": ["kref", "name", "project"],
        "within": "HAS_SPACE",
        "holds": {"kref": "text", "name": "text", "project": "text"},
    },
    "guard:label:Thread": {
        "addressed": True,
        "fixed": ["kref", "project", "kind"],
        "within": "HAS_THREAD",
        "holds": {"kref": "text", "project": "text"},
    },
    "guard:label:Item": {
        "addressed": True,
        "fixed": ["kref", "project", "space", "name", "kind"],
        "within": "HAS_ITEM",
        "holds": dict.fromkeys(("kref", "project", "space", "kind"), "text")
        | {"name": "text?", "next_number": "integer?", RETIRED_REVISION: "integer?"},
        "by_hand": {"next_number": "system", RUN_KREF: "system", RUN_MODEL: "system"},
        "reserved": {"kind": _PROTECTED},
    },
    "guard:label:Bundle": {"addressed": True, "fixed": ["kref"]},
    "guard:label:Artifact": {
        "addressed": True,
        "by_hand": {"kref": "system"}
        | dict.fromkeys(("name", "location", "sha256", "size_bytes"), "operator"),
        "within": "HAS_ARTIFACT",
        "holds": dict.fromkeys(("kref", "name", "location"), "text")
        | {"sha256": "text?", "size_bytes": "integer?"},
    },
    "guard:label:Revision": {
        "immutable": True,
        "mutable": [],
        "within": HAS_REVISION,
        "reserved": {"kind": _PROTECTED, "trust": _PROTECTED},
        "holds": dict.fromkeys(
            ("kref", "project", "space", "kind", "summary", "trust", "author"), "text"
        )
        | {
            "number": "integer",
            "time": "integer",
            "confidence": "number",
            "title": "text?",
            "topics": "list?",
            "keywords": "list?",
            "facts": "list?",
            "sentences": "list?",
        }
        | dict.fromkeys(ENRICHMENTS, "list?")
        | {"valid_from": "integer?", "valid_until": "integer?"},
    },
    "guard:label:Exchange": {
        "immutable": True,
        # entities and dates: what rules read in it; trust: an operator vouches for its source
        "mutable": ["deprecated", "entities", "dates", "trust"],
        "by_hand": {"entities": "operator", "dates": "operator", "trust": "operator"},
        "reserved": {
            "trust": {"role": "operator", "names": ["candidate", "stated", "verified"]},
        },
        "within": "HAS_EXCHANGE",
        "holds": dict.fromkeys(
            ("kref", "project", "space", "kind", "thread", "session", "speaker", "role", "text"),
            "text",
        )
        | {
            "time": "integer",
            "caption": "text?",
            "source_id": "text?",
            "entities": "list?",
            "dates": "list?",
        },
    },
    "guard:label:Conflict": {
        "addressed": True,
        "immutable": True,
        "mutable": ["decision", "decided", "decided_by"],
        "holds": dict.fromkeys(("kref", "project", "space", "kind", "opened_by"), "text")
        | {"opened": "integer"},
    },
    "guard:label:Entity": {
        "addressed": True,
        "fixed": ["kref", "project", "space", "kind", "name", "folded"],
        "removable": True,
        "holds": dict.fromkeys(("kref", "project", "space", "kind", "name", "folded"), "text")
        | {"type": "text?", "trust": "text?", "stated_by": "text?"},
        "by_hand": dict.fromkeys(("trust", "stated_by"), "system"),
        "reserved": {"trust": _PROTECTED},
        "owned": {"trust": _PROTECTED},
    },
    "guard:label:PendingEntity": {
        "addressed": True,
        "fixed": ["kref", "project", "space", "kind", "name", "folded"],
        "removable": True,
        "holds": dict.fromkeys(
            ("kref", "project", "space", "kind", "name", "folded", "state"), "text"
        )
        | {"reason": "text?", "answer": "text?", "answered_by": "text?"},
        "by_hand": dict.fromkeys(("state", "answer", "answered_by"), "system"),
    },
    "guard:edge:MENTIONS": {
        "from": ["Exchange", "Revision"],
        "into": [ENTITY, PENDING_ENTITY],
        "needs": [*_REASONED, "as"],
        **_BY_OPERATOR,
    },
    "guard:edge:CANDIDATE": {
        "from": [PENDING_ENTITY],
        "into": [ENTITY],
        "needs": _REASONED,
        **_BY_OPERATOR,
    },
    "guard:edge:SAME_AS": {
        "from": [ENTITY],
        "into": [ENTITY],
        "needs": _REASONED,
        "single": True,
        "chain": {"trust": _PROTECTED},
        **_BY_OPERATOR,
    },
    "guard:label:Run": {
        "addressed": True,
        "fixed": "kref project space kind job started_ns model number_max share_max items".split(),
        "holds": dict.fromkeys(("kref", "project", "space", "kind", "job", "state"), "text")
        | dict.fromkeys(("started_ns", "number_max", "items", "touched", "changed"), "integer")
        | {"share_max": "number", "ended_ns": "integer?", "model": "text?", "change": "integer?"},
        "by_hand": dict.fromkeys(
            (
                "state",
                "ended_ns",
                "touched",
                "changed",
                "touched_before",
                "changed_before",
                "change",
                "counts",
                "budget",
            ),
            "system",
        ),
    },
    "guard:label:Proposal": {
        "addressed": True,
        "fixed": ["kref", "project", "space", "kind", "run", "what", "action", "made_ns"],
        "holds": dict.fromkeys(
            ("kref", "project", "space", "kind", "run", "what", "state", "reason", "action"), "text"
        )
        | {"made_ns": "integer", "decided_ns": "integer?", "said": "text?"},
        "by_hand": dict.fromkeys(
            ("state", "reason", "said", "decided_ns", "decided_by", "decided_in"), "system"
        ),
    },
    "guard:edge:HAS_PROPOSAL": {
        "ends": [["Run"], ["Proposal"]],
        "single_in": True,
        "kept": True,
        **_BY_OPERATOR,
    },
    "guard:label:Record": {
        "addressed": True,
        "judged": True,
        "edges": ["CONCERNS"],
        "fixed": [*_RECORD_TEXTS, "made_ns"],
        "holds": dict.fromkeys((*_RECORD_TEXTS, "state"), "text")
        | {"made_ns": "integer", "moved_ns": "integer?", "said": "text?", "notes": "text?"},
        "by_hand": dict.fromkeys(("state", "moved_ns", "moved_by", "said", "notes"), "system"),
    },
    "guard:address": {
        "labels": [
            "Project",
            "Space",
            "Item",
            "Revision",
            "Artifact",
            "Thread",
            "Exchange",
            "Conflict",
            ENTITY,
            PENDING_ENTITY,
            "Run",
            "Proposal",
            "Record",
        ]
    },
    "support": list(SUPPORT_EDGES),
    "search:Revision": {
        "text": ["title", "summary", "topics", "keywords", "facts"],
        "live_edge": CURRENT,
        "off": "deprecated",
        "prev_edge": "",
        "said": ["facts", "sentences"],
        "fields": list(ENRICHMENTS),
    },
    "search:Exchange": {
        "text": ["text", "caption"],
        "live_edge": "",
        "off": "deprecated",
        "prev_edge": "NEXT",
    },
}


def require(reader: Reader, kref: Kref) -> Node:
    """Return the node at an address as it is written, or raise NotFoundError, which says what is
    there instead."""
    node = reader.node_by_kref(str(kref))
    if node is None:
        raise missing(reader, kref)
    wanted = labels_at(kref)
    if kref.artifact is not None and not reader.edges_in(node.id, "HAS_ARTIFACT"):
        raise NotFoundError(  # in a file of before a query could make one
            f"What is at {kref} is attached to no revision.",
            next_step="Attach it with doxa.attach under another name.",
            kref=str(kref),
        )
    if wanted.isdisjoint(node.labels) and not _BELIEF_LABELS.isdisjoint(
        node.labels
    ):  # a graph of other things may have addresses too
        raise NotFoundError(
            f"What is at {kref} is labelled {', '.join(node.labels) or 'nothing'}, not"
            f" {' or '.join(sorted(wanted))}.",
            next_step="Search with recall, or list what the space holds.",
            kref=str(kref),
        )
    return node


_BELIEF_LABELS = frozenset(DECLARATIONS["guard:address"]["labels"])


def labels_at(kref: Kref) -> frozenset[str]:
    """Return what can be at an address of this form."""
    if kref.artifact is not None:
        return frozenset(("Artifact",))
    if kref.revision is not None:
        return frozenset(("Revision",))
    if not kref.is_item:
        return frozenset(("Space",)) if kref.spaces else frozenset(("Project",))
    if kref.kind in _SHARED_KINDS and kref == kref.item():
        return frozenset(("Item", _SHARED_KINDS[kref.kind]))
    return frozenset((_CONVERSATION.get(kref.kind, "Item"),))


def missing(reader: Reader, kref: Kref) -> NotFoundError:
    if kref.is_item and kref != kref.item() and reader.node_by_kref(str(kref.item())) is not None:
        return NotFoundError(
            f"{kref.item()} exists, but {kref} does not.",
            next_step="Ask for its history to see its revisions and tags.",
            kref=str(kref),
        )
    nearest = kref.space()
    while nearest.spaces and reader.node_by_kref(str(nearest)) is None:
        nearest = Kref(nearest.project, nearest.spaces[:-1])
    if reader.node_by_kref(str(nearest)) is None:
        known = [str(node.props.get("name")) for node in reader.labelled("Project")][:10]
        said = (
            f"Known projects: {', '.join(known)}." if known else "This memory has no project yet."
        )
        return NotFoundError(
            f"Unknown project {nearest.project!r}. {said}",
            next_step="Check the address.",
            kref=str(kref),
        )
    return NotFoundError(
        f"There is nothing at {kref}; {nearest} exists.",
        next_step="Search with recall, or list what the space holds.",
        kref=str(kref),
    )


def nothing_then(kref: Kref, *, tag: str = "current", time: int | None = None) -> NotFoundError:
    when = f" at {format_time(time)}" if time is not None else " now"
    what = "current revision" if tag == "current" else f"revision tagged {tag[:40]!r}"
    return NotFoundError(
        f"{kref.item()} has no {what}{when}.",
        next_step="Ask for its history to see what it held and when.",
        kref=str(kref),
    )


def current_of(reader: Reader, item: NodeId) -> Node | None:
    """Return the revision that is believed, or None if the item is retired."""
    edges = reader.edges_out(item, CURRENT)
    return reader.node(edges[0].dst) if edges else None


def last_of(reader: Reader, item: Node) -> Node | None:
    """Return the revision that is current or, of an item that is retired, was so until then."""
    number = item.props.get(RETIRED_REVISION)
    return (
        reader.node_by_kref(f"{item.props['kref']!s}?r={number}")
        if isinstance(number, int)
        else current_of(reader, item.id)
    )


def resolve(reader: Reader, kref: Kref) -> Node:
    """Return the node an address means: an item's pin resolved to its revision; unpinned items to
    the current one, bundles to themselves."""
    if not kref.is_item or kref.kind in _CONVERSATION:
        return require(reader, kref)
    if (
        kref.kind == BUNDLE_KIND
        and kref.revision is None
        and kref.tag is None
        and is_bundle(reader, bundle := require(reader, kref.item()))
    ):
        return bundle
    if (
        kref.kind in _SHARED_KINDS
        and kref == kref.item()
        and _SHARED_KINDS[kref.kind] in (entity := require(reader, kref)).labels
    ):
        return root_of(reader, entity, SAME_AS)
    if kref.revision is not None:
        node = reader.node_by_kref(str(kref.pinned(kref.revision)))
    elif kref.tag is not None:
        node = _tagged(reader, require(reader, kref.item()), tag=kref.tag, time=None)
    elif kref.at is not None:
        node = _tagged(reader, require(reader, kref.item()), tag="current", time=kref.at_ns)
    else:
        item = require(reader, kref.item())
        node = last_of(reader, item)
    if node is None:
        raise (
            missing(reader, kref)
            if kref.revision or kref.tag
            else nothing_then(kref, time=kref.at_ns)
        )
    return node


def tagged_at(reader: Reader, kref: Kref, *, tag: str, time: int) -> Node:
    """Return what a tag of an item pointed to at a system time."""
    check_name(tag, what="tag")
    require_believed(reader, time)
    node = _tagged(reader, require(reader, kref.item()), tag=tag, time=time)
    if node is None:
        raise nothing_then(kref, tag=tag, time=time)
    return node


def _tagged(reader: Reader, item: Node, *, tag: str, time: int | None) -> Node | None:
    if tag == "initial":
        return reader.node_by_kref(f"{item.props['kref']}?r=1")
    kind = CURRENT if tag == "current" else TAG
    edges = (
        reader.edges_out(item.id, kind)
        if time is None
        else reader.edges_as_of(item.id, time, kind=kind)
    )
    for edge in edges:
        if kind == CURRENT or edge.props.get("name") == tag:
            return reader.node(edge.dst)
    return None


def tag_moves(reader: Reader, item: Node) -> list[TagMove]:
    """Return every position of every tag, oldest first."""
    moves = []
    for kind in (CURRENT, TAG):
        for edge in reader.edge_history(item.id, kind):
            node = reader.node(edge.dst)
            name = "current" if kind == CURRENT else str(edge.props.get("name"))
            moves.append(
                TagMove(name, str(node.props["kref"]) if node else "", edge.since, edge.until)
            )
    return sorted(moves, key=lambda move: (move.since, move.tag))


def item_of(reader: Reader, revision: NodeId) -> Node:
    edges = reader.edges_in(revision, HAS_REVISION)
    node = reader.node(edges[0].src) if edges else None
    if node is None:
        raise _no_item(revision)
    return node


def _no_item(revision: NodeId) -> NotFoundError:
    return NotFoundError(
        "This revision has no item.", next_step="Run `doxa doctor`.", node=revision
    )


def revisions_of(reader: Reader, item: NodeId) -> list[Node]:
    return reader.nodes([edge.dst for edge in reader.edges_out(item, HAS_REVISION)])


def status_of(reader: Reader, revision: Node) -> Status:
    """Return where a revision stands now."""
    return status_among(
        reader, revision, reader.edges_in_of(revision.id, (CURRENT, HAS_REVISION, CHALLENGER))
    )


def status_among(reader: Reader, revision: Node, edges: Sequence[Edge]) -> Status:
    """Return the status of a revision whose incoming edges are given."""
    item = next((reader.node(edge.src) for edge in edges if edge.type == HAS_REVISION), None)
    if item is None:
        raise _no_item(revision.id)
    if any(edge.type == CHALLENGER and is_open(reader, edge.src) for edge in edges):
        return "contested"
    if item.props.get("deprecated"):
        return "deprecated"
    if any(edge.type == CURRENT for edge in edges):
        return "current"
    return "superseded" if reader.edges_out(item.id, CURRENT) else "detached"


def is_open(reader: Reader, conflict: NodeId) -> bool:
    """Return whether a conflict waits for a decision."""
    node = reader.node(conflict)
    return node is not None and not node.props.get("decision")


def enrichments_of(node: Node) -> dict[str, Any]:
    """Return what a revision gives besides what it states. Under one of these names an older file
    may hold anything as metadata."""
    held = {name: node.props.get(name) for name in ENRICHMENTS}
    return {
        name: tuple(text for text in value if isinstance(text, str))
        if isinstance(value, list)
        else ()
        for name, value in held.items()
    }


def facts_of(node: Node) -> tuple[Fact, ...]:
    stored = node.props.get("facts")
    return tuple(parse_fact(text) for text in stored) if isinstance(stored, list) else ()


def metadata_of(node: Node) -> dict[str, Value]:
    return {name: value for name, value in node.props.items() if name not in RESERVED}


def parse_target(text: str | Kref) -> Kref:
    """Read an address as callers give it: text or parsed."""
    if isinstance(text, Kref):
        return text
    if not isinstance(text, str):
        raise InputError(
            f"An address is text; this is {type(text).__name__}.",
            next_step="Give a kref such as kref://project/name.kind.",
            field="kref",
        )
    return parse_kref(text)
