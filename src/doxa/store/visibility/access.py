"""What is known of an element's use: how often and when it was returned or passed through, what ON
ACCESS blocks keep, and whether it is suppressed.

Table   access(edge 0/1, element, data JSONB), kept apart from nodes and edges: an access makes no
version of anything.
Data    {"count", "last": ns, "walks", "walked": ns, "changes", "changed": ns, "held": {name:
value}, "kalman": {name: state},
         "support": {"session" | "agent" | "source": [hashes of those seen]}, "suppressed": true,
         "error": text}; what is empty is left out

Reads only note what they returned, in memory (`AccessBuffer`); a transaction of its own takes the
notes in later, each access by itself and in order. So a read never waits for a write, and what was
noted since the last flush is lost if the process dies.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from doxa.base.errors import InputError
from doxa.base.limits import ACCESS_SUPPORT_ITEMS_MAX
from doxa.base.temporal_instant import instant_of
from doxa.base.values import (
    canonical,
    check_properties,
    decode,
    decode_properties,
    encode_properties,
)
from doxa.policy.kalman import Filter, observe
from doxa.store.file import process
from doxa.store.intake.secrets import cleaned

FIXED = ("accessCount", "lastAccessedAt", "traversalCount", "lastTraversedAt")
ACCESSES = "accesses"  # the operation of a flush, as receipts call it
SUPPORT = (
    "session",
    "agent",
    "source",
)  # parameters $_session and so on, whose distinct values are counted
_Count = Annotated[int, msgspec.Meta(ge=0)]
_MS, _MS_MAX = (
    1_000_000,
    10**14,
)  # a whole number below counts milliseconds, as timestamp() gives them; above, nanoseconds
_TIME_MAX = 2**63 - 1
_SMOOTHED_MAX = 1e50  # its square, and that times its square, are finite


def moment_of(value: object) -> int | None:
    """Read a point in time in ns: as `instant_of` reads it, but a whole number below 10^14 counts
    milliseconds, as timestamp() does."""
    if type(value) is int:
        found: int | None = value * _MS if abs(value) < _MS_MAX else value
    else:
        found = instant_of(value)
    return found if found is None else max(-(2**63), min(_TIME_MAX, found))


@dataclass(slots=True)
class Access:
    """The access metadata of one element; times in ns."""

    count: int = 0
    last: int | None = None
    walks: int = 0
    walked: int | None = None
    changes: int = 0
    changed: int | None = None
    held: dict[str, Any] = field(default_factory=dict)
    kalman: dict[str, Filter] = field(default_factory=dict)
    support: dict[str, list[str]] = field(default_factory=dict)
    suppressed: bool = False
    error: str = ""

    def values(self) -> dict[str, Any]:
        """Return them as properties, by the names that policies use; times in ms, as timestamp()
        gives them. What is unknown is absent."""
        found: dict[str, Any] = dict(self.held)
        if self.count:
            found["accessCount"] = self.count
        if self.walks:
            found["traversalCount"] = self.walks
        for name, time in (("lastAccessedAt", self.last), ("lastTraversedAt", self.walked)):
            if time is not None:
                found[name] = time // _MS
        for name, seen in self.support.items():
            found[f"{name}Support"] = len(seen)
        return found

    def note_support(self, parameters: Mapping[str, Any]) -> None:
        """Count a session, agent or source that was not seen before; beyond the limit new ones are
        not distinguished, and none counts."""
        for name in SUPPORT:
            value = parameters.get(f"_{name}")
            if value is None:
                continue
            seen = self.support.setdefault(name, [])
            key = hashlib.blake2b(canonical(str(value)), digest_size=8).hexdigest()
            if key not in seen and len(seen) < ACCESS_SUPPORT_ITEMS_MAX:
                seen.append(key)

    def set(self, name: str, value: Any, *, kalman: Mapping[str, Any] | None, now: int) -> None:
        """Keep a value under a name; a smoothed one is observed first. Raises TypeError for what
        cannot be smoothed, or be a count or time."""
        if kalman is not None:
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float))
                or not abs(value) <= _SMOOTHED_MAX
            ):
                raise TypeError(f"{name} is smoothed, so it takes a number, not {value!r:.40}")
            value = observe(self.kalman.setdefault(name, Filter()), float(value), **kalman)
        if name in FIXED:
            self._set_fixed(name, value)
        else:
            self.held |= cleaned(check_properties({name: value}, owner="access metadata"), [])
        self.changes += 1
        self.changed = now

    def _set_fixed(self, name: str, value: Any) -> None:
        if name in ("accessCount", "traversalCount"):
            if type(value) is not int or value < 0:
                raise TypeError(f"{name} is a count, not {value!r:.40}")
            self.count, self.walks = (
                (value, self.walks) if name == "accessCount" else (self.count, value)
            )
            return
        time = moment_of(value)
        if time is None:
            raise TypeError(f"{name} is a time, not {value!r:.40}")
        if name == "lastAccessedAt":
            self.last = (
                time if self.last is None or time // _MS != self.last // _MS else self.last
            )  # timestamp() of this access is this access
        else:
            self.walked = time


def encode_access(access: Access, *, support: bool = True) -> bytes:
    """Return the canonical bytes of metadata, with or without who supports it."""
    found: dict[str, Any] = {}
    for name in (
        "count",
        "last",
        "walks",
        "walked",
        "changes",
        "changed",
        "support",
        "suppressed",
        "error",
    ):
        value = getattr(access, name) if support or name != "support" else None
        if value or (value == 0 and name in ("last", "walked", "changed") and value is not None):
            found[name] = value
    if access.held:
        found["held"] = decode(encode_properties(access.held, owner="access metadata"))
    if access.kalman:
        found["kalman"] = {name: asdict(state) for name, state in access.kalman.items()}
    return canonical(found)


def decode_access(text: str | bytes | None) -> Access:
    """Decode access metadata from its JSON text; None is an element that nobody has accessed."""
    if text is None:
        return Access()
    found: dict[str, Any] = decode(text)
    if "held" in found:
        found["held"] = decode_properties(canonical(found["held"]).decode())
    if "kalman" in found:
        found["kalman"] = {name: Filter(**state) for name, state in found["kalman"].items()}
    return Access(**found)


class IdColumns(NamedTuple):
    """Which of some columns of ids, of nodes and of edges with a minus, are of what was returned,
    and of what was only passed through. Of edges the nodes at an end may be meant, too: an edge
    keeps its ends, so they can be looked up when the accesses are written."""

    returned: Sequence[int]
    walked: Sequence[int]
    ends: Sequence[tuple[int, bool, bool]]  # (column, whether they lead there, whether walked)


class AccessRecord(NamedTuple):
    """What one query, or one recall, returned and passed through: groups of ids of nodes, and of
    edges with a minus, each any number of times; and such columns of rows."""

    at: int
    parameters: Mapping[str, Any]
    returned: Sequence[Sequence[int]] = ()
    walked: Sequence[Sequence[int]] = ()
    columns: Sequence[tuple[IdColumns, Sequence[Sequence[int]]]] = ()

    @property
    def size(self) -> int:
        found = 0  # added one by one: most records hold one or two groups or columns
        for ids in self.returned:
            found += len(ids)
        for ids in self.walked:
            found += len(ids)
        for _, columns in self.columns:
            for ids in columns:
                found += len(ids)
        return found

    def resolved(
        self, ends_of: Callable[[Collection[int]], Mapping[int, tuple[int, int]]]
    ) -> AccessRecord:
        """Return the same with groups alone, and the ids of all nodes. `ends_of` gives the nodes
        that edges lead from and to; it leaves out edges that were erased."""
        if not self.columns:
            return self
        returned, walked = [*self.returned], [*self.walked]
        ends = [
            (ids[at], is_last, is_walked)
            for meant, ids in self.columns
            for at, is_last, is_walked in meant.ends
        ]
        for meant, ids in self.columns:
            returned += [ids[at] for at in meant.returned]
            walked += [ids[at] for at in meant.walked]
        found = ends_of({-edge for edges, _, _ in ends for edge in edges}) if ends else {}
        for edges, is_last, is_walked in ends:
            pairs = [found[-edge] for edge in dict.fromkeys(edges) if -edge in found]
            (walked if is_walked else returned).append([pair[is_last] for pair in pairs])
        return AccessRecord(self.at, self.parameters, returned, walked)

    def elements(self) -> tuple[dict[int, None], dict[int, None]]:
        """Return what was returned, and what was only passed through, each once. The record is
        resolved."""
        returned = dict.fromkeys(chain.from_iterable(self.returned))
        walked = dict.fromkeys(chain.from_iterable(self.walked))
        return returned, {identity: None for identity in walked if identity not in returned}

    def without(self, hidden: Container[int]) -> AccessRecord:
        """Return the same without these elements. The record is resolved."""
        returned, walked = ([one for one in part if one not in hidden] for part in self.elements())
        return AccessRecord(self.at, self.parameters, (returned,), (walked,))


def used(notes: Iterable[AccessRecord]) -> dict[int, list[tuple[AccessRecord, bool]]]:
    """Return the accesses of each element (an edge under its id with a minus), in order; with each
    whether it was only passed through. The records are resolved."""
    found: dict[int, list[tuple[AccessRecord, bool]]] = {}
    for noted in notes:
        for walked, identities in enumerate(noted.elements()):
            for identity in identities:
                found.setdefault(identity, []).append((noted, bool(walked)))
    return found


class AccessBuffer:
    """Notes of accesses in the order they came, until they are taken. Thread-safe; noting is one
    append under a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes: list[AccessRecord] = []
        self._size = 0
        self._pid = process.number

    def note(self, noted: AccessRecord, size: int) -> int:
        """Keep a note of so many elements; returns how many wait now."""
        with self._lock:
            if self._pid != process.number:
                self._notes, self._size, self._pid = [], 0, process.number
            self._notes.append(noted)
            self._size += size
            return self._size

    def take(self) -> list[AccessRecord]:
        """Return all notes, which are the caller's from now on."""
        with self._lock:
            found, self._notes, self._size = self._notes, [], 0
            return (
                found if self._pid == process.number else []
            )  # a forked child has its parent's notes: they are the parent's to write

    def put_back(self, notes: Iterable[AccessRecord]) -> None:
        """Put notes back that could not be written, before all that came since."""
        with self._lock:
            kept = list(notes)
            self._notes = kept + self._notes
            self._size += sum(one.size for one in kept)

    @property
    def size(self) -> int:
        return self._size


class AccessData(msgspec.Struct, forbid_unknown_fields=True):
    """The same as it lies in the table, with checked types: what another program may have
    written."""

    count: _Count = 0
    last: int | None = None
    walks: _Count = 0
    walked: int | None = None
    changes: _Count = 0
    changed: int | None = None
    held: dict[str, Any] = msgspec.field(default_factory=dict)
    kalman: dict[str, Filter] = msgspec.field(default_factory=dict)
    support: dict[Literal["session", "agent", "source"], list[str]] = msgspec.field(
        default_factory=dict
    )
    suppressed: bool = False
    error: Annotated[str, msgspec.Meta(max_length=1_000)] = ""


def checked_access(data: AccessData) -> Access:
    """Return the metadata that such data is. Raises InputError or LimitError."""
    if any(len(seen) > ACCESS_SUPPORT_ITEMS_MAX for seen in data.support.values()):
        raise InputError(
            "more supporters than are counted", next_step="Export again, or correct that line."
        )
    found = decode_access(msgspec.json.encode(data))
    check_properties(found.held, owner="access metadata")
    return found
