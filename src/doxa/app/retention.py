"""The verbs of an opened file about what is kept: erasures of what has no address, proofs that they
are complete, purges of a source, retention, and legal holds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from doxa.base.errors import RoleError
from doxa.base.ids import is_below_operator
from doxa.ingestion import arguments
from doxa.store import Identity, Store
from doxa.store.stages import Stages, no_stages

if TYPE_CHECKING:
    from doxa.maintenance.erasure_proof import ErasureProof
    from doxa.maintenance.forget import Forgotten
    from doxa.maintenance.holds import LegalHold
    from doxa.replication.replica import Replica
    from doxa.store.retention.dropping import Dropped


def _text(value: str, field: str) -> str:
    arguments.text(value, field)
    return value


def _operator(identity: Identity) -> Identity:
    """Return the identity of who may decide on what is kept. Raises RoleError for an agent."""
    if is_below_operator(identity.role):
        raise RoleError(
            "Only an operator decides on what is kept.",
            next_step="Ask the operator to do it.",
        )
    return identity


class Keeping:
    """What Memory has of these verbs."""

    store: Store
    identity: Identity
    project: str
    replica: Replica | None

    def erase(
        self,
        elements: Iterable[str] = (),
        *,
        properties: Iterable[str] = (),
        text: str = "",
        confirm: str = "",
        preview: bool = False,
    ) -> Forgotten:
        """Erase nodes and relationships by id, single properties, or every occurrence of a text.

        Ids are those of elementId(), present or past. A text is erased in upper and lower case,
        from beliefs, properties, labels, types and the log. Needs the token of a preview, and the
        operator role. Beliefs are erased by address: see `forget`.
        """
        from doxa.maintenance.erasing import erase

        arguments.flags(preview=preview)
        return erase(
            self.store,
            _operator(self.identity),
            arguments.texts(elements, "elements"),
            properties=arguments.texts(properties, "properties"),
            text=_text(text, "text"),
            confirm=confirm,
            preview=preview,
        )

    def verify_erased(self, text: str) -> ErasureProof:
        """Look for a text wherever doxa may have written it, and say where it still is.

        Reads every cell and byte of the file, what lies next to it, and the backups, snapshots and
        exports that doxa wrote. Copies that cannot be reached are named. Of a shared log, also its
        engine is read, and every replica that has reported is named.
        """
        return self._looked_for(text)

    def _looked_for(self, text: str, stages: Stages = no_stages) -> ErasureProof:
        from doxa.app.care.shared import with_shared_traces
        from doxa.maintenance.erasure_proof import verify_erased

        found = verify_erased(self.store, _text(text, "text"), stages=stages)
        return with_shared_traces(found, self.replica, text, stages=stages)

    def purge(self, source: str, *, confirm: str = "", preview: bool = False) -> Forgotten:
        """Erase everything that came from one source, and what depends on it alone.

        A source is an address, such as a thread's, change:NUMBER, speaker:NAME or file:PATH. Needs
        the token of a preview, and the operator role.
        """
        from doxa.maintenance.purging import purge

        arguments.flags(preview=preview)
        given = _text(source, "source")
        return purge(self.store, _operator(self.identity), given, confirm=confirm, preview=preview)

    def export_subject(self, subject: str, target: str | Path) -> int:
        """Write all that is about a person, or came from a source, to a new file of JSON lines.

        Returns the number of lines. A source is given as `purge` takes it.
        """
        from doxa.maintenance.subject import export_subject

        path = arguments.path(target, "target")
        arguments.text(str(path), "target")
        return export_subject(self.store, _text(subject, "subject"), path)

    def retain(self, *, preview: bool = False) -> Dropped:
        """Drop what the retention policies do not keep, and overwrite it in the file.

        CREATE RETENTION POLICY declares one. Needs the operator role. As of a time before what was
        dropped, questions are refused.
        """
        from doxa.maintenance.retaining import retain_and_scrub, retain_as_job

        arguments.flags(preview=preview)
        who = _operator(self.identity)
        if preview:
            return retain_and_scrub(self.store, who, preview=True)
        return retain_as_job(self.store, who, project=self.project)

    def hold(
        self,
        name: str,
        kind: Literal["address", "project", "text", "speaker"],
        value: str,
        *,
        reason: str = "",
    ) -> LegalHold:
        """Put an address, a project, a text or a speaker on legal hold.

        What is on hold is neither erased nor dropped by retention. Needs the operator role.
        """
        from doxa.maintenance.holds import place_hold

        for given, field in ((name, "name"), (kind, "kind"), (value, "value"), (reason, "reason")):
            arguments.text(given, field)
        return place_hold(self.store, _operator(self.identity), name, kind, value, reason=reason)

    def release(self, name: str, *, reason: str = "") -> LegalHold:
        """Release a legal hold. Needs the operator role."""
        from doxa.maintenance.holds import release_hold

        given = _text(name, "name")
        return release_hold(
            self.store, _operator(self.identity), given, reason=_text(reason, "reason")
        )

    def holds(self) -> list[LegalHold]:
        """List the legal holds in force."""
        from doxa.maintenance.holds import list_holds

        return list_holds(self.store)
