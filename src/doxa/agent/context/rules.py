"""What an operator declares about contexts: verifiers of what is believed, and periods whose words
are not reliable. Both are records; an agent writes none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from doxa.agent.records.records import CONCERNS, find_record, list_records, read_record
from doxa.agent.records.types import Record, RecordType
from doxa.base.clock import parse_time
from doxa.base.errors import ConstraintError, InputError
from doxa.base.limits import VERIFIER_COMMAND_ITEMS_MAX, VERIFIER_FILE_BYTES_MAX
from doxa.base.values import decode
from doxa.store import Node, Reader, Transaction

VERIFIER, WINDOW = "verifier", "window"
RULES_OF = "context"  # the agent in whose name the rules of all agents stand
KINDS = ("stat", "hash", "command")
_READ_ITEMS = 100


def _check_verifier(tx: Transaction, before: Node | None, after: Node) -> None:
    data = decode(str(after.props["data"]))
    fits = data.get("kind") in KINDS and (
        isinstance(data.get("path"), str)
        if data.get("kind") != "command"
        else _is_command(data.get("command"))
    )
    if not fits:
        raise ConstraintError(
            f"{after.props['kref']} would not be a verifier.",
            next_step="Declare it with verifier_declare.",
            kref=str(after.props["kref"]),
        )


def _is_command(value: object) -> bool:
    return (
        isinstance(value, list)
        and 0 < len(value) <= VERIFIER_COMMAND_ITEMS_MAX
        and all(isinstance(one, str) and one and "\0" not in one for one in value)
    )


TYPES = (
    RecordType(
        VERIFIER,
        states={"active": "operator"},
        moves={"active": {"withdrawn": "operator"}},
        check=_check_verifier,
    ),
    RecordType(WINDOW, states={"active": "operator"}, moves={"active": {"withdrawn": "operator"}}),
)


@dataclass(frozen=True, slots=True)
class UnreliablePeriod:
    """A period whose words are not reliable: from `since` to before `until`, ns UTC; with `words`
    only what contains one of them."""

    since: int
    until: int
    why: str
    words: tuple[str, ...] = ()

    def covers(self, time_ns: int, text: str) -> bool:
        """Return whether something said at this time is covered."""
        if not self.since <= time_ns < self.until:
            return False
        held = text.casefold()
        return not self.words or any(word.casefold() in held for word in self.words)


def windows_over(reader: Reader, project: str) -> list[UnreliablePeriod]:
    """Return the periods that are marked in a project."""
    found = list_records(
        reader, project=project, agent=RULES_OF, kind=WINDOW, states=("active",), limit=_READ_ITEMS
    )
    return [
        UnreliablePeriod(
            parse_time(str(one.data["since"])),
            parse_time(str(one.data["until"])),
            one.text,
            tuple(one.data["words"]),
        )
        for one in found
    ]


def verifiers_of(reader: Reader, krefs: Sequence[str]) -> dict[str, list[Record]]:
    """Return the active verifiers of beliefs, which are given as their revisions, by address; all
    are read together."""
    found: dict[str, list[Record]] = {kref: [] for kref in krefs}
    beliefs = {node.id: str(node.props["kref"]) for node in reader.nodes_by_kref(list(found))}
    if not beliefs:
        return found
    marks = ", ".join("?" * len(beliefs))
    rows = reader.rows(
        f"SELECT dst, src FROM edge WHERE dst IN ({marks}) AND type = ?", (*beliefs, CONCERNS)
    )
    sources = {node.id: node for node in reader.nodes(sorted({row[1] for row in rows}))}
    for belief, source in rows:
        node = sources.get(source)
        if node is not None and "Record" in node.labels:
            record = read_record(node)
            if record.type == VERIFIER and record.state == "active":
                found[beliefs[belief]].append(record)
    for held in found.values():
        held.sort(key=lambda one: one.kref)
    return found


def rules_in(reader: Reader, project: str) -> list[Record]:
    """Return all rules of a project, withdrawn ones too, verifiers first."""
    return [
        one
        for kind in (VERIFIER, WINDOW)
        for one in list_records(
            reader, project=project, agent=RULES_OF, kind=kind, limit=_READ_ITEMS
        )
    ]


def require_rule(reader: Reader, kref: str) -> Record:
    """Return a rule, or raise InputError for what is not one."""
    found = find_record(reader, kref)
    if found is None or found.type not in (VERIFIER, WINDOW):
        raise InputError(
            f"{kref[:200]} is not a verifier or a window.",
            next_step="List them with context_rules.",
            field="kref",
        )
    return found


def measured(kind: str, path: str) -> dict[str, Any]:
    """Return what a file is like now, for a verifier of it. Raises InputError if it cannot be
    read."""
    place = Path(path)
    if not place.is_absolute() or "\0" in path:
        raise InputError(
            f"{path[:200]!r} is not an absolute path.",
            next_step="Give the whole path.",
            field="path",
        )
    try:
        held = state_of(kind, place)
    except OSError as error:
        raise InputError(
            f"{path[:200]} cannot be read: {error.strerror}.",
            next_step="Give a file that this user may read.",
            field="path",
        ) from None
    return {"kind": kind, "path": path, "held": held}


def state_of(kind: str, place: Path) -> dict[str, Any]:
    """Return the size and time, or the SHA-256, of a file. Raises OSError."""
    found = place.stat()
    if kind == "stat":
        return {"size": found.st_size, "modified_ns": str(found.st_mtime_ns)}
    if found.st_size > VERIFIER_FILE_BYTES_MAX or not place.is_file():
        raise OSError(27, f"it is not a file of at most {VERIFIER_FILE_BYTES_MAX:,} bytes")
    return {"sha256": sha256(place.read_bytes()).hexdigest()}


def command_of(data: Mapping[str, Any]) -> Sequence[str]:
    """Return the words of a verifier's command."""
    return [str(word) for word in data["command"]]
