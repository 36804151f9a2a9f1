"""What retention has dropped, so that no read takes a gap for an answer.

`meta` holds under `retained`: {"n:Label": ns, "e:TYPE": ns, ..., "log": change}. A time is the
latest end of a dropped version with that label or type: as of any time before it, what a read of
these says may be incomplete, and it is refused. "log" is the last change whose payloads may be
gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import apsw

from doxa.base.clock import format_time
from doxa.base.errors import ConflictError
from doxa.base.values import canonical, decode
from doxa.store.reader import Reader

_KEY = "retained"
LOG = "log"
_MEMBER = "MEMBER"
ANY_NODE, ANY_EDGE = "n:", "e:"


def retained(db: apsw.Connection) -> dict[str, int]:
    """Return what was dropped, by label and type."""
    found = db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).get
    return {} if found is None else dict(decode(found))


def note_dropped(db: apsw.Connection, dropped: Mapping[str, int]) -> None:
    """Move the horizons forward; they never go back."""
    held = retained(db)
    for name, time in dropped.items():
        held[name] = max(time, held.get(name, 0))
    db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (_KEY, canonical(held).decode()))


def forget_names(db: apsw.Connection, fits: Callable[[str], bool]) -> None:
    """Forget the names of labels or types that fit; their horizons then hold for all."""
    held = retained(db)
    for name in [key for key in held if key != LOG and fits(key[2:])]:
        time, every = held.pop(name), name[:2]
        held[every] = max(time, held.get(every, 0))
        db.execute("UPDATE meta SET value = ? WHERE key = ?", (canonical(held).decode(), _KEY))


def horizon_of(
    held: Mapping[str, int], labels: Collection[str] | None, types: Collection[str] | None
) -> int:
    """Return the time before which a read of these labels and types may be incomplete; None: of
    all of them."""
    times = [0]
    for prefix, names in ((ANY_NODE, labels), (ANY_EDGE, types)):
        if names is None:
            times += [time for name, time in held.items() if name.startswith(prefix)]
        elif names:
            times += [held.get(prefix + name, 0) for name in ("", *names)]
    return max(times)


def require_kept(
    db: apsw.Connection,
    time: int,
    *,
    labels: Collection[str] | None = None,
    types: Collection[str] | None = None,
) -> None:
    """Raise ConflictError if versions that a read as of this time may need were dropped."""
    held = retained(db)
    if not held:
        return
    horizon = horizon_of(held, labels, types)
    if time < horizon:
        raise ConflictError(
            f"Versions of before {format_time(horizon)} were dropped by a retention policy, so"
            f" nothing can be said as of {format_time(time)}.",
            next_step="Ask as of a later time, or only about labels and types that are kept.",
            as_of=time,
            horizon=horizon,
        )


def require_believed(reader: Reader, time: int) -> None:
    """Raise ConflictError if what beliefs were made of as of this time was dropped: nodes and edges
    that a guard is about, and members of bundles."""
    if retained(reader._db):
        labels, types = (
            {name.removeprefix(prefix) for name in reader.catalogue_all(prefix)}
            for prefix in ("guard:label:", "guard:edge:")
        )
        require_kept(reader._db, time, labels=labels, types=types | {_MEMBER})


def dropped_before(db: apsw.Connection) -> tuple[int, int]:
    """Return the latest end of any dropped version, and the last change whose payloads may be
    gone."""
    held: dict[str, Any] = retained(db)
    return horizon_of(held, None, None), held.get(LOG, 0)
