"""What beliefs rest on, and what becomes of them when it goes.

    (a)-[:DEPENDS_ON]->(b)              b is a precondition of a
    (a)-[:DERIVED_FROM]->(b)            b alone is a ground of a; of several grounds one is enough
    (a)-[:… {set: "x"}]->(b)            b is a ground of a together with all that the edges of set x lead to

A belief without grounds stands by itself; one with grounds needs one of them whole, and every precondition. A current revision, or an exchange, is a
ground while it is not retired and not unsupported itself. A revision that was replaced still is one if what is current of its item states all its
facts. Grounds must lead somewhere: beliefs that are derived from each other in a circle support each other no more than nothing does.

A current revision that lacks support carries the tag `unsupported`, whose edge says the cause. It stays believed, labelled: nothing is dropped.
`settle` keeps the tags true at the end of every transaction, whatever door it came by. Source: Doyle, "A Truth Maintenance System", 1979.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from doxa.base.ids import NodeId
from doxa.base.values import decode
from doxa.belief.graph import TAG, UNSUPPORTED
from doxa.belief.types import Fallen
from doxa.store import Reader, Transaction, int64_array

_TYPES = "('DEPENDS_ON', 'DERIVED_FROM')"
# dependents of a set of revisions, through every revision of their items, level by level
_CLOSURE = f"""
WITH RECURSIVE r(id) AS (
  SELECT value FROM carray(?)
  UNION
  SELECT e.src FROM r JOIN edge h ON h.dst = r.id AND h.type = 'HAS_REVISION' JOIN edge g ON g.src = h.src AND g.type = 'HAS_REVISION'
  JOIN edge e ON e.dst = g.dst AND e.type IN {_TYPES} JOIN edge c ON c.dst = e.src AND c.type = 'CURRENT')
