"""Record that a source mentions an entity, and decide which.

    exact    one entity has this name: the mention is of it
    new      no entity has it, a variant of it, or a part of it: it becomes one
    assume   one entity is meant with a probability of at least ASSUME (scoring.py)
    defer    several may be meant: a pending mention holds the name and its sources, and is looked
             at again when more sources write it
    ask      as defer, with enough sources to be worth a person's time, or a name that only looks
             like another: nothing but a person decides

Each name is a node of its own; what was merged is joined by SAME_AS (merging.py). A mention leads
to the node of the name that it was taken for and says as what it was written, why, and by which
rule or model. So nothing about an entity is known without a source, and an erasure of the source
takes it along (belief/removal/erasure.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from doxa.base.errors import InputError
from doxa.base.ids import NodeId, is_below_operator
from doxa.base.limits import ENTITY_ALIASES_ITEMS_MAX, NAME_CHARS_MAX
from doxa.belief import ensure_place, parse_target, place_of
from doxa.belief.graph import (
    CANDIDATE,
    ENTITY,
    ENTITY_KIND,
    MENTIONS,
    PENDING_ENTITY,
    PENDING_KIND,
    SAME_AS,
    resolve,
)
from doxa.belief.kref import check_name
from doxa.entities.names import address_name, compare, key_of, looks_like, looks_of, words_of
from doxa.entities.scoring import ASK_SOURCES, ASSUME, FORMS, NameEvidence, posterior
from doxa.entities.types import Resolution
from doxa.store import Node, Reader, Transaction, int64_array
from doxa.store.intake.secrets import check_name as refuse_secret

SPACE = "entities"
DEFER, ASK, ANSWERED = "defer", "ask", "answered"
RULE_SCORE = "rule:score"
CONTEXT_SOURCES = 200  # of a candidate, the latest sources whose context is compared
WORD_ENTITIES_MAX = 200  # a word in more names than this names no candidates

_NAMES = (
    "SELECT n.id, n.props ->> '$.folded', n.props ->> '$.name' FROM node_label l JOIN node n ON"
    " n.id = l.node WHERE l.label = 'Entity' AND n.kref >= ? AND n.kref < ? ORDER BY n.id"
)
_SAME = (
    "SELECT e.src, e.dst FROM node_label l JOIN edge e ON e.src = l.node AND e.type = 'SAME_AS'"
    " WHERE l.label = 'Entity'"
)
_COUNTS = (
    "SELECT l.node, count(*) FROM node_label l JOIN edge e ON e.dst = l.node AND e.type ="
    " 'MENTIONS' WHERE l.label = 'Entity' GROUP BY l.node"
)
_CONTEXT = """
WITH said(id) AS (SELECT src FROM edge WHERE dst IN carray(?1) AND type = 'MENTIONS'
  ORDER BY id DESC LIMIT ?2)
