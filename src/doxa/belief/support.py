"""What beliefs depend on, and what becomes of them when that is lost.

    (a)-[:DEPENDS_ON]->(b)              b is a precondition of a
    (a)-[:DERIVED_FROM]->(b)            b alone is a ground of a; of several grounds one is enough
    (a)-[:… {set: "x"}]->(b)            b is a ground of a together with all that the edges of set x
    lead to

A belief without grounds is supported; one with grounds needs one of them whole, and every
precondition. A current revision, or an exchange, is a ground while it is not retired and not
unsupported itself. A revision that was replaced still is one if the current revision of its item
states all its facts. Grounds must lead somewhere: beliefs that are derived from each other in a
circle do not support each other.

A current revision that lacks support carries the tag `unsupported`, whose edge names the cause. It
stays believed, labelled: nothing is dropped. `propagate_support` keeps the tags true at the end of
every transaction, whichever interface wrote it. What it reads grows with what depends on the change
and not with an item's history: other revisions of an item are looked at only where a fact is
stated, since only then can they be grounds. Source: Doyle, "A Truth Maintenance System", 1979.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec

from doxa.base.ids import EdgeId, NodeId
from doxa.base.values import decode
from doxa.belief.graph import HAS_REVISION, TAG, UNSUPPORTED
from doxa.belief.types import SupportLost
from doxa.belief.verified import keep_ground
from doxa.store import Reader, Transaction, int64_array

_TYPES = "('DEPENDS_ON', 'DERIVED_FROM')"
_CONNECTING = frozenset(("DEPENDS_ON", "DERIVED_FROM", TAG))
# The joins are crossed so that SQLite keeps their order: each is a probe of an index for each row
# before it.
_DEPENDENTS = (
    "SELECT DISTINCT e.src FROM carray(?) f CROSS JOIN edge e ON e.dst = f.value AND e.type IN"
    f" {_TYPES}"
)
# other revisions of the same items that some belief names as a ground
_SIBLINGS = (
    "SELECT DISTINCT g.dst FROM carray(?) f CROSS JOIN edge h ON h.dst = f.value AND h.type ="
    " 'HAS_REVISION' CROSS JOIN edge g ON g.src = h.src AND g.type = 'HAS_REVISION' AND g.dst <>"
    f" f.value WHERE EXISTS (SELECT 1 FROM edge e WHERE e.dst = g.dst AND e.type IN {_TYPES})"
)
STATE = (  # of a node n and its edge h from its item, as State takes it
    "h.src, EXISTS (SELECT 1 FROM edge c WHERE c.dst = n.id AND c.type = 'CURRENT'),"
    " coalesce((SELECT 1 + coalesce(t.props ->> '$.erased', 0) FROM edge t WHERE t.dst = n.id AND"
    f" t.type = '{TAG}' AND t.props ->> '$.name' = '{UNSUPPORTED}'), 0), EXISTS (SELECT 1 FROM node"
    " p WHERE p.id = n.id AND json_array_length(p.props -> '$.facts') > 0) AND EXISTS (SELECT 1"
    " FROM edge g WHERE g.src = h.src AND g.type = 'HAS_REVISION' AND g.dst <> n.id)"
)
_STATES = (
    f"SELECT n.id, {STATE}, EXISTS (SELECT 1 FROM edge u WHERE u.dst = n.id AND u.type IN {_TYPES})"
    " FROM (SELECT value AS id FROM carray(?)) n LEFT JOIN edge h ON h.dst ="
    " n.id AND h.type = 'HAS_REVISION'"
)
_BROKEN = "member_erased"  # set on what is left of a set of grounds of which one was erased
_GROUNDS = (
    "SELECT e.src, e.type, e.dst, e.props ->> '$.set', e.id, coalesce(e.props ->>"
    f" '$.{_BROKEN}', 0) FROM carray(?) f CROSS JOIN edge e ON e.src = f.value AND e.type IN"
    f" {_TYPES}"
)
_CURRENT_FACTS = (
    "SELECT e.dst, n.props -> '$.facts' FROM edge e JOIN node n ON n.id = e.dst WHERE e.src = ? AND"
    " e.type = 'CURRENT'"
)


class State(msgspec.Struct, frozen=True, gc=False):
    """A revision or exchange as support looks at it. `item` is None unless it is a revision."""

    item: NodeId | None
    live: bool
    tagged: int  # 1: it lacks support; 2: for good, since a ground was erased
    beside: bool  # it states facts, and its item has other revisions: they may state the same
    ground: bool = False  # some belief names it as a ground; set where `_states` reads it


def propagate_support(tx: Transaction) -> tuple[tuple[SupportLost, ...], tuple[SupportLost, ...]]:
    """Tag what lost its support by this transaction so far, and untag what got it back: (lost it,
    got it back)."""
    dirty = [identity for identity in tx.drain_dirty() if not _is_unconnected(tx, identity)]
    if not dirty:
        return (), ()
    states = _states(tx, dirty)
    for identity in [i for i, state in states.items() if state.tagged == 1 and not state.live]:
        _untag(tx, identity)  # what is not believed any more needs no support
    region = _affected(tx, states)
    supported = region.supported()
    fallen, risen = [], []
    for identity in sorted(region.members):
        state = region.states[identity]
        if identity not in supported and not state.tagged:
            cause, ground = region.cause(identity, supported)
            keep_ground(tx, identity, ground)
            tag_unsupported(tx, identity, cause, ground=ground)
            fallen.append(SupportLost(_address(tx, identity), f"{cause}: {_address(tx, ground)}"))
        elif identity in supported and state.tagged:
            _untag(tx, identity)
            risen.append(SupportLost(_address(tx, identity), "what it depends on is believed"))
    return tuple(fallen), tuple(risen)


def _is_unconnected(tx: Transaction, identity: NodeId) -> bool:
    """Return whether this transaction made the node, and it depends on nothing and nothing on it.
    The transaction knows all edges of such a node: nothing is read."""
    if not tx.is_made(identity):
        return False
    node = tx.node(identity)
    if node is None:
        return False
    edges = (*tx.edges_out(identity), *tx.edges_in(identity))
    if node.props.get("facts") and not all(
        tx.is_made(edge.src) for edge in edges if edge.type == HAS_REVISION
    ):  # with facts it may stand in for a former revision
        return False
    return not any(edge.type in _CONNECTING for edge in edges)


def would_fall(
    reader: Reader,
    lost: Iterable[NodeId],
    reached: dict[NodeId, State] | None = None,
    broken: frozenset[NodeId] = frozenset(),
) -> set[NodeId]:
    """Return what would lose its support if these revisions or exchanges were no longer believed,
    except what has lost it already. `reached`: what depends on them, directly or not, where the
    caller knows it; `broken`: of these, what lacks a precondition for certain."""
    gone = frozenset(lost)
    seeds = [
        identity
        for identity in (_dependents(reader, gone) if reached is None else reached)
        if identity not in gone
    ]
    region = _Region(reader, seeds, gone=gone, known=reached, broken=broken)
    return {
        identity
        for identity in region.members - region.supported()
        if not region.states[identity].tagged
    }


def _affected(tx: Transaction, states: dict[NodeId, State]) -> _Region:
    """The current revisions whose support may differ from what their tags say."""
    live = {i: state for i, state in states.items() if state.item is not None and state.live}
    stating = [identity for identity, state in states.items() if state.beside]
    siblings = _siblings(tx, stating)
    grounds = {*siblings, *(i for i, state in states.items() if state.ground)}
    if not grounds:  # nothing depends on what changed
        return _Region(tx, [], known=live, closed=True)
    found = dict.fromkeys(live)
    known = states | _states(tx, [identity for identity in siblings if identity not in states])
    for target in sorted(grounds):  # of an item's many revisions usually none or few
        state = known.get(target)
        stands = state is not None and _standing_for(tx, target, state, frozenset()) is not None
        for identity, dependent in _states(tx, _dependents(tx, [target])).items():
            if dependent.live and bool(dependent.tagged) is stands:
                found[identity] = None
    return _Region(tx, list(found))


def _siblings(reader: Reader, stating: list[NodeId]) -> list[NodeId]:
    if not stating:
        return []
    return [NodeId(row[0]) for row in reader.rows(_SIBLINGS, (int64_array(stating),))]


def _dependents(reader: Reader, targets: Collection[NodeId]) -> list[NodeId]:
    if not targets:
        return []
    return [NodeId(row[0]) for row in reader.rows(_DEPENDENTS, (int64_array(sorted(targets)),))]


def _states(reader: Reader, identities: Collection[NodeId]) -> dict[NodeId, State]:
    if not identities:
        return {}
    rows = reader.rows(_STATES, (int64_array(sorted(set(identities))),))
    others = [NodeId(row[0]) for row in rows if row[1] is None]
    if others:
        # exchanges and the like are live unless they are retired; what was erased is not there
        grounds = {row[0] for row in rows if row[-1]}
        rows = [row for row in rows if row[1] is not None] + [
            (node.id, None, not node.props.get("deprecated"), 0, False, node.id in grounds)
            for node in reader.nodes(others)
        ]
    return {
        identity: State(item, bool(live), tagged, bool(beside), bool(ground))
        for identity, item, live, tagged, beside, ground in rows
    }


def _standing_for(
    reader: Reader, identity: NodeId, state: State, gone: frozenset[NodeId]
) -> NodeId | None:
    """Which node must be supported for this target to be a ground: itself while it is live, or what
    is current of its item and says as much."""
    if identity in gone:
        return None
    if state.live:
        return identity
    node = reader.node(identity) if state.item is not None else None
    facts = node.props.get("facts") if node is not None else None
    row = reader.rows(_CURRENT_FACTS, (state.item,))
    if (
        isinstance(facts, list)
        and facts
        and row
        and row[0][0] not in gone
        and row[0][1]
        and set(facts) <= set(decode(row[0][1]))
    ):
        return NodeId(row[0][0])
    return None


class _Region:
    """Current revisions whose support is judged together, and their surroundings as they are."""

    def __init__(
        self,
        reader: Reader,
        seeds: list[NodeId],
        *,
        gone: frozenset[NodeId] = frozenset(),
        known: dict[NodeId, State] | None = None,
        broken: frozenset[NodeId] = frozenset(),
        closed: bool = False,
    ) -> None:
        """`known`: the states of the seeds, where whatever depends on a seed is one as well.
        `closed`: nothing depends on other revisions of their items either."""
        self._reader = reader
        self.states: dict[NodeId, State] = {}
        self.members: set[NodeId] = set()
        due = seeds
        while due or known:
            states = _states(reader, due) if known is None else known
            self.states |= states
            live = [i for i, state in states.items() if state.live and i not in gone]
            self.members.update(live)
            if closed:
                break
            siblings = _siblings(reader, [i for i in live if states[i].beside])
            targets = siblings if known is not None else [*live, *siblings]
            due = [i for i in _dependents(reader, targets) if i not in self.states]
            known = None
        self._needed: dict[NodeId, list[NodeId]] = {}
        self._either: dict[
            NodeId, dict[str, list[NodeId]]
        ] = {}  # grounds of which one is enough, those that may still hold
        self._users: dict[NodeId, list[NodeId]] = {}
        self._lacking: dict[
            NodeId, NodeId
        ] = {}  # a target that has ceased to be a ground, of those that have such a one
        self._left: dict[NodeId, NodeId] = {}  # a target of a set that has lost another member
        self._broken = set(broken)  # members that have no support whatever becomes of the rest
        self._read_grounds(gone)

    def _read_grounds(self, gone: frozenset[NodeId]) -> None:
        self._broken |= {identity for identity in self.members if self.states[identity].tagged == 2}
        asked = self.members - self._broken
        edges = self._reader.rows(_GROUNDS, (int64_array(sorted(asked)),)) if asked else []
        standing: dict[NodeId, NodeId | None] = dict.fromkeys(gone)
        targets = {row[2] for row in edges} - standing.keys()
        self.states |= _states(
            self._reader, [target for target in targets if target not in self.states]
        )
        for target in targets:
            standing[target] = (
                target
                if self.states[target].live
                else _standing_for(self._reader, target, self.states[target], gone)
            )
        self.states |= _states(
            self._reader,
            [node for node in standing.values() if node is not None and node not in self.states],
        )
        alternatives: set[NodeId] = set()
        incomplete: set[tuple[NodeId, str]] = set()
        either, users, lacking = self._either, self._users, self._lacking
        for src, kind, target, together, _, broken in edges:
            node = standing[target]
            if node is None:
                lacking.setdefault(src, target)
            else:
                users.setdefault(node, []).append(src)
            if together is None and kind == "DEPENDS_ON":
                if node is None:
                    self._broken.add(src)
                else:
                    self._needed.setdefault(src, []).append(node)
                continue
            name = f"edge {target}" if together is None else f"set {together}"
            alternatives.add(src)
            if node is not None:
                either.setdefault(src, {}).setdefault(name, []).append(node)
            if together is not None and (node is None or broken):
                incomplete.add((src, name))
                self._left[src] = target
        for src, name in incomplete:
            either.get(src, {}).pop(name, None)
        self._broken.update(src for src in alternatives if not either.get(src))

    def supported(self) -> set[NodeId]:
        """The members that have support: the greatest set in which each has its preconditions and a
        ground that does not depend on itself."""
        held = self.members - self._broken
        self._take_away(held, list(held))
        while True:
            founded = self._founded(held)
            if founded == held:
                return held
            held = founded
            self._take_away(held, list(held))

    def _take_away(self, held: set[NodeId], due: list[NodeId]) -> None:
        """Remove members without support, and then those that depended on them."""
        while due:
            member = due.pop()
            if member in held and not self._is_supported(member, held, held):
                held.discard(member)
                due += self._users.get(member, ())

    def _founded(self, held: set[NodeId]) -> set[NodeId]:
        """The members reached from those that need no ground, or have one outside."""
        founded: set[NodeId] = set()
        due = list(held)
        while due:
            member = due.pop()
            if (
                member in held
                and member not in founded
                and self._is_supported(member, held, founded)
            ):
                founded.add(member)
                due += self._users.get(member, ())
        return founded

    def _is_supported(self, member: NodeId, needed: set[NodeId], grounded: set[NodeId]) -> bool:
        for node in self._needed.get(member, ()):
            if not self._holds(node, needed):
                return False
        groups = self._either.get(member)
        return groups is None or any(
            all(self._holds(node, grounded) for node in together) for together in groups.values()
        )

    def _holds(self, node: NodeId, within: set[NodeId]) -> bool:
        if node in self.members:
            return node in within
        state = self.states[node]
        return state.live and not state.tagged

    def cause(self, member: NodeId, supported: set[NodeId]) -> tuple[str, NodeId]:
        """Why it lacks support, in words, and which ground is missing. In a circle each is without
        support because of the next."""
        if member in self._lacking:
            return "what it depends on is not believed any more", self._lacking[member]
        grounds = (
            *self._needed.get(member, ()),
            *(one for together in self._either.get(member, {}).values() for one in together),
        )
        missing = next((node for node in grounds if not self._holds(node, supported)), None)
        if missing is None:
            return "what it depended on together with this was erased", self._left[member]
        return "what it depends on has no support itself", missing


def _address(reader: Reader, identity: NodeId) -> str:
    node = reader.node(identity)
    return str(node.props.get("kref", "")) if node is not None else ""


def tag_unsupported(
    tx: Transaction,
    revision: NodeId,
    cause: str,
    *,
    ground: NodeId | None = None,
    erased: bool = False,
) -> None:
    """Set the tag, with its cause in words and the ground by its id: the words of an address may
    have to be erased. A bundle has no revision that could carry it."""
    owners = tx.edges_in(revision, HAS_REVISION)
    if not owners:
        return
    props = {
        "name": UNSUPPORTED,
        "cause": cause,
        "ground": ground,
        "erased": True if erased else None,
    }
    tx.create_edge(
        TAG,
        owners[0].src,
        dst=revision,
        props={name: value for name, value in props.items() if value is not None},
    )


class Erasure:
    """What depends on elements that are to be erased: looked at before, since their edges go with
    them, and tagged after. The tag stays: whether the rest is enough can no longer be decided."""

    def __init__(self, tx: Transaction, gone: Iterable[NodeId]) -> None:
        erased = frozenset(gone)
        dependents = [identity for identity in _dependents(tx, erased) if identity not in erased]
        self._due: list[NodeId] = []
        self._incomplete: list[EdgeId] = []
        for identity in dependents:
            grounds = _grounds_without(tx, identity, erased)
            self._incomplete += grounds.incomplete
            if grounds.lost:
                self._due.append(identity)

    def tag(self, tx: Transaction) -> None:
        """Tag them after the erasure. An incomplete set no longer counts as a
        ground, now or later."""
        for link in self._incomplete:
            edge = tx.edge(link)
            if edge is not None:
                tx.set_edge(link, {**edge.props, _BROKEN: True})
        for identity in self._due:
            _untag(tx, identity)
            tag_unsupported(tx, identity, "what it depended on was erased", erased=True)


class _GroundsLeft(NamedTuple):
    """Whether a belief loses a precondition, or the last ground of which one is enough; and the
    edges of sets that an erasure leaves without a member."""

    lost: bool
    incomplete: list[EdgeId]


def _grounds_without(tx: Transaction, identity: NodeId, erased: frozenset[NodeId]) -> _GroundsLeft:
    lost = False
    whole: dict[str, bool] = {}
    sets: dict[str, list[EdgeId]] = {}
    for _, kind, target, together, edge, broken in tx.rows(_GROUNDS, (int64_array([identity]),)):
        if kind == "DEPENDS_ON" and together is None:
            lost = lost or target in erased
            continue
        name = f"edge {target}" if together is None else f"set {together}"
        whole[name] = whole.get(name, True) and target not in erased and not broken
        if together is not None and target not in erased:
            sets.setdefault(name, []).append(edge)
    incomplete = [edge for name, edges in sets.items() if not whole[name] for edge in edges]
    return _GroundsLeft(lost or (bool(whole) and not any(whole.values())), incomplete)


def _untag(tx: Transaction, revision: NodeId) -> None:
    for edge in tx.edges_in(revision, TAG):
        if edge.props.get("name") == UNSUPPORTED:
            tx.delete_edge(edge.id)
