"""The verbs of standing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from doxa.app.sessions.agent.spine import SpineVerbs
from doxa.base.errors import DoxaError, StoreError
from doxa.base.limits import STANDING_TRAIL_ITEMS_MAX
from doxa.belief import Kref, check_name
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.agent.standing.standing import Standing, StandingUpdate
    from doxa.dream.nightshift import Work
    from doxa.dream.pipeline import DreamOptions


class StandingVerbs(SpineVerbs):
    """Made by Session, like the other verbs."""

    def standing(
        self, person: str, *, agent: str = "", project: str | None = None, limit: int = 50
    ) -> Standing:
        """Show where a person stands: scores, the trail of what changed them, and the reports.

        Empty unless the person opted in. With a high `limit` it is all that is kept of them.
        """
        from doxa.agent.standing.standing import read_standing

        arguments.whole(limit, "limit")
        with self._store.read() as snapshot:
            return read_standing(
                snapshot,
                project=self._where(project),
                agent=self._agent(agent),
                person=check_name(person, what="person"),
                limit=min(limit, STANDING_TRAIL_ITEMS_MAX),
            )

    def standing_in(
        self, person: str, *, agent: str = "", project: str | None = None
    ) -> dict[str, object]:
        """Record that a person opted in to standing; an operator does so at their word.

        What they say from now on counts, nothing from before.
        """
        from doxa.agent.standing.standing import opt_in

        with self._store.write(self.identity, op="standing") as tx:
            made = opt_in(
                tx,
                project=self._where(project),
                agent=self._agent(agent),
                person=check_name(person, what="person"),
            )
            return {"kref": made.kref, "person": person, "state": made.state}

    def standing_out(
        self, person: str, *, agent: str = "", project: str | None = None
    ) -> dict[str, object]:
        """End standing for a person: at once, and as an operator erasing all that was kept.

        What an agent ends is shown and counted no more; the next time an operator calls this, it is
        erased, the consent included.
        """
        from doxa.agent.standing.standing import opt_out

        with self._store.write(self.identity, op="standing") as tx:
            erased = opt_out(
                tx,
                project=self._where(project),
                agent=self._agent(agent),
                person=check_name(person, what="person"),
            )
        return {"person": person, "state": "out", "erased": erased}

    def standing_appeal(
        self, evidence: str | Kref, *, why: str = "", decision: str = ""
    ) -> dict[str, object]:
        """Appeal a piece of evidence: it counts no more until an operator decides.

        The operator's `decision` is `remove` or `keep`.
        """
        from doxa.agent.standing.standing import appeal

        for given, name in ((str(evidence), "evidence"), (why, "why"), (decision, "decision")):
            arguments.text(given, name)
        with self._store.write(self.identity, op="standing") as tx:
            moved = appeal(tx, str(evidence), why=why, decision=decision)
            return {"kref": moved.kref, "state": moved.state, "why": moved.said}

    def standing_update(self, *, agent: str = "", project: str | None = None) -> StandingUpdate:
        """Read the turns of everybody who opted in, and write the report of a day that ended.

        A turn counts once, however often it is read. Runs at night, or when it is called.
        """
        from doxa.agent.standing.standing import update

        place, name = self._where(project), self._agent(agent)
        return update(self._store, self.identity, project=place, agent=name)

    def _night_work(self, project: str, dreaming: DreamOptions) -> dict[str, Work]:
        from doxa.dream.nightshift import Work

        found = super()._night_work(project, dreaming)
        return found | {"standing": Work(lambda _: self._update_all(project), regular=True)}

    def _update_all(self, project: str) -> Mapping[str, int]:
        """Update standing for each agent with whom somebody is in, in the agent's own name."""
        from doxa.agent.standing.standing import people_in, update
        from doxa.store import Identity

        with self._store.read() as reader:
            agents = sorted({agent for agent, _ in people_in(reader, project)})
        done, failed = [], list[DoxaError]()
        for agent in agents:
            try:
                found = update(self._store, Identity(agent, "agent"), project=project, agent=agent)
            except StoreError:  # the same for every agent
                raise
            except DoxaError as error:  # of one agent, after the others
                failed.append(error)
            else:
                done.append(found)
        if failed:
            raise failed[0]
        return {
            "agents": len(agents),
            "turns": sum(one.turns for one in done),
            "evidence": sum(one.evidence for one in done),
            "reports": sum(one.reports for one in done),
        }
