"""The verbs of leases, decisions and outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from doxa.app.checks import one_project
from doxa.app.sessions.agent.gate import GateVerbs
from doxa.base.clock import NS
from doxa.base.errors import InputError
from doxa.base.ids import is_below_operator
from doxa.base.limits import SPINE_LISTED_ITEMS_MAX
from doxa.belief import Kref
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.agent.spine.consumers import Eligibility
    from doxa.agent.spine.ledger import Decision, LeaseInfo
    from doxa.agent.spine.packets import GovernorDecision
    from doxa.app.verbs.options import Time

_DAY_NS = 86_400 * NS


class SpineVerbs(GateVerbs):
    """Made by Session, like the other verbs."""

    def lease_grant(
        self,
        objective: str,
        *,
        allowed: Iterable[str],
        prohibited: Iterable[str] = (),
        approval_for: Iterable[str] = (),
        scope: Iterable[str] = (),
        until: Time | None = None,
        actions_max: int = 100,
        failures_max: int = 3,
        notify: Iterable[str] = ("stopped", "ended"),
        owner: str = "",
        agent: str = "",
        project: str | None = None,
    ) -> LeaseInfo:
        """Make an agent responsible for something, until a time and within limits.

        An operator's lease is active at once; an agent's own is a candidate, which covers nothing
        until an operator makes it active with `packet_move`. It lasts a day unless `until` says
        more, and stops by itself as its conditions say.
        """
        from doxa.agent.spine.ledger import grant_lease, lease_info
        from doxa.agent.spine.packets import ResponsibilityLease, read_body

        arguments.text(objective, "objective")
        arguments.text(owner, "owner")
        arguments.whole(actions_max, "actions_max")
        arguments.whole(failures_max, "failures_max")
        now = self._store.clock.now_ns()
        ends = arguments.time(until, "until")
        holder = self._agent(agent)
        active = not is_below_operator(self.identity.role)
        body = {
            "owner": owner or (self.identity.actor if active else "operator"),
            "executor": holder,
            "objective": objective,
            "expires_ns": now + _DAY_NS if ends is None else ends,
            "allowed": arguments.texts(allowed, "allowed"),
            "prohibited": arguments.texts(prohibited, "prohibited"),
            "approval_required_for": arguments.texts(approval_for, "approval_for"),
            "scope": arguments.texts(scope, "scope"),
            "stop": {"actions_max": actions_max, "failures_max": failures_max},
            "notify": arguments.texts(notify, "notify"),
        }
        lease = _form(ResponsibilityLease, body)
        assert isinstance(lease, ResponsibilityLease)
        read_body(ResponsibilityLease, body, "The lease")
        with self._store.write(self.identity, op="lease") as tx:
            made = grant_lease(
                tx, project=self._where(project), agent=holder, lease=lease, active=active
            )
            return lease_info(tx, made, tx.now)

    def leases(
        self, *, agent: str = "", project: str | None = None, limit: int = 50
    ) -> list[LeaseInfo]:
        """List the leases of an agent, the newest first, and which are in force."""
        from doxa.agent.spine.ledger import list_leases

        with self._store.read() as snapshot:
            return list_leases(
                snapshot,
                project=self._where(project),
                agent=self._agent(agent),
                now_ns=self._store.clock.now_ns(),
                limit=_listed(limit),
            )

    def lease_end(self, lease: str | Kref, *, state: str = "completed", why: str = "") -> LeaseInfo:
        """Pause, complete or cancel a lease; one that is paused an operator makes active again."""
        from doxa.agent.spine.ledger import end_lease, lease_info

        arguments.text(state, "state")
        arguments.text(why, "why")
        with self._store.write(self.identity, op="lease") as tx:
            return lease_info(tx, end_lease(tx, _address(lease, "lease"), state, why), tx.now)

    def govern(
        self,
        action_class: str,
        action: str,
        *,
        target: str = "",
        instruction: str | Kref = "",
        lease: str | Kref = "",
        decision: str | Kref = "",
        confirmed: bool = False,
        externality: str = "none",
        reversibility: str = "reversible",
        sensitivity: str = "low",
        shaping: str = "none",
        evidence: str = "fresh",
        anomaly: str = "none",
        boundaries: Iterable[str] = (),
        floor: str = "proceed",
        rollback: str = "",
        agent: str = "",
        project: str | None = None,
    ) -> Decision:
        """Decide how an action may be done: the least restrictive mode that is safe, on record.

        Authority is looked up: a current instruction of a person, or a lease in force. What else
        is given can raise the mode and never lowers it. With `decision`, one that an operator
        approved for this very action, the approval is used, once.
        """
        from doxa.agent.spine.ledger import consume, govern
        from doxa.agent.spine.packets import GovernorDecision

        arguments.flags(confirmed=confirmed)
        said = _form(
            GovernorDecision,
            {
                "action_class": action_class,
                "action": action,
                "target": target,
                "mode": "pause_recover",
                "reasons": (),
                "checks": (),
                "rollback_required": False,
                "rollback": rollback,
                "instruction": str(instruction),
                "lease": str(lease),
                "lease_says": "none",
                "confirmed": confirmed,
                "externality": externality,
                "reversibility": reversibility,
                "sensitivity": sensitivity,
                "shaping": shaping,
                "evidence": evidence,
                "anomaly": anomaly,
                "boundaries": arguments.texts(boundaries, "boundaries"),
                "floor": floor,
            },
        )
        where, who = self._where(project), self._agent(agent)
        with self._store.write(self.identity, op="govern") as tx:
            if decision:
                return consume(
                    tx, project=where, agent=who, kref=_address(decision, "decision"), said=said
                )
            return govern(tx, project=where, agent=who, said=_known_only(tx, said))

    def outcome(
        self,
        status: str,
        *,
        decision: str | Kref = "",
        lease: str | Kref = "",
        intent: str = "",
        observed: str = "",
        verified_by: str = "",
        evidence: Iterable[str] = (),
        failure_class: str = "",
        residual_risk: str = "",
        rollback: str = "",
        agent: str = "",
        project: str | None = None,
    ) -> dict[str, object]:
        """Record what an action had as its effect. It is evidence, and allows nothing by itself.

        A failure counts for the stop conditions of the lease; two of one class within an hour
        stop the agent until an operator records an outcome.
        """
        from doxa.agent.spine.ledger import record_outcome
        from doxa.agent.spine.packets import OutcomeEvent, packet_of

        said = _form(
            OutcomeEvent,
            {
                "decision": str(decision),
                "lease": str(lease),
                "role": self.identity.role,
                "mode": "",
                "intent": intent,
                "observed": observed,
                "verified_by": verified_by,
                "evidence": arguments.texts(evidence, "evidence"),
                "failure_class": failure_class,
                "residual_risk": residual_risk,
                "rollback": rollback,
            },
        )
        arguments.text(status, "status")
        with self._store.write(self.identity, op="outcome") as tx:
            return packet_of(
                record_outcome(
                    tx,
                    project=self._where(project),
                    agent=self._agent(agent),
                    status=status,
                    said=said,
                )
            )

    def packet_write(
        self,
        kind: str,
        text: str = "",
        *,
        body: Mapping[str, object] | None = None,
        state: str = "",
        agent: str = "",
        project: str | None = None,
    ) -> dict[str, object]:
        """Write a state record, a maturation candidate or a declared lane, from its body.

        `packets(schema=True)` gives the form of each. What is not an operator's is a candidate, or
        a state that the agent observed and that expires within a day.
        """
        from doxa.agent.spine.ledger import write_candidate
        from doxa.agent.spine.packets import packet_of

        for given, name in ((kind, "kind"), (text, "text"), (state, "state")):
            arguments.text(given, name)
        with self._store.write(self.identity, op="packet") as tx:
            made = write_candidate(
                tx,
                project=self._where(project),
                agent=self._agent(agent),
                kind=kind,
                state=state,
                text=text,
                said=arguments.mapping(body),
            )
            return packet_of(made)

    def packet_move(
        self, packet: str | Kref, state: str, *, content_hash: str = "", why: str = ""
    ) -> dict[str, object]:
        """Move a packet to another state, such as approved, accepted, applied or retired.

        What an operator accepts is named by its content hash. Who may make which move is checked
        at commit.
        """
        from doxa.agent.spine.ledger import move_packet
        from doxa.agent.spine.packets import packet_of

        for given, name in ((state, "state"), (content_hash, "content_hash"), (why, "why")):
            arguments.text(given, name)
        with self._store.write(self.identity, op="packet") as tx:
            kref = _address(packet, "packet")
            return packet_of(move_packet(tx, kref, state, content_hash=content_hash, why=why))

    def packets(
        self,
        kind: str = "",
        *,
        states: Iterable[str] = (),
        schema: bool = False,
        agent: str = "",
        project: str | None = None,
        limit: int = 100,
    ) -> list[dict[str, object]]:
        """List the packets of an agent as JSON values, the newest first; without `kind`, of all.

        With `schema`, the JSON schema of each kind in place of them.
        """
        from doxa.agent.records.records import list_records
        from doxa.agent.spine.packets import PACKETS, packet_of, schemas

        arguments.text(kind, "kind")
        arguments.flags(schema=schema)
        if kind and kind not in (*PACKETS, "declared_lane"):
            raise InputError(
                f"There are no packets of the kind {kind[:40]!r}.",
                next_step=f"Use {', '.join(PACKETS)} or declared_lane.",
                field="kind",
            )
        if schema:
            return [
                {"packet_type": name, "schema": one}
                for name, one in schemas().items()
                if kind in ("", name)
            ]
        wanted, most = arguments.texts(states, "states"), _listed(limit)
        with self._store.read() as snapshot:
            found = [
                record
                for one in ((kind,) if kind else (*PACKETS, "declared_lane"))
                for record in list_records(
                    snapshot,
                    project=self._where(project),
                    agent=self._agent(agent),
                    kind=one,
                    states=wanted,
                    newest=True,
                    limit=most,
                )
            ]
        found.sort(key=lambda one: (-one.made, one.kref))
        return [packet_of(one) for one in found[:most]]

    def eligibility(
        self,
        kref: str | Kref,
        consumer: str,
        *,
        privacy_max: str = "local_private",
        agent: str = "",
        project: str | None = None,
    ) -> Eligibility:
        """Say whether a consumer may use a record, with every reason against it.

        The consumers are ui_review, recall_search, maturation_router, context_injection, planning,
        tool_action_execution, memory_promotion, outcome_ledger, responsibility_registry, scheduler
        and governor.
        """
        from doxa.agent.spine.consumers import PRIVACY, UseContext, check_use

        arguments.text(consumer, "consumer")
        if privacy_max not in PRIVACY:
            raise InputError(
                f"There is no privacy tier {privacy_max!r:.60}.",
                next_step=f"Use one of {', '.join(PRIVACY)}.",
                field="privacy_max",
            )
        context = UseContext(
            self._agent(agent),
            self._where(project),
            self._store.clock.now_ns(),
            self.identity.role,
            privacy_max,
        )
        with self._store.read() as snapshot:
            return check_use(snapshot, _address(kref, "kref"), consumer, context)

    def _where(self, project: str | None) -> str:
        found = one_project(project, self.project)
        arguments.project(found)
        return found


def _form(kind: Any, body: Mapping[str, Any]) -> Any:
    """Return a packet's body from arguments. Raises InputError, naming the argument."""
    import msgspec

    for name, value in body.items():
        if isinstance(value, str):
            arguments.text(value, name)
    try:
        return msgspec.convert(dict(body), kind, strict=True)
    except msgspec.ValidationError as error:
        field = str(error).rpartition("$.")[2].strip("`").partition("[")[0]
        words = _words_of(kind, field)
        raise InputError(
            f"An argument is not what it must be: {error}.",
            next_step=f"Use {', '.join(words)}."
            if words
            else "`packets` with `schema` has the form.",
            field=field[:60],
        ) from error


def _words_of(kind: Any, field: str) -> tuple[str, ...]:
    """Return the words that a field of a packet may be; none if it is free."""
    from typing import Literal, get_args, get_origin, get_type_hints

    hint = get_type_hints(kind).get(field)
    inner = get_args(hint)[:1] if get_origin(hint) is tuple else (hint,)
    return tuple(get_args(inner[0])) if inner and get_origin(inner[0]) is Literal else ()


def _known_only(tx: Any, said: GovernorDecision) -> GovernorDecision:
    """Return a request without addresses at which there is nothing: they are not authority."""
    import msgspec

    gone = {
        name: ""
        for name in ("instruction", "lease")
        if getattr(said, name) and tx.node_by_kref(getattr(said, name)) is None
    }
    found = msgspec.structs.replace(said, **gone)
    assert isinstance(found, type(said))
    return found


def _address(kref: str | Kref, field: str) -> str:
    given = str(kref)
    arguments.text(given, field)
    return given


def _listed(limit: int) -> int:
    arguments.whole(limit, "limit")
    return min(limit, SPINE_LISTED_ITEMS_MAX)
