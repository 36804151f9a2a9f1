"""The verbs that change beliefs, and those that say why something is believed: the part of Session
that speaks to the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from doxa.base.errors import InputError, RoleError
from doxa.base.limits import CONFLICTS_ITEMS_MAX
from doxa.belief import (
    Change,
    Conflict,
    Draft,
    Kref,
    Ledger,
    Walk,
    explain,
    impact,
    laws_of,
    list_conflicts,
    parse_fact,
    parse_target,
)
from doxa.ingestion import arguments
from doxa.ingestion.arguments import Facts, Placed, Said, Time
from doxa.store import Identity, Store

if TYPE_CHECKING:
    from doxa.app.memory import Memory
    from doxa.belief import Explanation
    from doxa.ingestion.match import Match


class BeliefVerbs:
    """Made by Session, which gives it a memory, an identity and a project."""

    _memory: Memory
    identity: Identity
    project: str

    @property
    def _store(self) -> Store:
        return self._memory.store

    def _ledger(self, *, dry_run: bool = False) -> Ledger:
        arguments.flags(dry_run=dry_run)
        return Ledger(self._store, self.identity, dry_run=dry_run)

    def revise(
        self,
        what: str | Kref | Sequence[object] | Mapping[str, object],
        text: str = "",
        *,
        item: str | Kref | None = None,
        expect: int | None = None,
        again: bool = False,
        dry_run: bool = False,
        **fields: Unpack[Placed],
    ) -> Change:
        """Believe something, and let go of what cannot be true beside it, anywhere in the project.

        `what` is an address (then `text` is its next revision: what is not given is carried over,
        facts only while the text stays the same), or what is stated: a fact [subject, predicate,
        value], a sentence such as {"if": s, "then": s}, or a list of them. A statement goes to
        `item`, else to the belief that said something else of just the same, else to a new one.
        What is trusted more is not retired: a conflict is opened, and `change.conflict` names it.
        `again` writes a revision also if nothing new is said; `dry_run` tells the verdict and
        writes nothing. Raises InputError, LimitError, ConflictError (`expect`: the revision number
        that must be current).
        """
        from doxa.ingestion.revise import believe, revise

        arguments.whole(expect, "expect", optional=True)
        arguments.flags(again=again, dry_run=dry_run)
        if arguments.is_address(what):
            given = self._said(fields, Said)
            return self._after(
                revise(
                    self._store,
                    self.identity,
                    what,  # type: ignore[arg-type]
                    text,
                    given=given,
                    expect=expect,
                    again=again,
                    dry_run=dry_run,
                )
            )
        sentences = arguments.stated(what)
        if item is not None and self._is_there(item):
            given = self._said(fields, Said) | {"statements": sentences}
            return self._after(
                revise(
                    self._store,
                    self.identity,
                    item,
                    text,
                    given=given,
                    expect=expect,
                    again=again,
                    dry_run=dry_run,
                )
            )
        if expect is not None or again:
            raise InputError(
                "A statement without an item has no revision to expect.",
                next_step="Name the item.",
                field="expect",
            )
        given = {"project": self.project} | self._said(fields, Placed) | {"summary": text}
        kref = None if item is None else parse_target(item).item()
        if kref is not None:
            given |= {
                "project": kref.project,
                "space": "/".join(kref.spaces),
                "name": kref.name,
                "kind": kref.kind,
            }
        return self._after(
            believe(self._store, self.identity, sentences, given=given, item=kref, dry_run=dry_run)
        )

    def _is_there(self, item: str | Kref) -> bool:
        with self._store.read() as snapshot:
            return snapshot.node_by_kref(str(parse_target(item).item())) is not None

    def supersede(self, kref: str | Kref, text: str, **fields: Unpack[Placed]) -> Change:
        """Replace a belief, under the same address or (with `name`, `kind`, `space` or `project`) a
        new one that supersedes it."""
        from doxa.ingestion.revise import supersede

        return self._after(
            supersede(self._store, self.identity, kref, text, given=self._said(fields, Placed))
        )

    def contract(
        self,
        what: str | Kref | Sequence[object] | Mapping[str, object],
        *,
        fact: Sequence[object] | None = None,
        project: str = "",
        dry_run: bool = False,
    ) -> Change:
        """Stop believing an item, a pinned revision, one fact of a current revision, or (a sentence
        in place of an address) whatever says so, anywhere in the project: the least entrenched
        gives way."""
        ledger = self._ledger(dry_run=dry_run)
        if arguments.is_address(what):
            return self._after(
                ledger.contract(what, fact=parse_fact(fact) if fact is not None else None)  # type: ignore[arg-type]
            )
        return self._after(
            ledger.contract_sentence(project or self.project, arguments.stated(what))
        )

    def deprecate(self, kref: str | Kref, *, dry_run: bool = False) -> Change:
        """Take out of recall; `restore` brings back."""
        return self._ledger(dry_run=dry_run).deprecate(kref)

    def restore(self, kref: str | Kref, *, dry_run: bool = False) -> Change:
        """Bring back what was retired; what cannot be true beside it gives way."""
        return self._after(self._ledger(dry_run=dry_run).restore(kref))

    def rollback(
        self, kref: str | Kref, *, expect: int | None = None, dry_run: bool = False
    ) -> Change:
        """Make the pinned revision current again; what cannot be true beside it gives way."""
        arguments.whole(expect, "expect", optional=True)
        return self._after(self._ledger(dry_run=dry_run).rollback(kref, expect=expect))

    def tag(self, kref: str | Kref, tag: str, *, expect: int | None = None) -> Change:
        """Point a tag at a revision. `approved`, `published`, `verified` and `crystallised` are the
        operator's."""
        from doxa.redaction.redact import refuse_secret

        arguments.whole(expect, "expect", optional=True)
        return self._ledger().tag(kref, refuse_secret(tag, field="tag"), expect=expect)

    def untag(self, kref: str | Kref, tag: str, *, expect: int | None = None) -> Change:
        arguments.whole(expect, "expect", optional=True)
        return self._ledger().untag(kref, tag, expect=expect)

    def undo(self, change: int, *, dry_run: bool = False) -> Change:
        """Reverse one change by its number (see `log`). Undoing an undo redoes."""
        return self._after(self._ledger(dry_run=dry_run).undo(change))

    # Plain text

    def match(
        self,
        text: str,
        *,
        project: str | None = None,
        space: str = "",
        kinds: Iterable[str] = (),
        speaker: str = "",
        limit: int = 10,
    ) -> Match:
        """Which held beliefs a plain sentence is about, how surely (0 to 1), and what it asks for:
        revise, conflict, create or same. Writes nothing. `project` None asks in the session's
        project, "" in all; `speaker` is whom "I" means."""
        from doxa.ingestion.match import match

        place = self.project if project is None else project
        return match(
            self._store,
            self._memory.recaller,
            text,
            project=place,
            space=space,
            kinds=kinds,
            speaker=speaker,
            limit=limit,
        )

    def tell(
        self,
        text: str,
        *,
        project: str = "",
        space: str = "",
        kind: str = "fact",
        trust: str = "stated",
        facts: Facts = (),
        dry_run: bool = False,
    ) -> Change:
        """Say something in plain words: the belief that it surely is about gets its next revision,
        one that it may be about is challenged by a conflict, and what is about none is remembered.
        `change.reason` says why."""
        from doxa.ingestion.tell import tell

        arguments.check_kind(kind)
        self._may_trust(trust)
        draft = Draft(
            text,
            project=project or self.project,
            space=space,
            kind=kind,
            trust=trust,
            facts=arguments.facts(facts),
        )
        arguments.flags(dry_run=dry_run)
        return self._after(
            tell(self._store, self.identity, self._memory.recaller, draft, dry_run=dry_run)[0]
        )

    # Conflicts and rules

    def conflicts(
        self, *, project: str | None = None, decided: bool = False, limit: int = 50
    ) -> list[Conflict]:
        """What waits for a decision, newest first: statements that contradict what is trusted more.
        `decided` lists those too that were decided; `project` None asks in the session's project,
        "" in all."""
        arguments.flags(decided=decided)
        arguments.whole(limit, "limit")
        with self._store.read() as snapshot:
            found = self.project if project is None else project
            arguments.project(found)
            return list_conflicts(
                snapshot, found, decided=decided, limit=min(limit, CONFLICTS_ITEMS_MAX)
            )

    def resolve(
        self,
        conflict: str | Kref,
        decision: Literal["accept", "reject", "both"],
        *,
        valid_from: Time | None = None,
        dry_run: bool = False,
    ) -> Change:
        """Decide an open conflict: accept the challenger, reject it, or keep both, the challenger
        from `valid_from` on and the other until then."""
        at = arguments.time(valid_from, "valid_from")
        return self._after(self._ledger(dry_run=dry_run).resolve(conflict, decision, valid_from=at))

    def rules(self, project: str = "") -> dict[str, object]:
        """What the beliefs of a project obey: its constraints and its order of entrenchment, as
        `constrain` takes them."""
        arguments.project(project)
        with self._store.read() as snapshot:
            laws = laws_of(snapshot, project or self.project)
        return {"constraints": laws.constraints.as_data(), "entrenchment": laws.order.as_data()}

    def constrain(
        self,
        constraints: Mapping[str, object] | None = None,
        *,
        entrenchment: Mapping[str, object] | None = None,
        project: str = "",
        dry_run: bool = False,
    ) -> Change:
        """Declare what cannot be true together in a project ({"functional": [...], "exclusions":
        [...], "rules": [...]}), or which belief is given up first. Beliefs that contradict each
        other by it give way in the same change. With neither, only that: the project is made
        consistent. Operators only."""
        arguments.project(project)
        if self.identity.role == "agent":
            raise RoleError(
                "Only an operator may set the rules of a project.",
                next_step="Ask the operator.",
                role="agent",
                needed="operator",
            )
        ledger = self._ledger(dry_run=dry_run)
        return self._after(
            ledger.constrain(
                project or self.project, constraints=constraints, entrenchment=entrenchment
            )
        )

    # Why

    def explain(self, kref: str | Kref) -> Explanation:
        """What is believed, since when, on what grounds, what it replaced and why, what rests on
        it, what contradicts it; `.page()` is to be read."""
        with self._store.read() as snapshot:
            return explain(snapshot, parse_target(kref))

    def impact(self, kref: str | Kref, *, depth: int | None = None) -> Walk:
        """What rests on a belief, directly or not, and what of it would lose its support without it
        (`falls`). Without a depth: all of it."""
        arguments.whole(depth, "depth", optional=True)
        with self._store.read() as snapshot:
            return impact(snapshot, kref, depth=depth)

    # Edges and groups

    def link(
        self,
        source: str | Kref,
        target: str | Kref,
        *,
        kind: str,
        metadata: Mapping[str, object] | None = None,
    ) -> Change:
        """A typed edge, such as DEPENDS_ON, between two beliefs."""
        from doxa.ingestion.remember import clean_metadata
        from doxa.ingestion.revise import noted
        from doxa.redaction.redact import refuse_secret

        refuse_secret(kind, field="edge type")
        clean, found = clean_metadata(arguments.mapping(metadata))
        return noted(self._ledger().link(source, target, kind=kind, metadata=clean), found)

    def unlink(self, source: str | Kref, target: str | Kref, *, kind: str) -> Change:
        return self._ledger().unlink(source, target, kind=kind)

    def attach(
        self, kref: str | Kref, name: str, *, location: str, sha256: str = "", size_bytes: int = 0
    ) -> Change:
        """An artifact: a named pointer from a revision to a file. A password in the location is
        left out, and the change says so."""
        from doxa.ingestion.remember import clean_location
        from doxa.ingestion.revise import noted

        place, found = clean_location(name, location, sha256=sha256, size_bytes=size_bytes)
        return noted(
            self._ledger().attach(kref, name, location=place, sha256=sha256, size_bytes=size_bytes),
            found,
        )

    def bundle(
        self, kref: str | Kref, *, add: Iterable[str] = (), remove: Iterable[str] = ()
    ) -> Change:
        """Group items under kref://project/name.bundle."""
        from doxa.redaction.redact import refuse_secret

        refuse_secret(str(kref), field="kref")
        return self._ledger().bundle(kref, add=add, remove=remove)

    def _said(self, fields: Mapping[str, Any], shape: type[Said]) -> dict[str, Any]:
        given = arguments.said(fields, shape)
        self._may_trust(given.get("trust", ""))
        return given

    def _may_trust(self, trust: object) -> None:
        if trust == "verified" and self.identity.role == "agent":
            raise RoleError(
                "Only an operator may call a belief verified.",
                next_step="State it with trust 'stated'.",
                role="agent",
            )

    def _after(self, change: Change) -> Change:
        self._memory.wake()
        return change
