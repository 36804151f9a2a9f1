"""The verbs of claims and of their sources."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from doxa.app.checks import one_project
from doxa.app.sessions.agent.growth import GrowthVerbs
from doxa.base.errors import ConstraintError, InputError, NotFoundError
from doxa.base.limits import CLAIMS_PRODUCED_ITEMS_MAX, CLAIMS_REPORT_ITEMS_MAX
from doxa.belief import Kref, parse_target
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.agent.claims.claims import ClaimPreview
    from doxa.agent.claims.producing import ProducedClaim
    from doxa.agent.claims.reporting import ClaimReport
    from doxa.agent.records.types import Record
    from doxa.store import Reader


class ClaimsVerbs(GrowthVerbs):
    """Made by Session, like the other verbs."""

    def claim_propose(
        self,
        text: str,
        *,
        sources: Iterable[str],
        kind: str = "project_state",
        policy: str = "user_correction_wins",
        expires_s: int = 0,
        agent: str = "",
        project: str | None = None,
    ) -> Record:
        """Keep a claim with the handles of its sources, as a candidate.

        A candidate is not believed: recall, consolidation and prompts do not read it. The same
        claim with the same sources is kept once.
        """
        from doxa.agent.claims.claims import propose

        arguments.text(text, "text")
        arguments.whole(expires_s, "expires_s")
        for value, name in ((kind, "kind"), (policy, "policy")):
            arguments.text(value, name)
        given = list(arguments.texts(sources, "sources"))
        who, found = self._whose(agent, project)
        with self._ledger().write("claim.propose") as work:
            return propose(
                work.tx,
                text,
                project=found,
                agent=who,
                kind=kind,
                sources=given,
                policy=policy,
                expires_s=expires_s,
            )

    def claim_produce(
        self,
        *,
        session: str = "",
        handoff: str = "",
        agent: str = "",
        project: str | None = None,
    ) -> list[Record]:
        """Make candidates of a session's turns or of a handoff, by rules.

        The same source gives the same claims, and stays as it is.
        """
        from doxa.agent.claims.claims import propose

        for value, name in ((session, "session"), (handoff, "handoff")):
            arguments.text(value, name)
        if bool(session) == bool(handoff):
            raise InputError(
                "Claims are made of one session or one handoff.",
                next_step="Name the one or the other.",
                field="session",
            )
        who, found = self._whose(agent, project)
        with self._ledger().write("claim.produce") as work:
            made = _produced(work.tx, found, who, session, handoff)[:CLAIMS_PRODUCED_ITEMS_MAX]
            return [
                propose(
                    work.tx,
                    one.text,
                    project=found,
                    agent=who,
                    kind=one.kind,
                    sources=[one.source],
                    policy="user_correction_wins",
                )
                for one in made
            ]

    def claim_preview(self, claim: str | Kref) -> ClaimPreview:
        """Report what the sources of a claim say now, with the hashes that a decision names.

        Verdicts are exact, partial, drifted and missing. Nothing is written.
        """
        from doxa.agent.claims.claims import preview

        with self._store.read() as snapshot:
            return preview(snapshot, str(parse_target(claim)))

    def claim_decide(
        self,
        claim: str | Kref,
        decision: str,
        *,
        claim_hash: str,
        source_hash: str,
        reason: str,
    ) -> Record:
        """Accept, reject, defer or reverse a claim, as it was previewed.

        Needs the operator role, and accepting the mode enforce. An accepted claim becomes a
        verified belief, derived from it and its sources; reversing retires that. If the claim or a
        source differs from the preview, nothing is decided.
        """
        from doxa.agent.claims.claims import decide

        for value, name in (
            (decision, "decision"),
            (claim_hash, "claim_hash"),
            (source_hash, "source_hash"),
            (reason, "reason"),
        ):
            arguments.text(value, name)
        made = decide(
            self._ledger(),
            str(parse_target(claim)),
            decision,
            claim_hash=claim_hash,
            source_hash=source_hash,
            reason=reason,
        )
        self._memory.wake()
        return made

    def claims(
        self,
        *,
        state: str = "",
        live: bool = False,
        agent: str = "",
        project: str | None = None,
        limit: int = 50,
    ) -> list[Record]:
        """List the claims of an agent.

        With `live`, those that may be given to a prompt: accepted, believed still, in the mode
        enforce, at most 8, of one kind or type of source at most half, from handoffs alone at most
        3.
        """
        from doxa.agent.claims.claims import held_claims
        from doxa.agent.claims.live import live_claims

        arguments.text(state, "state")
        arguments.flags(live=live)
        arguments.whole(limit, "limit")
        who, found = self._whose(agent, project)
        with self._store.read() as snapshot:
            if live:
                now_ns = self._store.clock.now_ns()
                return live_claims(snapshot, project=found, agent=who, now_ns=now_ns, limit=limit)
            return held_claims(snapshot, project=found, agent=who, state=state, limit=limit)

    def claim_report(self, *, agent: str = "", project: str | None = None) -> ClaimReport:
        """Report recurrence, sources, age, tensions and readiness of candidate claims.

        In the modes diagnostic and enforce. It promotes and writes nothing.
        """
        from doxa.agent.claims.claims import held_claims
        from doxa.agent.claims.modes import mode_of
        from doxa.agent.claims.reporting import report

        who, found = self._whose(agent, project)
        with self._store.read() as snapshot:
            if mode_of(snapshot) == "observe":
                raise ConstraintError(
                    "Claims are observed only: there are no reports of them.",
                    next_step="An operator changes that: doxa operator plan modes"
                    " --set claims.mode=diagnostic",
                )
            held = held_claims(
                snapshot,
                project=found,
                agent=who,
                state="candidate",
                limit=CLAIMS_REPORT_ITEMS_MAX,
            )
        return report(held, now_ns=self._store.clock.now_ns())

    def _whose(self, agent: str, project: str | None) -> tuple[str, str]:
        arguments.text(agent, "agent")
        found = one_project(project, self.project)
        arguments.project(found)
        return agent or self.identity.actor, found


def _produced(
    reader: Reader, project: str, agent: str, session: str, handoff: str
) -> list[ProducedClaim]:
    from doxa.agent.claims.handles import handoff_text, turns_of_session
    from doxa.agent.claims.producing import from_handoff, from_turn
    from doxa.agent.records.records import find_record, record_kref

    if handoff:
        found = find_record(reader, record_kref(project, agent, "handoff", handoff))
        made = list(from_handoff(found, handoff_text(reader, found))) if found is not None else None
    else:
        turns = turns_of_session(reader, project, session)
        made = [one for turn in turns for one in from_turn(turn)] if turns else None
    if made is None:
        raise NotFoundError(
            f"There is nothing of {(session or handoff)[:80]!r}.",
            next_step="Name a session with turns, or a handoff of the agent.",
        )
    return made
