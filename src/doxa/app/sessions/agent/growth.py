"""The verbs of signals, growth and identity."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from doxa.app.checks import folder_outside, one_project, require_writable
from doxa.app.sessions.agent.continuity import ContinuityVerbs
from doxa.base.errors import InputError, RoleError
from doxa.base.ids import is_below_operator
from doxa.belief.kref import check_name
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.agent.growth.contemplation import Contemplated, PassProducer
    from doxa.agent.growth.crystallising import CrystalliseApproval, Crystallised, CrystallisePlan
    from doxa.agent.growth.files import ExportedIdentity, IdentityFile, ImportedIdentity
    from doxa.agent.growth.identity import AgentIdentity
    from doxa.agent.growth.metabolism import Metabolised
    from doxa.agent.records.types import Record
    from doxa.agent.signals.log import TurnLog, TurnSignals
    from doxa.dream.nightshift import Shift, Work
    from doxa.dream.pipeline import DreamOptions


class GrowthVerbs(ContinuityVerbs):
    """Made by Session, like the other verbs."""

    def growth_propose(
        self,
        text: str,
        *,
        file: str = "MEMORY",
        about: Iterable[str] = (),
        agent: str = "",
        project: str | None = None,
    ) -> Record:
        """Propose a line for an identity file of an agent.

        It is a candidate: nothing reads it into a prompt until a person crystallises it. `file` is
        SOUL, AGENTS, ANCHOR, TOOLS or MEMORY; `about` are addresses of what it is taken from. An
        operator who proposes what was rejected opens it again.
        """
        from doxa.agent.growth.candidates import propose

        arguments.text(text, "text")
        arguments.text(file, "file")
        sources = arguments.texts(about, "about")
        name, place = self._grown(agent), self._growth_place(project)
        stated = not is_below_operator(self.identity.role)
        with self._store.write(self.identity, op="growth.propose") as tx:
            return propose(
                tx,
                project=place,
                agent=name,
                text=text,
                file=file,
                origin="operator" if stated else "agent",
                about=sources,
                again=stated,
            )

    def growth_list(
        self,
        *,
        state: str = "candidate",
        agent: str = "",
        project: str | None = None,
        limit: int = 100,
    ) -> list[Record]:
        """List candidates of an agent's identity, by name.

        `state` is candidate, crystallised, taken_back, rejected, withdrawn or expired; empty: all.
        """
        from doxa.agent.growth.candidates import CANDIDATE, CLOSED, CRYSTALLISED, OPEN
        from doxa.agent.records.records import list_records

        _check_state(state, (OPEN, CRYSTALLISED, *CLOSED))
        arguments.whole(limit, "limit")
        name, place = self._grown(agent), self._growth_place(project)
        with self._store.read() as reader:
            return list_records(
                reader,
                project=place,
                agent=name,
                kind=CANDIDATE,
                states=(state,) if state else (),
                limit=limit,
            )

    def crystallise_plan(self, candidate: str, *, principle: str = "") -> CrystallisePlan:
        """Show what crystallising a candidate would do, and which gates are open.

        An approval has to name the `content_hash` that it shows. `principle` is the candidate of a
        line in SOUL that this one serves, where they share no word.
        """
        from doxa.agent.growth.crystallising import plan

        arguments.text(candidate, "candidate")
        arguments.text(principle, "principle")
        with self._store.read() as reader:
            return plan(reader, candidate, principle=principle)

    def crystallise_approve(
        self, candidate: str, content_hash: str, *, principle: str = ""
    ) -> CrystalliseApproval:
        """Approve one candidate with one content hash, and get a nonce that is used once.

        Needs the operator role. It expires after a day, is for this operator alone, and is kept
        without its nonce.
        """
        from doxa.agent.growth.crystallising import approve

        arguments.text(candidate, "candidate")
        arguments.text(content_hash, "content_hash")
        arguments.text(principle, "principle")
        return approve(self._store, self.identity, candidate, content_hash, principle=principle)

    def crystallise_apply(self, candidate: str, nonce: str) -> Crystallised:
        """Use an approval: make the candidate a line of the agent's identity.

        Needs the operator role. The line, the belief that says it and the use of the approval are
        one change; its gates are asked again.
        """
        from doxa.agent.growth.crystallising import apply

        arguments.text(candidate, "candidate")
        arguments.text(nonce, "nonce")
        done = apply(self._store, self.identity, candidate, nonce)
        self._memory.wake()
        return done

    def crystallise_reverse(self, candidate: str, *, reason: str = "") -> Crystallised:
        """Take a line of identity back, or decide against a candidate.

        The line takes an operator; an agent withdraws a candidate of its own. Approvals that were
        not used are revoked.
        """
        from doxa.agent.growth.crystallising import reverse

        arguments.text(candidate, "candidate")
        arguments.text(reason, "reason")
        return reverse(self._store, self.identity, candidate, reason=reason)

    def identity_show(self, *, agent: str = "", project: str | None = None) -> AgentIdentity:
        """Return the identity of an agent: its crystallised lines by file, and their hash.

        Refused with ConflictError if a file that was exported was changed by somebody else.
        """
        from doxa.agent.growth.files import require_unchanged
        from doxa.agent.growth.identity import assemble

        name, place = self._grown(agent), self._growth_place(project)
        with self._store.read() as reader:
            require_unchanged(reader, place, name)
            return assemble(reader, place, name)

    def identity_verify(self, *, agent: str = "", project: str | None = None) -> list[IdentityFile]:
        """Compare identity files on disk with the receipts of their export.

        A file is exact, stale, applied (by the operator's gate), changed, missing or unreadable.
        """
        from doxa.agent.growth.files import verify_files

        name, place = self._grown(agent), self._growth_place(project)
        with self._store.read() as reader:
            return verify_files(reader, place, name)

    def identity_export(
        self,
        folder: str | Path,
        *,
        form: str = "doxa",
        replace: bool = False,
        release: bool = False,
        agent: str = "",
        project: str | None = None,
    ) -> ExportedIdentity:
        """Write the identity files of an agent into a folder, and keep a receipt.

        Needs the operator role. `form` is doxa, openclaw or hermes. A file that somebody else
        wrote or changed is refused; `replace` keeps a copy of it. `release` writes nothing: the
        folder is compared no longer.
        """
        from doxa.agent.growth.files import ExportedIdentity, export_identity, release_folder
        from doxa.agent.growth.identity import assemble

        path = folder_outside(folder, "folder", self._store)
        arguments.text(form, "form")
        arguments.flags(replace=replace, release=release)
        name, place = self._grown(agent), self._growth_place(project)
        require_writable(self._store)
        if release:
            ended = release_folder(
                self._store, self.identity, project=place, agent=name, folder=path
            )
            with self._store.read() as reader:
                digest = assemble(reader, place, name).digest
            return ExportedIdentity(ended[0].kref if ended else "", digest, ())
        return export_identity(
            self._store,
            self.identity,
            project=place,
            agent=name,
            folder=path,
            form=form,
            replace=replace,
        )

    def identity_import(
        self,
        folder: str | Path,
        *,
        form: str = "doxa",
        agent: str = "",
        project: str | None = None,
    ) -> ImportedIdentity:
        """Read identity files as candidates, never as identity.

        What was read before is found again. `form` is doxa, openclaw or hermes.
        """
        from doxa.agent.growth.files import import_identity

        path = folder_outside(folder, "folder", self._store)
        arguments.text(form, "form")
        name, place = self._grown(agent), self._growth_place(project)
        return import_identity(
            self._store, self.identity, project=place, agent=name, folder=path, form=form
        )

    def metabolise(
        self,
        user: str,
        reply: str,
        *,
        session: str = "",
        about: Iterable[str] = (),
        agent: str = "",
        project: str | None = None,
    ) -> Metabolised:
        """Measure a turn of an agent at its end, and keep it for contemplation if it stands out.

        `about` are the addresses of the stored turns; without them a moment quotes nothing. Asks no
        model. The signals and the dynamics go to a log next to the file, which no prompt reads.
        """
        from doxa.agent.growth.identity import principles
        from doxa.agent.growth.metabolism import metabolise
        from doxa.agent.signals.measure import is_marked

        for value, field in ((user, "user"), (reply, "reply"), (session, "session")):
            arguments.text(value, field)
        sources = arguments.texts(about, "about")
        name, place = self._grown(agent), self._growth_place(project)
        require_writable(self._store)
        with self._store.read() as reader:
            lines = principles(reader, place, name)
        turn = self._turn_log(place, name).observe(
            user,
            reply,
            now=self._store.clock.now_ns(),
            session=session,
            principles=lines,
        )
        return metabolise(
            self._store,
            project=place,
            agent=name,
            user=user,
            reply=reply,
            turn=turn,
            marked=is_marked(user),
            about=sources,
        )

    def signals(
        self, *, agent: str = "", project: str | None = None, limit: int = 20
    ) -> list[TurnSignals]:
        """List the signals of an agent's last turns, the newest first, with their surprise.

        `sustained`: the composite is above 0.8 for 45 minutes. `percentile` ranks the surprise of
        the dynamics among the last ones. Both are diagnostic: they say nothing about what is true.
        """
        arguments.whole(limit, "limit")
        name, place = self._grown(agent), self._growth_place(project)
        return self._turn_log(place, name).recent(limit)

    def contemplate(
        self,
        *,
        producer: PassProducer | None = None,
        agent: str = "",
        project: str | None = None,
        limit: int = 20,
    ) -> Contemplated:
        """Begin inquiries for the moments of an agent, and do the pending passes.

        The passes are due at 0, 4 and 20 hours from the start of an inquiry; the last may propose a
        candidate. Rules do them, or `producer`: a function of an `InquiryPass` that returns text.
        """
        from doxa.agent.growth.contemplation import contemplate

        arguments.whole(limit, "limit")
        name, place = self._grown(agent), self._growth_place(project)
        return contemplate(self._store, project=place, agent=name, producer=producer, limit=limit)

    def inquiries(
        self,
        *,
        state: str = "open",
        agent: str = "",
        project: str | None = None,
        limit: int = 100,
    ) -> list[Record]:
        """List the inquiries of an agent with their passes, the newest first.

        `state` is open, proposed or completed; empty: all.
        """
        from doxa.agent.growth.contemplation import INQUIRY, OPEN_INQUIRY
        from doxa.agent.records.records import list_records

        _check_state(state, (OPEN_INQUIRY, "proposed", "completed"))
        arguments.whole(limit, "limit")
        name, place = self._grown(agent), self._growth_place(project)
        with self._store.read() as reader:
            return list_records(
                reader,
                project=place,
                agent=name,
                kind=INQUIRY,
                states=(state,) if state else (),
                newest=True,
                limit=limit,
            )

    def _turn_log(self, project: str, agent: str) -> TurnLog:
        from doxa.agent.signals.log import TurnLog, log_path

        self._store.require_open()
        bound = self._store.binding
        if bound is not None and project not in bound.projects:  # the log is a file of its own
            raise bound.refusal(f"to the project {project[:80]!r}")
        path = log_path(self._store.path, project, agent)
        found = self._memory.turn_logs.get(path)
        return found or self._memory.turn_logs.setdefault(path, TurnLog(path))

    def _night_work(self, project: str, dreaming: DreamOptions) -> dict[str, Work]:
        from doxa.dream.nightshift import Work

        found = super()._night_work(project, dreaming)
        return found | {"contemplate": Work(notes_itself=lambda: self._contemplate_shift(project))}

    def _contemplate_shift(self, project: str) -> Shift:
        """Do by rules the pending passes, for each agent of the project. The report of the run
        begins with what failed, and with moments that were dropped. It names no words of a line."""
        from doxa.agent.growth.candidates import expire_candidates
        from doxa.agent.growth.contemplation import contemplate, dropped_since, waiting_agents
        from doxa.dream.nightshift import Shift
        from doxa.jobs import begin, end_dead
        from doxa.jobs.heartbeat import last
        from doxa.jobs.lease import NIGHTSHIFT

        end_dead(self._store, "contemplate", project=project, mine=(NIGHTSHIFT,))
        with self._store.read() as reader:
            agents = waiting_agents(reader, project)
            beat = last(reader, "contemplate", project=project, now=reader.now)
            since = 0 if beat is None or beat.done is None else beat.done.started
            dropped = dropped_since(reader, project, since)
        with begin(self._store, "contemplate", project=project) as run:
            done = [contemplate(self._store, project=project, agent=one) for one in agents]
            expired = expire_candidates(self._store, project)
            failed = [said for one in done for said in one.failed]
            counts = {
                "agents": len(agents),
                "passes": sum(one.passes for one in done),
                "candidates": sum(len(one.proposed) for one in done),
                "failed": len(failed),
                "dropped": dropped,
                "expired": expired,
            }
            if dropped:
                failed.append(f"{dropped} moments were dropped, because too many waited")
            lost = "".join(f"- {said}\n" for said in failed) or "None.\n"
            made = "".join(f"- {one.agent}: {len(one.proposed)}\n" for one in done if one.proposed)
            run.finish(
                counts,
                report="# Contemplation\n\n## Failed or dropped\n\n"
                f"{lost}\n## Candidates\n\n{made or 'None.' + chr(10)}",
            )
        return Shift("contemplate", "done", counts, "", run.kref)

    def _grown(self, agent: str) -> str:
        """Return the agent that a call means: the session's own, or the one an operator names."""
        arguments.text(agent, "agent")
        name = check_name(agent or self.identity.actor, what="agent")
        if name != self.identity.actor and is_below_operator(self.identity.role):
            raise RoleError(
                f"{self.identity.actor} may not act for the agent {name}.",
                next_step="Leave agent out, or ask the operator.",
                role=self.identity.role,
                needed="operator",
            )
        return name

    def _growth_place(self, project: str | None) -> str:
        place = one_project(project, self.project)
        arguments.project(place)
        return place


def _check_state(state: str, known: Iterable[str]) -> None:
    arguments.text(state, "state")
    if state and state not in known:
        raise InputError(
            f"{state[:40]!r} is not a state of these.",
            next_step=f"Use {', '.join(known)}, or leave it empty for all.",
            field="state",
        )
