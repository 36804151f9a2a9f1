"""The verbs of attachments."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from doxa.app.checks import one_project, path_outside
from doxa.app.retries import retryable
from doxa.app.sessions.agent.evolution import EvolutionVerbs
from doxa.base.errors import InputError, NotFoundError
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.agent.attachments.receipts import Attachment

_LISTED = 100


class AttachmentsVerbs(EvolutionVerbs):
    """Made by Session, like the other verbs."""

    @retryable
    def attachment_add(
        self,
        source: str | Path | bytes,
        *,
        name: str = "",
        session: str = "",
        thread: str = "",
        about: Iterable[str] = (),
        extract: bool = True,
        project: str | None = None,
    ) -> Attachment:
        """Keep the receipt of a file: its hash, what it is, its text, and where it lies.

        The file stays where it is. A content that is known has one receipt, in whatever turn and
        under whatever name it comes again. Archives, programs and documents with macros are
        refused.
        """
        from doxa.agent.attachments.receipts import receive, store_receipt

        found = one_project(project, self.project)
        arguments.project(found)
        arguments.flags(extract=extract)
        turns = tuple(arguments.texts(about, "about"))
        for value, field in ((name, "name"), (session, "session"), (thread, "thread")):
            arguments.text(value, field)
        given = source if isinstance(source, bytes) else path_outside(source, "source", self._store)
        received = receive(given, name=name, extract=extract)
        with self._store.write(self.identity, op="attachment_add") as tx:
            kref = store_receipt(
                tx,
                received,
                project=found,
                agent=self.identity.actor,
                session=session,
                thread=thread,
                about=turns,
            )
        return self.attachment_show(kref)

    def attachment_show(
        self, kref: str, *, capabilities: Iterable[str] = (), whole: bool = False
    ) -> Attachment:
        """Return an attachment as it is now: its file is hashed again.

        `gap` says in words what cannot be vouched for any more. `capabilities` are those of the
        model, by which the route of an image is chosen.
        """
        from doxa.agent.attachments.receipts import last_use_of, looked_at, require_attachment

        arguments.text(kref, "kref")
        arguments.flags(whole=whole)
        given = tuple(arguments.texts(capabilities, "capabilities"))
        with self._store.read() as reader:
            record = require_attachment(reader, kref)
            use = last_use_of(reader, record)
            if use is None:
                raise NotFoundError(
                    f"Of {record.kref} no use is left: the turns in which it appeared were erased.",
                    next_step="Add the file again.",
                    kref=record.kref,
                )
            return looked_at(reader, use, machine=True, capabilities=given, whole=whole)

    def attachment_list(
        self,
        *,
        session: str = "",
        thread: str = "",
        limit: int = 6,
        agent: str = "",
        project: str | None = None,
    ) -> list[Attachment]:
        """List the attachments that were used last, each verified again."""
        from doxa.agent.attachments.receipts import looked_at, uses_of

        found = one_project(project, self.project)
        arguments.project(found)
        arguments.whole(limit, "limit")
        arguments.text(session, "session")
        arguments.text(thread, "thread")
        arguments.text(agent, "agent")
        if limit > _LISTED:
            raise InputError(
                f"At most {_LISTED} attachments are listed, not {limit}.",
                next_step="Name the session or the thread.",
                field="limit",
            )
        with self._store.read() as reader:
            uses = uses_of(
                reader,
                project=found,
                agent=agent or self.identity.actor,
                session=session,
                thread=thread,
                limit=limit,
            )
            return [looked_at(reader, one, machine=True) for one in uses]

    @retryable
    def attachment_note(self, kref: str, text: str) -> Attachment:
        """Keep what was observed of an attachment, in place of the last observation.

        Later turns carry it with its date, next to the receipt.
        """
        from doxa.agent.attachments.receipts import note_observation

        arguments.text(kref, "kref")
        arguments.text(text, "text")
        with self._store.write(self.identity, op="attachment_note") as tx:
            note_observation(tx, kref, text)
        return self.attachment_show(kref)
