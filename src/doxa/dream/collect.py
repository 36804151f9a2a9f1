"""The stages that read: events after the cursor, what they are about, and its surroundings.

A page is what the next DREAM_PAGE_ENTRIES_MAX log entries are about, each belief once, as it is
now. Left out is what no job reads: what a run wrote, what is retired, untrusted, hidden or on hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from doxa.base.ids import NodeId
from doxa.base.limits import DREAM_BATCH_ITEMS_MAX, DREAM_PAGE_ENTRIES_MAX
from doxa.belief.background.sources import Sources, trust_rank_of
from doxa.belief.graph import CURRENT, UNSUPPORTED, is_open, item_of
from doxa.dream.findings import DreamBatch
from doxa.events.context import Context
from doxa.events.filters import EventFilter
from doxa.events.stream import read_batch
from doxa.store import RUN_KREF, Node, Reader

_EVENTS = ("revision.created", "revision.tagged", "exchange.added", "item.restored")
_EXPIRED = (
    "SELECT d.node FROM doc d JOIN token t ON t.id = d.scope WHERE t.text = ? AND d.live AND d.node"
    " > 0 AND d.valid_until <= ? AND d.valid_until > ?"
)


@dataclass(slots=True)
class Page:
    """What some log entries are about. `seq` is the last of them; `is_last`: none follows."""

    seq: int
    is_last: bool
    events: int = 0
    beliefs: dict[int, Node] = field(default_factory=dict)
    threads: dict[str, None] = field(default_factory=dict)
    unsupported: dict[int, Node] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)


def collect(reader: Reader, project: str, after: int) -> Page:
    """Read the events after a position, and what they are about."""
    context = Context()
    wanted = EventFilter(_EVENTS, project=project)
    batch = read_batch(reader, after, wanted, context, limit=DREAM_PAGE_ENTRIES_MAX)
    last = reader.rows("SELECT coalesce(max(last_seq), 0) FROM main.receipt")[0][0]
    page = Page(batch.seq, batch.seq >= last, len(batch.events))
    items: dict[str, bool] = {}  # address of the item -> whether it lost its support
    turns: dict[str, None] = {}
    for event in batch.events:
        if event.kref is None:
            continue
        base = event.kref.partition("?")[0]
        if event.name == "exchange.added":
            turns[event.kref] = None
        else:
            items[base] = items.get(base, False) or event.tag == UNSUPPORTED
    _take_items(reader, items, page)
    _take_turns(reader, list(turns), page)
    return page


def _take_items(reader: Reader, items: dict[str, bool], page: Page) -> None:
    sources = Sources(reader)
    for item in reader.nodes_by_kref(list(items)):
        for node in _current(reader, item.id):
            if not is_assessable(reader, sources, node):
                continue
            page.beliefs[node.id] = node
            if items[str(item.props["kref"])] and _is_unsupported(reader, item.id):
                page.unsupported[node.id] = node


def _take_turns(reader: Reader, turns: list[str], page: Page) -> None:
    sources = Sources(reader)
    for node in reader.nodes_by_kref(turns):
        if sources.why_not(node):
            continue
        for edge in reader.edges_in(node.id, "HAS_EXCHANGE"):
            thread = reader.node(edge.src)
            if thread is not None:
                page.threads[str(thread.props["kref"])] = None
        found = node.props.get("entities")
        for name in dict.fromkeys(map(str, found if isinstance(found, list) else ())):
            page.names.setdefault(name, []).append(str(node.props["kref"]))


def _current(reader: Reader, item: NodeId) -> list[Node]:
    return reader.nodes([edge.dst for edge in reader.edges_out(item, CURRENT)])


def _is_unsupported(reader: Reader, item: NodeId) -> bool:
    return any(edge.props.get("name") == UNSUPPORTED for edge in reader.edges_out(item, "TAG"))


def is_assessable(reader: Reader, sources: Sources, node: Node) -> bool:
    """Return whether a dream may look at a belief: it need not be a source, but nothing that a run
    wrote, that is untrusted, hidden, contested or on hold."""
    if node.props.get(RUN_KREF) is not None or trust_rank_of(node) == 0 or sources.is_held(node):
        return False
    item = item_of(reader, node.id)
    if item.props.get(RUN_KREF) is not None or sources.is_held(item):
        return False
    waiting = reader.edges_in(node.id, "CHALLENGER")
    return (
        reader.is_seen(False, node.id)
        and reader.is_seen(False, item.id)
        and not any(is_open(reader, edge.src) for edge in waiting)
    )


def expired(reader: Reader, project: str, *, since: int, until: int) -> list[Node]:
    """Return current beliefs whose time of validity ended in a stretch of time."""
    rows = reader.rows(_EXPIRED, (f"scope:{project}", until, since))
    sources = Sources(reader)
    return [
        node
        for node in reader.nodes([row[0] for row in rows])
        if "Revision" in node.labels and is_assessable(reader, sources, node)
    ]


def batches(reader: Reader, project: str, page: Page, gone: list[Node]) -> Iterator[DreamBatch]:
    """Cut a page into batches; the first holds what is not a belief. `gone`: what has expired."""
    nodes = list(page.beliefs.values())
    starts = range(0, max(1, len(nodes)), DREAM_BATCH_ITEMS_MAX)
    for start in starts:
        part = tuple(nodes[start : start + DREAM_BATCH_ITEMS_MAX])
        first = start == 0
        yield DreamBatch(
            project,
            part,
            {node.id: _bundles(reader, node.id) for node in part},
            tuple(page.threads) if first else (),
            tuple(page.unsupported.values()) if first else (),
            dict(page.names) if first else {},
            tuple(gone) if first else (),
        )


def _bundles(reader: Reader, revision: NodeId) -> tuple[str, ...]:
    item = item_of(reader, revision)
    ends = reader.nodes([edge.src for edge in reader.edges_in(item.id, "MEMBER")])
    return tuple(sorted(str(node.props["kref"]) for node in ends))
