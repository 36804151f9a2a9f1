"""The verbs of working memory: messages of running conversations, outside of the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doxa.app.care.jobs import JobVerbs
from doxa.app.checks import one_project
from doxa.base.errors import RoleError
from doxa.base.ids import is_below_operator
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.working import Chat, ChatAdded, ChatSummary


class ChatVerbs(JobVerbs):
    """Made by Session, like the verbs that change beliefs."""

    def chat_add(
        self,
        text: str,
        *,
        role: str = "user",
        session: str = "",
        user: str = "",
        context: str = "",
        project: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str = "",
    ) -> ChatAdded:
        """Add a message to a session of working memory.

        A session holds the newest 50 and ends an hour after its last use. It is the host's own
        name, or without one the handle that the user has in this context, on every channel. The
        handle is returned. Secrets are left out.
        """
        found = self._chat_project(project)
        return self._memory._open_working().add(
            text,
            project=found,
            role=role,
            session=session,
            user=user,
            context=context,
            metadata=metadata,
            idempotency_key=idempotency_key,
        )

    def chat_get(
        self,
        session: str = "",
        *,
        user: str = "",
        context: str = "",
        project: str | None = None,
        limit: int = 50,
    ) -> Chat:
        """Return the messages of a session, oldest first, and let it live an hour longer.

        A session that has expired or never was has no messages.
        """
        arguments.whole(limit, "limit")
        found = self._chat_project(project)
        return self._memory._open_working().get(
            project=found, session=session, user=user, context=context, limit=limit
        )

    def chat_list(
        self,
        *,
        user: str = "",
        context: str = "",
        project: str | None = None,
        limit: int = 100,
    ) -> list[ChatSummary]:
        """List the sessions of a project, the one used last first."""
        arguments.whole(limit, "limit")
        found = self._chat_project(project)
        return self._memory._open_working().sessions(
            project=found, user=user, context=context, limit=limit
        )

    def chat_clear(
        self,
        session: str = "",
        *,
        user: str = "",
        context: str = "",
        project: str | None = None,
        every: bool = False,
    ) -> int:
        """Destroy the messages of a session, and return how many there were.

        `every` destroys all sessions of the project, or of the user or context that is named; it is
        the operator's.
        """
        arguments.flags(every=every)
        found = self._chat_project(project)
        working = self._memory._open_working()
        if not every:
            return working.clear(project=found, session=session, user=user, context=context)
        if is_below_operator(self.identity.role):
            raise RoleError(
                "Only an operator may clear more than one session.",
                next_step="Clear one session at a time.",
                role="agent",
            )
        return working.clear_all(project=found, user=user, context=context)

    def chat_snapshot(
        self,
        session: str = "",
        *,
        user: str = "",
        context: str = "",
        project: str | None = None,
    ) -> Chat:
        """Return the messages of a session that are not marked as consolidated.

        It is what a consolidation reads. The session does not live longer for it.
        """
        found = self._chat_project(project)
        return self._memory._open_working().snapshot(
            project=found, session=session, user=user, context=context
        )

    def chat_consolidated(
        self,
        through: str,
        session: str = "",
        *,
        user: str = "",
        context: str = "",
        project: str | None = None,
    ) -> int:
        """Mark messages of a session as consolidated, and return how many were not before.

        All up to an id are. Marking twice changes nothing. If the session ended since,
        NotFoundError says so.
        """
        found = self._chat_project(project)
        return self._memory._open_working().consolidated(
            through, project=found, session=session, user=user, context=context
        )

    def _chat_project(self, project: str | None) -> str:
        """The project of a call, which a bound session has to see."""
        if project is not None:
            arguments.project(project)
        found = one_project(project, self.project)
        bound = self._store.binding
        if bound is not None and found not in bound.projects:
            raise bound.refusal(f"to the project {found[:80]!r}")
        return found