SELECT said.id, e.dst, NULL FROM said JOIN edge e ON e.src = said.id AND e.type = 'MENTIONS'
UNION ALL SELECT said.id, NULL, n.props ->> '$.thread' FROM said JOIN node n ON n.id = said.id
"""
_TYPES = (
    "SELECT props ->> '$.type', count(*) FROM edge WHERE dst IN carray(?) AND type = 'MENTIONS' AND"
    " props ->> '$.type' <> '' GROUP BY 1"
)


def mention(
    tx: Transaction,
    *,
    project: str,
    name: str,
    kind: str = "",
    aliases: Iterable[str] = (),
    source: str = "",
    rule: str = "",
    confidence: float = 1.0,
) -> Resolution:
    """Record a mention in a transaction. `source` is the address of the turn or belief that
    mentions it; without one the caller states the entity. `rule` names the rule or model that read
    it. Several mentions of one transaction share what was read of the project."""
    by_project = _OPEN.setdefault(tx, {})
    mentioner = by_project.get(project) or Mentioner(tx, project)
    by_project[project] = mentioner
    node = _source(tx, source)
    by = rule or f"{tx.identity.role}:{tx.identity.actor}"
    return mentioner.mention(
        name, source=node, kind=kind, aliases=aliases, rule=by, confidence=confidence
    )


_OPEN: WeakKeyDictionary[Transaction, dict[str, Mentioner]] = WeakKeyDictionary()


def _source(tx: Reader, source: str) -> Node | None:
    if not source:
        return None
    node = resolve(tx, parse_target(source))
    if not {"Exchange", "Revision"} & set(node.labels):
        raise InputError(
            f"{source[:200]} mentions nothing: it is not a turn or a belief.",
            next_step="Give the address of what mentions the entity, or leave it out.",
            field="source",
        )
    return node


class Mentioner:
    """The names of a project, read once for the transaction, and the mentions that it records."""

    def __init__(self, tx: Transaction, project: str) -> None:
        self._tx = tx
        self._place = place_of(check_name(project, what="project"), SPACE)
        first = f"kref://{self._place.project}/"
        self._by_key: dict[str, list[int]] = defaultdict(list)
        self._by_word: dict[str, set[int]] = defaultdict(set)
        self._by_looks: dict[str, set[int]] = defaultdict(set)
        self._keys: dict[int, str] = {}
        self._names: dict[int, str] = {}
        for identity, key, name in tx.rows(_NAMES, (first, first[:-1] + "0")):
            self._note(identity, key, name)
        self._parents = {src: dst for src, dst in tx.rows(_SAME) if src in self._keys}
        self._counts = Counter(
            {node: count for node, count in tx.rows(_COUNTS) if node in self._keys}
        )
        self._total = sum(self._counts.values())
        self._threads = max(2, tx.count("Thread"))

    def _note(self, identity: int, key: str, name: str) -> None:
        self._keys[identity], self._names[identity] = key, name
        self._by_key[key].append(identity)
        for word in words_of(key):
            self._by_word[word].add(identity)
        looks = looks_of(name)
        for look in (*looks, "".join(looks)):
            self._by_looks[look].add(identity)

    def has(self, key: str) -> bool:
        """Return whether an entity has the name of this key."""
        return bool(self._by_key.get(key))

    def root(self, node: int) -> int:
        """Return the entity that a name belongs to."""
        while node in self._parents:
            node = self._parents[node]
        return node

    def mention(
        self,
        name: str,
        *,
        source: Node | None,
        kind: str = "",
        aliases: Iterable[str] = (),
        rule: str,
        confidence: float = 1.0,
        nearby: Sequence[str] = (),
    ) -> Resolution:
        """Record that `source` mentions a name, next to the names `nearby`. Raises InputError for
        what is not a name."""
        key = check_entity_name(name)
        if source is not None and source.props.get("project") != self._place.project:
            raise InputError(
                f"{source.props.get('kref')!s} is of another project than the entity.",
                next_step=f"Record the mention in {source.props.get('project')!s}.",
                field="source",
            )
        kind = check_name(kind, what="kind") if kind else ""
        found = self._resolve(key, name, source, kind, rule, confidence, nearby)
        others = list(aliases)
        if len(others) > ENTITY_ALIASES_ITEMS_MAX:
            raise InputError(
                f"An entity is given up to {ENTITY_ALIASES_ITEMS_MAX} aliases at once.",
                next_step="Give the rest in another mention.",
                field="aliases",
            )
        if found.decision not in (DEFER, ASK) and found.kref:
            node = self._tx.node_by_kref(found.kref)
            assert node is not None, "a mention that is not pending has an entity"
            for alias in others:
                self._alias(alias, node, source, kind, rule)
        return found

    def _resolve(
        self,
        key: str,
        name: str,
        source: Node | None,
        kind: str,
        rule: str,
        confidence: float,
        nearby: Sequence[str],
    ) -> Resolution:
        said = WrittenName(key, name, source, kind, rule, confidence)
        own = self._by_key.get(key, [])
        if len({self.root(node) for node in own}) == 1:
            return self._record(said, "exact", own[0], 1.0, "the same name")
        pending = self._pending(key)
        if pending is not None and pending.props.get("answer") == "none":  # as a person said
            return Resolution("exact", "", 1.0, "answered: not an entity")
        waiting = self._tx.edges_in(pending.id, MENTIONS) if pending else []
        if (
            pending is not None
            and source is not None
            and _is_open(pending)
            and any(edge.src == source.id for edge in waiting)
            and self._tx.edges_out(pending.id, CANDIDATE)
        ):
            return self._waits(pending)  # a source counts once
        alike = self._lookalikes(name)
        if alike and not own:
            scored = [(node, 0.0, "looks like it, with other letters") for node in alike]
            return self._wait(said, ASK, "the name only looks like another", scored)
        candidates = own or self._candidates(key)
        best = self._best(key, candidates)
        if not best:
            return self._record(
                said, "new", self.create(key, name, source, kind), 1.0, "a new name"
            )
        sources = len({edge.src for edge in waiting} | {source.id if source else None})
        evidence = [
            self._evidence(key, root, node, source, kind, nearby) for root, node in best.items()
        ]
        shares = posterior(
            evidence, sources=sources, entities=len(self._keys), mentions=self._total
        )
        nodes = list(best.values())
        top = max(range(len(nodes)), key=lambda i: shares[i])
        score = round(shares[top], 4)
        if score >= ASSUME:
            why = "; ".join((_LEVELS[evidence[top].level], *evidence[top].notes))
            self._settle(pending, nodes[top], score, why)
            return self._record(said, "assume", nodes[top], score, why)
        if not own and sum(shares) <= 1 - ASSUME:
            made, why = self.create(key, name, source, kind), "a name of its own"
            self._settle(pending, made, 1.0, why)
            return self._record(said, "new", made, round(1 - sum(shares), 4), why)
        scored = [
            (node, round(share, 4), "; ".join((_LEVELS[one.level], *one.notes)))
            for node, share, one in zip(nodes, shares, evidence, strict=True)
        ]
        state = ASK if sources >= ASK_SOURCES else DEFER
        return self._wait(said, state, "several entities may be meant", scored)

    # Candidates

    def _lookalikes(self, name: str) -> list[int]:
        near: set[int] = set()
        looks = looks_of(name)
        for look in (*looks, "".join(looks)):
            near |= self._by_looks.get(look, set())
        return sorted(node for node in near if looks_like(name, self._names[node]))

    def _candidates(self, key: str) -> list[int]:
        near: set[int] = set()
        words = words_of(key)
        for word in (*words, "".join(words)):
            held = self._by_word.get(word, ())
            if len(held) <= WORD_ENTITIES_MAX:
                near.update(held)
        if len(words) == 1 and 1 < len(words[0]) <= 8:  # the initials of several words
            near.update(
                node for node, other in self._keys.items() if len(words_of(other)) == len(words[0])
            )
        return sorted(near)

    def _best(self, key: str, nodes: Iterable[int]) -> dict[int, int]:
        """The name of each candidate entity that compares best, by the entity."""
        found: dict[int, int] = {}
        for node in nodes:
            level = compare(key, self._keys[node])
            if level == "other":
                continue
            root = self.root(node)
            held = found.get(root)
            if held is None or FORMS[level] > FORMS[compare(key, self._keys[held])]:
                found[root] = node
        return found

    def _members(self, root: int) -> list[int]:
        if not self._parents:
            return [root]
        return [root, *(node for node in self._parents if self.root(node) == root)]

    def _evidence(
        self, key: str, root: int, node: int, source: Node | None, kind: str, nearby: Sequence[str]
    ) -> NameEvidence:
        members = self._members(root)
        own = set(members)
        words = [
            len({self.root(one) for one in self._by_word.get(word, ())} - {root})
            for word in words_of(key)
        ]
        count = sum(self._counts[one] for one in members)
        context, notes = self._context(members, own, source, nearby)
        same, share = self._kinds(members, kind)
        if same is not None:
            notes.append("the same kind" if same else "another kind")
        level = compare(key, self._keys[node])
        return NameEvidence(level, count, words, context, same, share, tuple(notes))

    def _context(
        self, members: list[int], own: set[int], source: Node | None, nearby: Sequence[str]
    ) -> tuple[list[tuple[int, float]], list[str]]:
        """How often what is mentioned with it stood nearby the candidate, and its share of
        all."""
        thread = source.props.get("thread") if source is not None else None
        others = {
            self.root(node) for name in nearby for node in self._by_key.get(key_of(name), ())
        } - own
        if thread is None and not others:
            return [], []
        with_other: Counter[int] = Counter()
        in_thread = 0
        for _, entity, said_in in self._tx.rows(_CONTEXT, (int64_array(members), CONTEXT_SOURCES)):
            if entity is not None and entity in self._keys:
                with_other[self.root(entity)] += 1
            elif said_in is not None and said_in == thread:
                in_thread += 1
        found, notes = [], []
        if thread is not None:
            found.append((in_thread, 1 / self._threads))
            notes += ["said in the same thread"] if in_thread else []
        for other in sorted(others):
            share = max(self._counts[other], 1) / max(self._total, 1)
            found.append((with_other[other], share))
        together = sum(1 for other in others if with_other[other])
        notes += (
            [f"with {together} of the names that it was mentioned with before"] if together else []
        )
        return found, notes

    def _kinds(self, members: list[int], kind: str) -> tuple[bool | None, float]:
        if not kind:
            return None, 0.5
        votes = dict(self._tx.rows(_TYPES, (int64_array(members),)))
        for node in self._tx.nodes(members):
            if node.props.get("type"):
                votes[node.props["type"]] = votes.get(node.props["type"], 0) + 1
        if not votes:
            return None, 0.5
        return max(votes, key=lambda one: votes[one]) == kind, 0.5

    # Writing

    def create(
        self, key: str, name: str, source: Node | None, kind: str = "", *, number: int = 1
    ) -> int:
        """Write the node of a name and return its id. `number` distinguishes entities of one
        name."""
        ensure_place(self._tx, place_of(self._place.project, ""))
        props = self._address(key, number, ENTITY_KIND) | {"name": name.strip(), "folded": key}
        if kind and source is None:
            props["type"] = kind
        if source is None:
            props["stated_by"] = self._tx.identity.actor
        made = self._tx.create_node((ENTITY,), props)
        self._note(made, key, name)
        return made

    def _address(self, key: str, number: int, kind: str) -> dict[str, Any]:
        place = self._place
        while True:
            kref = f"{place}/{address_name(key, number)}.{kind}"
            if self._tx.node_by_kref(kref) is None:
                break
            number += 1  # a belief has it, or another entity of this name
        return {"kref": kref, "project": place.project, "space": SPACE, "kind": kind}

    def _record(
        self, said: WrittenName, decision: str, node: int, score: float, why: str
    ) -> Resolution:
        target = self._tx.node(NodeId(node))
        assert target is not None, "a candidate is a node"
        self.connect(said, node, score, why)
        root = self._tx.node(NodeId(self.root(node))) or target
        return Resolution(decision, str(root.props["kref"]), score, why)  # type: ignore[arg-type]

    def connect(self, said: WrittenName, node: int, score: float, why: str) -> None:
        """Write the edge MENTIONS, unless this source has it."""
        if said.source is None:
            return
        held = self._tx.edges_out(said.source.id, MENTIONS)
        if any(edge.dst == node and edge.props.get("folded") == said.key for edge in held):
            return
        props = {"as": said.name.strip(), "folded": said.key, "why": why, "rule": said.rule}
        props |= {"confidence": round(min(1.0, said.confidence) * score, 4)}  # type: ignore[dict-item]
        if said.kind:
            props["type"] = said.kind
        self._tx.create_edge(MENTIONS, said.source.id, dst=NodeId(node), props=props)
        self._counts[node] += 1
        self._total += 1

    def _pending(self, key: str) -> Node | None:
        kref = f"{self._place}/{address_name(key)}.{PENDING_KIND}"
        node = self._tx.node_by_kref(kref)
        return node if node is not None and PENDING_ENTITY in node.labels else None

    def _wait(
        self, said: WrittenName, state: str, reason: str, scored: Sequence[tuple[int, float, str]]
    ) -> Resolution:
        """Put a mention into the queue: one pending mention for each name."""
        node = self._pending(said.key)
        if node is None:
            ensure_place(self._tx, place_of(self._place.project, ""))
            props = self._address(said.key, 1, PENDING_KIND) | {
                "name": said.name.strip(),
                "folded": said.key,
                "state": state,
                "reason": reason,
            }
            if said.source is None:
                props["stated_by"] = self._tx.identity.actor
            made = self._tx.create_node((PENDING_ENTITY,), props)
        else:
            made = node.id
            if node.props.get("state") != state and node.props.get("state") != ASK:
                self._tx.set_node(made, node.props | {"state": state, "reason": reason})
        if said.source is not None:
            held = self._tx.edges_out(said.source.id, MENTIONS)
            if not any(edge.dst == made for edge in held):
                props = {"as": said.name.strip(), "folded": said.key, "rule": said.rule}
                props |= {"why": reason} | ({"type": said.kind} if said.kind else {})
                self._tx.create_edge(MENTIONS, said.source.id, dst=NodeId(made), props=props)
        self._set_candidates(NodeId(made), scored)
        found = self._tx.node(NodeId(made))
        assert found is not None
        return self._waits(found)

    def _waits(self, pending: Node) -> Resolution:
        edges = self._tx.edges_out(pending.id, CANDIDATE)
        scores = [edge.props.get("score") for edge in edges]
        best = max((one for one in scores if isinstance(one, float)), default=0.0)
        state, kref = str(pending.props["state"]), str(pending.props["kref"])
        return Resolution(state, kref, best, str(pending.props.get("reason", "")))  # type: ignore[arg-type]

    def _settle(self, pending: Node | None, node: int, score: float, why: str) -> None:
        """Record the sources that waited, since all of them together decided."""
        if pending is None or not _is_open(pending):
            return
        for edge in self._tx.edges_in(pending.id, MENTIONS):
            source = self._tx.node(edge.src)
            kind, rule = str(edge.props.get("type", "")), str(edge.props["rule"])
            said = WrittenName(
                str(edge.props["folded"]), str(edge.props["as"]), source, kind, rule, 1.0
            )
            self.connect(said, node, score, why)
        self.close(pending, node, RULE_SCORE)

    def close(self, pending: Node, node: int | None, by: str) -> None:
        """Mark a pending mention as answered: by an entity, or by none."""
        found = None if node is None else self._tx.node(NodeId(node))
        answer = "none" if found is None else str(found.props["kref"])
        props = dict(pending.props)
        props |= {"state": ANSWERED, "answer": answer, "answered_by": by}
        self._tx.set_node(pending.id, props)

    def _set_candidates(self, pending: NodeId, scored: Sequence[tuple[int, float, str]]) -> None:
        held = {edge.dst: edge for edge in self._tx.edges_out(pending, CANDIDATE)}
        for node, score, why in scored:
            props = {"score": score, "why": why, "rule": RULE_SCORE}
            if node in held:
                self._tx.set_edge(held[NodeId(node)].id, props)
            else:
                self._tx.create_edge(CANDIDATE, pending, dst=NodeId(node), props=props)

    def _alias(self, alias: str, node: Node, source: Node | None, kind: str, rule: str) -> None:
        """Join another name with an entity, unless that is an entity of its own: then a person is
        asked."""
        key = check_entity_name(alias)
        root = self.root(node.id)
        own = self._by_key.get(key, [])
        said = WrittenName(key, alias, source, kind, rule, 1.0)
        if any(self.root(one) == root for one in own):
            self.connect(said, next(one for one in own if self.root(one) == root), 1.0, "an alias")
            return
        protected = bool((self._tx.node(NodeId(root)) or node).props.get("trust"))
        if own or self._lookalikes(alias) or (protected and is_below_operator(self._tx.rights)):
            reason = "given as another name of an entity"
            self._wait(said, ASK, reason, [(one, 0.0, reason) for one in (root, *own)])
            return
        made = self.create(key, alias, source, kind)
        self.connect(said, made, 1.0, "an alias")
        self.join(made, root, why="given as another name", rule=rule, source=source)

    def join(self, node: int, root: int, *, why: str, rule: str, source: Node | None) -> None:
        """Write SAME_AS from the root of a name to the root of another."""
        props = {"why": why, "rule": rule}
        if source is not None:
            props["source"] = str(source.props["kref"])
        self._tx.create_edge(SAME_AS, NodeId(node), dst=NodeId(root), props=props)
        self._parents[node] = root


def _is_open(pending: Node) -> bool:
    return pending.props.get("state") != ANSWERED


class WrittenName:
    """A mention as it is written: its key and spelling, where, as what kind, read by what."""

    __slots__ = ("confidence", "key", "kind", "name", "rule", "source")

    def __init__(
        self, key: str, name: str, source: Node | None, kind: str, rule: str, confidence: float
    ) -> None:
        self.key, self.name, self.source, self.kind = key, name, source, kind
        self.rule, self.confidence = rule, confidence


_LEVELS = {
    "exact": "the same name",
    "variant": "the same letters",
    "short": "a short form",
    "long": "a longer form",
    "initials": "initials",
}


def check_entity_name(name: str) -> str:
    """Return the key of a name. Raises InputError for what is not a name."""
    if not isinstance(name, str):
        raise InputError(
            f"A name is text; this is {type(name).__name__}.", next_step="Give text.", field="name"
        )
    key = key_of(name)
    if not any(char.isalnum() for char in key) or len(key) > NAME_CHARS_MAX:
        raise InputError(
            f"{name[:40]!r} cannot be the name of an entity.",
            next_step=f"Give 1 to {NAME_CHARS_MAX} characters with a letter or digit.",
            field="name",
        )
    refuse_secret(name, "name of an entity")
    return key
