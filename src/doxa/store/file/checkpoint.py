"""Copying the write-ahead log into the file without waiting for anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from doxa.store.file.engine import translated

if TYPE_CHECKING:
    from doxa.store.store import Store


def checkpoint(store: Store) -> None:
    """Copy the write-ahead log into the file, as far as readers of older states allow."""
    db = store.connection()
    with translated(store.path, db):
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