SELECT id FROM r"""
_TAGGED = f"EXISTS (SELECT 1 FROM edge t WHERE t.dst = n.id AND t.type = '{TAG}' AND t.props ->> '$.name' = '{UNSUPPORTED}')"
_STATES = (
    "SELECT n.id, coalesce(n.props ->> '$.kref', ''), h.src, "
    f"EXISTS (SELECT 1 FROM edge c WHERE c.dst = n.id AND c.type = 'CURRENT'), coalesce(n.props ->> '$.deprecated', 0), {_TAGGED}, "
    "n.props -> '$.facts' FROM carray(?) f JOIN node n ON n.id = f.value LEFT JOIN edge h ON h.dst = n.id AND h.type = 'HAS_REVISION'"
)
_GROUNDS = f"SELECT e.src, e.type, e.dst, e.props ->> '$.set' FROM carray(?) f JOIN edge e ON e.src = f.value AND e.type IN {_TYPES} ORDER BY e.id"
_DEPENDENTS = f"SELECT DISTINCT e.src FROM carray(?) f JOIN edge e ON e.dst = f.value AND e.type IN {_TYPES}"
_CURRENT_FACTS = "SELECT e.dst, n.props -> '$.facts' FROM edge e JOIN node n ON n.id = e.dst WHERE e.src = ? AND e.type = 'CURRENT'"
_REVISIONS_BESIDE = (
    "SELECT DISTINCT g.dst FROM carray(?) f JOIN edge h ON h.dst = f.value AND h.type = 'HAS_REVISION' "
    "JOIN edge g ON g.src = h.src AND g.type = 'HAS_REVISION'"
)


class State(NamedTuple):
    """A revision or exchange as support looks at it. `item` is None of what is no revision."""

    kref: str
    item: NodeId | None
    live: bool
    tagged: bool
    facts: frozenset[str]

    @property
    def stands(self) -> bool:
        return self.live and not self.tagged


@dataclass
class _Grounds:
    """What one belief rests on: nodes that stand for the targets of its edges, None for one that is gone."""

    needed: list[tuple[NodeId, NodeId | None]] = field(default_factory=list)
    either: dict[str, list[tuple[NodeId, NodeId | None]]] = field(default_factory=dict)


def settle(tx: Transaction) -> tuple[tuple[Fallen, ...], tuple[Fallen, ...]]:
    """Tag what lost its support by this transaction so far, and untag what got it back: (lost it, got it back)."""
    stirred = tx.take_stirred()
    if not stirred:
        return (), ()
    states = _states(tx, stirred)
    for identity in [i for i, state in states.items() if state.tagged and not state.live]:
        _untag(tx, identity)  # what is not believed any more needs no support
    region = _Region(tx, _touched(tx, states))
    supported = region.supported()
    fallen, risen = [], []
    for identity in sorted(region.members):
        state = region.states[identity]
        if identity not in supported and not state.tagged:
            cause = region.cause(identity, supported)
            tx.create_edge(TAG, _item(state), dst=identity, props={"name": UNSUPPORTED, "cause": cause})
            fallen.append(Fallen(state.kref, cause))
        elif identity in supported and state.tagged:
            _untag(tx, identity)
            risen.append(Fallen(state.kref, "what it rests on is believed"))
    return tuple(fallen), tuple(risen)


def would_fall(reader: Reader, lost: Iterable[NodeId]) -> dict[NodeId, str]:
    """What would lose its support if these revisions or exchanges were not believed any more: node to address. What has lost it already is left
    out."""
    gone = frozenset(lost)
    region = _Region(reader, [i for i in _dependents(reader, gone) if i not in gone], gone=gone)
    supported = region.supported()
    return {i: region.states[i].kref for i in sorted(region.members - supported) if not region.states[i].tagged}


def _touched(tx: Transaction, states: dict[NodeId, State]) -> list[NodeId]:
    """The current revisions whose support may be other than their tags say."""
    revisions = [identity for identity, state in states.items() if state.item is not None]
    beside = [NodeId(row[0]) for row in tx.rows(_REVISIONS_BESIDE, (int64_array(revisions),))]
    exchanges = [identity for identity, state in states.items() if state.item is None]
    found = dict.fromkeys(identity for identity in revisions if states[identity].live)
    known = dict(states)
    known |= _states(tx, [identity for identity in beside if identity not in known])
    for target in (*beside, *exchanges):
        state, dependents = known.get(target), _dependents(tx, [target])
        if not dependents:
            continue
        stands = state is not None and _standing_for(tx, target, state, frozenset()) is not None
        for identity, dependent in _states(tx, dependents).items():
            if dependent.live and dependent.tagged is stands:
                found[identity] = None
    return list(found)


def _dependents(reader: Reader, targets: Iterable[NodeId]) -> list[NodeId]:
    return [NodeId(row[0]) for row in reader.rows(_DEPENDENTS, (int64_array(sorted(targets)),))]


def _states(reader: Reader, identities: Iterable[NodeId]) -> dict[NodeId, State]:
    found: dict[NodeId, State] = {}
    for identity, kref, item, current, deprecated, tagged, facts in reader.rows(_STATES, (int64_array(sorted(set(identities))),)):
        live = not deprecated and (item is None or bool(current))
        found[NodeId(identity)] = State(kref, item, live, bool(tagged), frozenset(decode(facts)) if facts else frozenset())
    return found


def _standing_for(reader: Reader, identity: NodeId, state: State, gone: frozenset[NodeId]) -> NodeId | None:
    """Which node must be supported for this target to be a ground: itself while it is live, or what is current of its item and says as much."""
    if identity in gone:
        return None
    if state.live:
        return identity
    if state.item is None or not state.facts:
        return None
    row = reader.rows(_CURRENT_FACTS, (state.item,))
    if row and row[0][0] not in gone and row[0][1] and state.facts <= set(decode(row[0][1])):
        return NodeId(row[0][0])
    return None


class _Region:
    """Current revisions whose support is judged together, and what stands around them as it is."""

    def __init__(self, reader: Reader, seeds: list[NodeId], *, gone: frozenset[NodeId] = frozenset()) -> None:
        reached = [NodeId(row[0]) for row in reader.rows(_CLOSURE, (int64_array(seeds),))] if seeds else []
        self.states = _states(reader, reached)
        self.members = {identity for identity in reached if identity in self.states and self.states[identity].live and identity not in gone}
        self.grounds: dict[NodeId, _Grounds] = defaultdict(_Grounds)
        self._users: dict[NodeId, list[NodeId]] = defaultdict(list)
        edges = reader.rows(_GROUNDS, (int64_array(sorted(self.members)),))
        self.states |= _states(reader, [NodeId(dst) for _, _, dst, _ in edges if dst not in self.states])
        standing: dict[NodeId, NodeId | None] = {}
        for src, kind, target, together in edges:
            if target not in standing:
                standing[target] = _standing_for(reader, target, self.states[target], gone)
            self._rest(NodeId(src), kind, (NodeId(target), standing[target]), together)
        beyond = {node for node in standing.values() if node is not None and node not in self.states}
        self.states |= _states(reader, beyond)

    def _rest(self, member: NodeId, kind: str, ground: tuple[NodeId, NodeId | None], together: object) -> None:
        grounds = self.grounds[member]
        if together is None and kind == "DEPENDS_ON":
            grounds.needed.append(ground)
        else:
            name = f"set {together}" if together is not None else f"edge {len(grounds.either)}"
            grounds.either.setdefault(name, []).append(ground)
        if ground[1] is not None:
            self._users[ground[1]].append(member)

    def supported(self) -> set[NodeId]:
        """The members that have support: the greatest set in which each has its preconditions and a ground that does not rest on itself."""
        held = set(self.members)
        while True:
            self._take_away(held)
            founded = self._founded(held)
            if founded == held:
                return held
            held = founded

    def _take_away(self, held: set[NodeId]) -> None:
        """Remove whoever lacks support, and then whoever rested on them."""
        due = list(held)
        while due:
            member = due.pop()
            if member in held and not self._is_supported(member, held, held):
                held.discard(member)
                due += self._users.get(member, ())

    def _founded(self, held: set[NodeId]) -> set[NodeId]:
        """Those that are reached from what has grounds outside, or needs none, one after the other."""
        founded: set[NodeId] = set()
        due = list(held)
        while due:
            member = due.pop()
            if member in held and member not in founded and self._is_supported(member, held, founded):
                founded.add(member)
                due += self._users.get(member, ())
        return founded

    def _is_supported(self, member: NodeId, needed: set[NodeId], grounded: set[NodeId]) -> bool:
        grounds = self.grounds.get(member)
        if grounds is None:
            return True
        if not all(self._holds(node, needed) for _, node in grounds.needed):
            return False
        return not grounds.either or any(all(self._holds(node, grounded) for _, node in together) for together in grounds.either.values())

    def _holds(self, node: NodeId | None, within: set[NodeId]) -> bool:
        if node is None:
            return False
        return node in within if node in self.members else self.states[node].stands

    def cause(self, member: NodeId, supported: set[NodeId]) -> str:
        """Which of its grounds is missing, in words."""
        grounds = self.grounds[member]
        for target, node in (*grounds.needed, *(one for together in grounds.either.values() for one in together)):
            if not self._holds(node, supported):
                kref = self.states[target].kref
                return f"{kref} is not believed any more" if node is None else f"{kref} has no support itself"
        return "its grounds rest on itself"


def _item(state: State) -> NodeId:
    assert state.item is not None
    return state.item


def _untag(tx: Transaction, revision: NodeId) -> None:
    for edge in tx.edges_in(revision, TAG):
        if edge.props.get("name") == UNSUPPORTED:
            tx.delete_edge(edge.id)

