"""Leases: which process runs a job on this file now.

A lease is a row of the table `cursor`, `lease/<job>`, whose number is the time until which it
holds, in ns UTC; the holder knows that number, and nobody else moves it until then. It is
bookkeeping and not logged. A holder that dies loses the lease when its time has passed.
"""

from __future__ import annotations

from contextlib import suppress

import apsw

from doxa.base.errors import StoreError
from doxa.store.file.engine import Engine, translated
from doxa.store.intake.secrets import check_name


def take_lease(engine: Engine, name: str, *, held: int, now: int, ttl_ns: int) -> int:
    """Take the lease of a job until `now + ttl_ns`, renew it by its token `held`, or give it back
    (`ttl_ns` 0). Returns the token; 0 if another process has it, or if it was given back. Raises
    StoreError inside a transaction of the thread, InputError if the name holds a secret."""
    db, key = engine.connection(), f"lease/{name}"
    check_name(key, "the name of the job")
    if db.in_transaction:
        raise StoreError(
            "A lease cannot be taken inside a transaction.",
            next_step="Take it before the transaction begins.",
        )
    with translated(engine.path, db):
        turn = engine.begin(db)
        try:
            until = db.execute("SELECT seq FROM main.cursor WHERE name = ?", (key,)).get
            mine = until is not None and until == held
            token = 0
            if mine and not ttl_ns:
                db.execute("DELETE FROM main.cursor WHERE name = ?", (key,))
            elif ttl_ns and (mine or (not held and (until is None or until <= now))):
                token = max(now + ttl_ns, (until or 0) + 1)  # a token is never given twice
                db.execute(
                    "INSERT INTO main.cursor VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET seq ="
                    " ?2",
                    (key, token),
                )
            db.execute("COMMIT")
            return token
        finally:
            with suppress(apsw.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
            turn.end()
