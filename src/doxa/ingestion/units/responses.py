"""Store what an assistant answered, with edges to what the answer is based on, in one
transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from doxa.belief import EXCHANGE_KIND, Change, Kref, Ledger, place_of
from doxa.belief.operation import change_of
from doxa.ingestion.ingest import Ingest
from doxa.language.turns import Turn, check_turn, identified
from doxa.store import Identity, Store

_WHY = "the response is based on it"


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The result of storing a response: its turn, its thread, whether it was new, the addresses
    that it now refers to, and the change."""

    kref: str
    thread: str
    stored: bool
    sources: tuple[str, ...]
    change: Change


def store_response(
    store: Store,
    identity: Identity,
    turn: Turn,
    *,
    project: str,
    space: str,
    sources: Iterable[str],
) -> StoredResponse:
    """Store a turn of the role assistant, and an edge REFERENCED to each source. What an assistant
    says is never read for candidate beliefs."""
    checked = check_turn(turn)
    ledger = Ledger(store, identity)
    ingest = Ingest(store, identity, project=project, space=space)
    ((name, _),) = identified([checked])
    place = place_of(project, space)
    kref = str(Kref(place.project, place.spaces, name, EXCHANGE_KIND))
    linked: list[str] = []
    with ledger.write("add_response") as work, store.joined(work.tx):
        done = ingest.run([checked])
        node = work.tx.node_by_kref(kref)
        assert node is not None, "the turn was stored under the name of its content"
        for source in dict.fromkeys(sources):
            said = ledger.link(kref, source, kind="REFERENCED", metadata={"why": _WHY})
            linked.append(said.reason.partition(" ")[2])
    action = "created" if done.added else "linked" if work.wrote else "unchanged"
    change = change_of(work, action, kref=kref)  # type: ignore[arg-type]
    if not work.wrote:
        change = replace(change, reason="memory holds this already")
    return StoredResponse(kref, done.threads[0], bool(done.added), tuple(linked), change)
