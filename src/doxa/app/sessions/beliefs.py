"""The verbs that change beliefs, and those that explain why something is believed: the part of a
session that uses the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from doxa.app.checks import checked, may_trust, one_project, searched_project
from doxa.app.file import MemoryFile
from doxa.app.retries import retryable
from doxa.base.errors import InputError, LimitError, RoleError
from doxa.base.ids import is_below_operator
from doxa.base.limits import AUDIT_FINDINGS_ITEMS_MAX, CONFLICTS_ITEMS_MAX, NEAR_ITEMS_MAX
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
from doxa.store import Identity, Store

if TYPE_CHECKING:
    from doxa.app.verbs.options import (
        Facts,
        PlacedOptions,
        RememberOptions,
        StatementOptions,
        Time,
    )
    from doxa.audit import MemoryAudit
    from doxa.belief import Explanation
    from doxa.ingestion.match import MatchResult
    from doxa.ingestion.remember import Remembered


class BeliefVerbs:
    """Made by Session, which gives it a memory, an identity and a project."""

    _memory: MemoryFile
    identity: Identity
    project: str

    @property
    def _store(self) -> Store:
        return self._memory.store

    def _ledger(self, *, dry_run: bool = False) -> Ledger:
        arguments.flags(dry_run=dry_run)
        return Ledger(self._store, self.identity, dry_run=dry_run)

    # State

    @retryable
    def remember(
        self, text: str, *, idempotency_key: str = "", **options: Unpack[StatementOptions]
    ) -> Remembered:
        """State one belief; one that says the same is not stored twice.

        A `name` that exists is revised. Without a name, facts or sentences, the text is matched
        like that of `tell`: it revises the belief that it surely corrects, and `change.losses`
        lists what was replaced. What it may contradict stays, and `may_contradict` names it. A
        sentence that asserts nothing is kept with a low confidence.
        """
        from doxa.ingestion.remember import remember

        given = checked("remember", options, now_ns=self._store.clock.now_ns())
        arguments.whole(given["expect"], "expect", optional=True)
        arguments.whole(given["near"], "near")
        if not 0 <= given["near"] <= NEAR_ITEMS_MAX:
            raise LimitError(
                f"near must be between 0 and {NEAR_ITEMS_MAX}, not {given['near']}.",
                next_step=f"Ask for at most {NEAR_ITEMS_MAX}.",
                field="near",
            )
        result = remember(
            self._store,
            self.identity,
            self._memory.recaller,
            draft=self._draft(text, given),
            links=_links(given),
            expect=given["expect"],
            near=given["near"],
        )
        self._memory.wake()
        return result

    @retryable
    def expand(
        self, text: str, *, idempotency_key: str = "", **options: Unpack[RememberOptions]
    ) -> Change:
        """Add one belief, and refuse it if it contradicts anything or exists already.

        Nothing is retracted: this is the expansion of belief revision.
        """
        from doxa.ingestion.remember import clean_draft
        from doxa.ingestion.revise import noted

        given = checked("expand", options, now_ns=self._store.clock.now_ns())
        clean, found = clean_draft(self._draft(text, given))
        change = self._ledger().expand(clean, links=_links(given))
        return self._after(noted(change, found))

    def _draft(self, text: str, given: Mapping[str, Any]) -> Draft:
        """A draft of checked options."""
        arguments.check_kind(given["kind"])
        may_trust(given["trust"], self.identity.role)
        fields = {name: value for name, value in given.items() if name in _DRAFTED}
        return Draft(
            summary=text,
            project=one_project(given["project"], self.project),
            metadata=arguments.metadata(given.get("metadata"), given.get("embedding_text", "")),
            **fields,
        )

    @retryable
    def revise(
        self,
        what: str | Kref | Sequence[object] | Mapping[str, object],
        text: str = "",
        *,
        item: str | Kref | None = None,
        expect: int | None = None,
        again: bool = False,
        dry_run: bool = False,
        idempotency_key: str = "",
        **options: Unpack[PlacedOptions],
    ) -> Change:
        """Believe something, and retract what contradicts it anywhere in the project.

        `what` is an address, and `text` its next revision: what is not given is carried over,
        facts only while the text stays the same. Or `what` is a statement: a fact [subject,
        predicate, value], a sentence such as {"if": s, "then": s}, or a list of them. A statement
        goes to `item`, else to the belief that states a different value of the same thing, else to
        a new one. A belief that is trusted more is not retracted: a conflict is opened, and
        `change.conflict` names it. `again` writes a revision even if nothing new is stated.
        """
        from doxa.ingestion.revise import believe

        arguments.whole(expect, "expect", optional=True)
        arguments.flags(again=again, dry_run=dry_run)
        if arguments.is_address(what):
            given = self._revision("revise", options)
            return self._revised(what, text, given, expect=expect, again=again, dry_run=dry_run)
        sentences = arguments.stated(what)
        if item is not None and self._exists(item):
            given = self._revision("revise", options) | {"statements": sentences}
            return self._revised(item, text, given, expect=expect, again=again, dry_run=dry_run)
        if expect is not None or again:
            raise InputError(
                "A statement without an item has no revision to expect.",
                next_step="Name the item.",
                field="expect",
            )
        given = self._placed("revise", options) | {"summary": text}
        given["project"] = one_project(given.get("project"), self.project)
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

    def _revised(
        self,
        item: Any,
        text: str,
        given: dict[str, Any],
        *,
        expect: int | None,
        again: bool,
        dry_run: bool,
    ) -> Change:
        from doxa.ingestion.revise import revise

        change = revise(
            self._store,
            self.identity,
            item,
            text,
            given=given,
            expect=expect,
            again=again,
            dry_run=dry_run,
        )
        return self._after(change)

    def _exists(self, item: str | Kref) -> bool:
        with self._store.read() as snapshot:
            return snapshot.node_by_kref(str(parse_target(item).item())) is not None

    @retryable
    def supersede(
        self,
        kref: str | Kref,
        text: str,
        *,
        idempotency_key: str = "",
        **options: Unpack[PlacedOptions],
    ) -> Change:
        """Replace a belief, under its own address or a new one.

        With `name`, `kind`, `space` or `project`, the replacement is a new item that supersedes
        the old one. What is not given is carried over.
        """
        from doxa.ingestion.revise import supersede

        given = self._placed("supersede", options)
        if "project" in given:
            given["project"] = one_project(given["project"], self.project)
        return self._after(supersede(self._store, self.identity, kref, text, given=given))

    def _placed(self, verb: str, options: Mapping[str, Any]) -> dict[str, Any]:
        named = dict(options)
        if named.get("project", "") is None:  # the same as leaving it out, as in every other verb
            del named["project"]
        given = checked(verb, named, preset=False, now_ns=self._store.clock.now_ns())
        may_trust(given.get("trust", ""), self.identity.role)
        return given

    def _revision(self, verb: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a revision, which has its address already."""
        from doxa.app.verbs.options import RevisionOptions

        given = self._placed(verb, options)
        placed = sorted(given.keys() - RevisionOptions.__annotations__.keys())
        if placed:
            raise InputError(
                f"The revision of an item takes no {', '.join(placed)}.",
                next_step="Leave it out, or use supersede.",
                field=placed[0],
            )
        return given

    @retryable
    def contract(
        self,
        what: str | Kref | Sequence[object] | Mapping[str, object],
        *,
        fact: Sequence[object] | None = None,
        project: str | None = None,
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Change:
        """Stop believing an item, a pinned revision, one fact, or a statement.

        A statement is retracted anywhere in the project: the least entrenched of what states or
        implies it goes.
        """
        ledger = self._ledger(dry_run=dry_run)
        if arguments.is_address(what):
            return self._after(
                ledger.contract(what, fact=parse_fact(fact) if fact is not None else None)  # type: ignore[arg-type]
            )
        return self._after(
            ledger.contract_sentence(one_project(project, self.project), arguments.stated(what))
        )

    @retryable
    def deprecate(
        self,
        kref: str | Kref,
        *,
        expect: int | None = None,
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Change:
        """Take an item or a turn out of recall; `restore` brings it back."""
        arguments.whole(expect, "expect", optional=True)
        return self._ledger(dry_run=dry_run).deprecate(kref, expect=expect)

    @retryable
    def restore(
        self, kref: str | Kref, *, dry_run: bool = False, idempotency_key: str = ""
    ) -> Change:
        """Bring a deprecated item or turn back, and retract what contradicts it."""
        return self._after(self._ledger(dry_run=dry_run).restore(kref))

    @retryable
    def rollback(
        self,
        kref: str | Kref,
        *,
        expect: int | None = None,
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Change:
        """Make the pinned revision current again, and retract what contradicts it."""
        arguments.whole(expect, "expect", optional=True)
        return self._after(self._ledger(dry_run=dry_run).rollback(kref, expect=expect))

    @retryable
    def tag(
        self, kref: str | Kref, tag: str, *, expect: int | None = None, idempotency_key: str = ""
    ) -> Change:
        """Point a tag at a revision.

        `approved`, `published`, `verified` and `crystallised` are the operator's.
        """
        from doxa.redaction.redact import refuse_secret

        arguments.whole(expect, "expect", optional=True)
        return self._ledger().tag(kref, refuse_secret(tag, field="tag"), expect=expect)

    @retryable
    def untag(
        self, kref: str | Kref, tag: str, *, expect: int | None = None, idempotency_key: str = ""
    ) -> Change:
        """Remove a tag from an item."""
        arguments.whole(expect, "expect", optional=True)
        return self._ledger().untag(kref, tag, expect=expect)

    @retryable
    def undo(
        self, change: int | Change, *, dry_run: bool = False, idempotency_key: str = ""
    ) -> Change:
        """Reverse one change. Undoing an undo redoes it.

        A change is given by its number, which `log` lists, or as the Change that a verb returned.
        """
        number = _number_of(change)
        return self._after(self._ledger(dry_run=dry_run).undo(number))

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
    ) -> MatchResult:
        """Find which beliefs a plain sentence is about, and what it asks for.

        The verdict is revise, conflict, create or same; every proposal has a score from 0 to 1 and
        its reasons. Writes nothing.
        """
        from doxa.ingestion.match import match

        found = searched_project(project, self.project)
        arguments.project(found)
        return match(
            self._store,
            self._memory.recaller,
            text,
            project=found,
            space=space,
            kinds=kinds,
            speaker=speaker,
            limit=limit,
        )

    @retryable
    def tell(
        self,
        text: str,
        *,
        project: str | None = None,
        space: str = "",
        kind: str = "fact",
        trust: str = "stated",
        facts: Facts = (),
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Change:
        """State something in plain words: revise, challenge or remember.

        The belief that it is surely about gets its next revision, one that it may be about is
        challenged by a conflict, and what is about none is remembered. A text that asserts
        nothing, such as a question, is not stored. `change.reason` says why.
        """
        from doxa.ingestion.tell import tell

        arguments.check_kind(kind)
        may_trust(trust, self.identity.role)
        found = one_project(project, self.project)
        arguments.project(found)
        draft = Draft(
            text,
            project=found,
            space=space,
            kind=kind,
            trust=trust,
            facts=arguments.facts(facts),
        )
        arguments.flags(dry_run=dry_run)
        return self._after(
            tell(self._store, self.identity, self._memory.recaller, draft, dry_run=dry_run)
        )

    # Conflicts and rules

    def conflicts(
        self, *, project: str | None = None, decided: bool = False, limit: int = 50
    ) -> list[Conflict]:
        """List statements that contradict what is trusted more and wait for a decision.

        Newest first.
        """
        arguments.flags(decided=decided)
        arguments.whole(limit, "limit")
        with self._store.read() as snapshot:
            found = searched_project(project, self.project)
            arguments.project(found)
            return list_conflicts(
                snapshot, found, decided=decided, limit=min(limit, CONFLICTS_ITEMS_MAX)
            )

    def audit(
        self,
        *,
        project: str | None = None,
        sample: int | None = None,
        seed: int = 0,
        limit: int = 5,
    ) -> MemoryAudit:
        """Count what is wrong with what is believed: junk, duplicate, stale, echo, uncovered.

        Junk is not a complete statement; a duplicate says what an older belief says; what is stale
        was superseded by what was said later, lost its support, is contested or its time ended; an
        echo was concluded from memory's own output; what is uncovered was concluded, and its
        sources do not support it. Each kind has its count, its share, and the first of them with
        reasons. Writes nothing.
        """
        from doxa.audit import audit

        arguments.whole(sample, "sample", optional=True)
        arguments.whole(seed, "seed")
        arguments.whole(limit, "limit")
        found = searched_project(project, self.project)
        arguments.project(found)
        with self._store.read() as snapshot:
            return audit(
                snapshot,
                found,
                sample=sample,
                seed=seed,
                limit=min(limit, AUDIT_FINDINGS_ITEMS_MAX),
            )

    @retryable
    def resolve(
        self,
        conflict: str | Kref,
        decision: Literal["accept", "reject", "both"],
        *,
        valid_from: Time | None = None,
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Change:
        """Decide an open conflict: accept the challenger, reject it, or keep both.

        With `both`, the challenger holds from `valid_from` on, and the other until then.
        """
        at = arguments.time(valid_from, "valid_from")
        return self._after(self._ledger(dry_run=dry_run).resolve(conflict, decision, valid_from=at))

    def rules(self, project: str | None = None) -> dict[str, object]:
        """Return the constraints and the order of entrenchment of a project.

        `constrain` takes the same form.
        """
        found = one_project(project, self.project)
        arguments.project(found)
        with self._store.read() as snapshot:
            laws = laws_of(snapshot, found)
        return {"constraints": laws.constraints.as_data(), "entrenchment": laws.order.as_data()}

    @retryable
    def constrain(
        self,
        constraints: Mapping[str, object] | None = None,
        *,
        entrenchment: Mapping[str, object] | None = None,
        project: str | None = None,
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Change:
        """Declare what cannot be true together in a project, and what is retracted first.

        Beliefs that now contradict each other are retracted in the same change. Without arguments,
        the project is only made consistent.
        """
        found = one_project(project, self.project)
        arguments.project(found)
        if is_below_operator(self.identity.role):
            raise RoleError(
                "Only an operator may set the rules of a project.",
                next_step="Ask the operator.",
                role="agent",
                needed="operator",
            )
        change = self._ledger(dry_run=dry_run).constrain(
            found, constraints=constraints, entrenchment=entrenchment
        )
        return self._after(change)

    # Why

    def explain(self, kref: str | Kref) -> Explanation:
        """Explain one belief: its grounds, what it replaced and why, what depends on it.

        `.page()` is the explanation as text.
        """
        with self._store.read() as snapshot:
            return explain(snapshot, parse_target(kref))

    def impact(self, kref: str | Kref, *, depth: int | None = None) -> Walk:
        """Find what depends on a belief, and what would lose its support without it.

        A step `falls` if it would lose its support. Without a depth, everything is searched.
        """
        arguments.whole(depth, "depth", optional=True)
        with self._store.read() as snapshot:
            return impact(snapshot, kref, depth=depth)

    # Edges and groups

    @retryable
    def link(
        self,
        source: str | Kref,
        target: str | Kref,
        *,
        kind: str,
        metadata: Mapping[str, object] | None = None,
        idempotency_key: str = "",
    ) -> Change:
        """Add a typed edge, such as DEPENDS_ON, between two beliefs."""
        from doxa.ingestion.remember import clean_metadata
        from doxa.ingestion.revise import noted
        from doxa.redaction.redact import refuse_secret

        refuse_secret(kind, field="edge type")
        clean, found = clean_metadata(arguments.mapping(metadata))
        return noted(self._ledger().link(source, target, kind=kind, metadata=clean), found)

    @retryable
    def unlink(
        self, source: str | Kref, target: str | Kref, *, kind: str, idempotency_key: str = ""
    ) -> Change:
        """Remove a typed edge between two beliefs."""
        return self._ledger().unlink(source, target, kind=kind)

    @retryable
    def attach(
        self,
        kref: str | Kref,
        name: str,
        *,
        location: str,
        sha256: str = "",
        size_bytes: int = 0,
        idempotency_key: str = "",
    ) -> Change:
        """Attach a file to a revision by name and location; the file is not read.

        A password in the location is left out, and `change.reason` says so.
        """
        from doxa.ingestion.remember import clean_location
        from doxa.ingestion.revise import noted

        place, found = clean_location(name, location, sha256=sha256, size_bytes=size_bytes)
        return noted(
            self._ledger().attach(kref, name, location=place, sha256=sha256, size_bytes=size_bytes),
            found,
        )

    @retryable
    def bundle(
        self,
        kref: str | Kref,
        *,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        idempotency_key: str = "",
    ) -> Change:
        """Group items under an address of kind bundle."""
        from doxa.redaction.redact import refuse_secret

        refuse_secret(str(kref), field="kref")
        return self._ledger().bundle(kref, add=add, remove=remove)

    def _after(self, change: Change) -> Change:
        self._memory.wake()
        return change


def _number_of(change: object) -> int:
    """Return the number of the change that `undo` is given."""
    number = change.change if isinstance(change, Change) else change
    if number is None:
        raise InputError(
            "This change wrote nothing, so that there is nothing to undo.",
            next_step="Give a change that `log` lists.",
            field="change",
        )
    if isinstance(getattr(number, "change", None), Change):  # such as what `remember` returns
        raise InputError(
            f"A {type(number).__name__} holds a change; it is not one.",
            next_step="Give its attribute `.change`.",
            field="change",
        )
    if isinstance(number, bool) or not isinstance(number, int):
        raise InputError(
            f"A change is a number, or a Change; this is {type(number).__name__}.",
            next_step="Give a change that `log` lists.",
            field="change",
        )
    return number


_DRAFTED = frozenset(Draft.__annotations__) - {"summary", "project", "metadata"}


def _links(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    links = [("DERIVED_FROM", kref) for kref in given["derived_from"]]
    return links + [("DEPENDS_ON", kref) for kref in given["depends_on"]]
