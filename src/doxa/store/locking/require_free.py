"""Whether a transaction may begin in a thread."""

from __future__ import annotations

import apsw

from doxa.base.errors import InputError, StoreError
from doxa.base.ids import NodeId
from doxa.store.rows import Identity


def require_free(db: apsw.Connection, identity: Identity, run: NodeId | None) -> None:
    """Raise unless a transaction may begin in this thread."""
    if identity.role == "background" and run is None:
        raise InputError(
            "The role background writes in the name of a run.",
            next_step="Begin a run first, or use another role.",
            field="role",
        )
    if db.in_transaction:
        raise StoreError(
            "A transaction is already open in this thread.",
            next_step="Finish it first; transactions do not nest.",
        )
