"""The verbs of the operator's gate: continuing after a restart. Changes are `doxa operator`'s."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doxa.app.checks import one_project
from doxa.app.sessions.agent.claims import ClaimsVerbs
from doxa.base.errors import NotFoundError
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.agent.gate.continuing import RestartInfo


class GateVerbs(ClaimsVerbs):
    """Made by Session, like the other verbs."""

    def restart_begin(
        self, key: str, *, declared: int = 0, agent: str = "", project: str | None = None
    ) -> RestartInfo:
        """Begin to continue after a restart, with the key of the session and a budget of calls.

        Two calls reach the runtime, one compares the session, then as many as were declared.
        Budgets outlive the process. An agent begins another one when the one before is done; an
        operator's closes it.
        """
        from doxa.agent.gate.continuing import begin, restart_info

        arguments.text(key, "key")
        arguments.whole(declared, "declared")
        where, who = self._continuing(agent, project)
        with self._store.write(self.identity, op="restart") as tx:
            made = begin(tx, project=where, agent=who, key=key, declared=declared)
        return restart_info(made)

    def restart_step(
        self,
        call: str,
        outcome: str,
        *,
        failure: str = "",
        key: str = "",
        last: bool = False,
        agent: str = "",
        project: str | None = None,
    ) -> RestartInfo:
        """Enter a call that was made after a restart, and return what is allowed next.

        A used budget, another session, or the same failure of the same call twice stops it; then
        the operator takes over.
        """
        from doxa.agent.gate.continuing import restart_info, step

        for value, name in (
            (call, "call"),
            (outcome, "outcome"),
            (failure, "failure"),
            (key, "key"),
        ):
            arguments.text(value, name)
        arguments.flags(last=last)
        event = {"call": call, "outcome": outcome, "failure": failure, "key": key, "last": last}
        where, who = self._continuing(agent, project)
        with self._store.write(self.identity, op="restart") as tx:
            return restart_info(step(tx, project=where, agent=who, event=event))

    def restart_show(self, *, agent: str = "", project: str | None = None) -> RestartInfo:
        """Show where the last continuation of an agent stands, and why it ended."""
        from doxa.agent.gate.continuing import newest, restart_info

        where, who = self._continuing(agent, project)
        with self._store.read() as snapshot:
            found = newest(snapshot, project=where, agent=who)
        if found is None:
            raise NotFoundError(
                f"{who} has no continuation.", next_step="Begin one with restart_begin."
            )
        return restart_info(found)

    def _continuing(self, agent: str, project: str | None) -> tuple[str, str]:
        arguments.text(agent, "agent")
        found = one_project(project, self.project)
        arguments.project(found)
        return found, agent or self.identity.actor
