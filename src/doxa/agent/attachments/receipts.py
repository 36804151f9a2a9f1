"""Receipts of files: written once by the hash of the content, and verified again at each use.

The file itself stays where it is: a receipt holds its hash, and each use the path that it had. At
each use its content is hashed again; if it moved or changed, that is said in words, and what was
observed is not passed off as current.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from doxa.agent.attachments.kinds import FileForm, FileKind, form_of
from doxa.agent.attachments.reading import DocumentText, read_document
from doxa.agent.attachments.types import ATTACHMENT, TEXT, USE, receipt_name
from doxa.agent.records.records import (
    CONCERNS,
    find_record,
    note_record,
    read_record,
    record_kref,
    require_record,
    write_record,
)
from doxa.agent.records.types import Record
from doxa.base.errors import InputError, LimitError
from doxa.base.limits import (
    ATTACHMENT_BYTES_MAX,
    ATTACHMENT_EXCERPT_CHARS_MAX,
    ATTACHMENT_OBSERVATION_CHARS_MAX,
)
from doxa.redaction.redact import redact
from doxa.store import Reader, Transaction

Status = Literal["verified", "changed", "missing", "payload-only", "elsewhere"]
Route = Literal["native", "described", "text", "receipt"]
CAPABILITIES = ("image_input", "image_description")
_USES_READ = 200  # at a time
_HASHES_KEPT = 256
_NO_PATH = (
    "its path looks like a credential and was not kept, so that its file cannot be checked; give it"
    " another name"
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A receipt at the time of a use. `status` says what became of the file since:

    verified (its hash was just found again), changed, missing, payload-only (it came without a
    file), elsewhere (this machine may not be looked at, or the path was not kept). `gap` says the
    same in words; "" if there is none. `route` is how the content reaches a model: native,
    described, text, or receipt (the receipt alone). `text` is empty unless it was asked for. Times
    are ns UTC.
    """

    kref: str
    name: str
    kind: FileKind
    mime: str
    bytes: int
    sha256: str
    status: Status
    gap: str
    route: Route
    path: str
    first_seen: int
    last_seen: int
    excerpt: str = ""
    observation: str = ""
    observed: int | None = None
    pages: int | None = None
    cut: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Received:
    """A file that was read and is not stored yet."""

    content_hash: str
    name: str
    path: str
    form: FileForm
    bytes: int
    text: DocumentText | None


def receive(source: Path | bytes, *, name: str = "", extract: bool = True) -> Received:
    """Read a file, or a content that came without one. Raises InputError for what is refused or
    cannot be read, LimitError for what is too large."""
    if isinstance(source, bytes):
        content, path = source, ""
        named = name or "attachment"
    else:
        path = _text_of(source)
        content = _content_of(source)
        named = name or source.name
    if len(content) > ATTACHMENT_BYTES_MAX:
        raise LimitError(
            f"{named[:200]!r} is larger than {ATTACHMENT_BYTES_MAX:,} bytes.",
            next_step="Attach a smaller file, or a part of it.",
            limit_bytes=ATTACHMENT_BYTES_MAX,
        )
    form = form_of(content, named)
    text = read_document(content, form.mime, named) if extract and form.kind == "document" else None
    return Received(sha256(content).hexdigest(), named[:200], path, form, len(content), text)


def _text_of(place: Path) -> str:
    """Return a path as it is kept."""
    path = str(place.absolute())
    try:
        path.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"The name of {path.encode('utf-8', 'replace').decode()[:200]!r} is not UTF-8.",
            next_step="Rename the file, or attach its content as bytes.",
            field="source",
        ) from None
    return path


def _content_of(place: Path) -> bytes:
    try:
        if not place.is_file():
            raise InputError(
                f"{str(place)[:200]!r} is not a file.",
                next_step="Give the path of one file.",
                field="source",
            )
        with place.open("rb") as file:
            return file.read(ATTACHMENT_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(
            f"{str(place)[:200]!r} cannot be read: {error.strerror}.",
            next_step="Give a file that this user may read.",
            field="source",
        ) from None


def store_receipt(
    tx: Transaction,
    received: Received,
    *,
    project: str,
    agent: str,
    session: str = "",
    thread: str = "",
    about: Sequence[str] = (),
) -> str:
    """Write the receipt of a file unless there is one, its text, and that it was used now; return
    the address of the receipt. `about` are turns in which it appeared: erasing one erases the
    use."""
    named = receipt_name(received.content_hash)
    kref = record_kref(project, agent, ATTACHMENT, named)
    if find_record(tx, kref) is None:
        data: dict[str, Any] = {
            "sha256": received.content_hash,
            "kind": received.form.kind,
            "mime": received.form.mime,
            "bytes": received.bytes,
            "size": None if received.form.size is None else list(received.form.size),
        }
        write_record(
            tx,
            project=project,
            agent=agent,
            kind=ATTACHMENT,
            name=named,
            state="received",
            data=data,
        )
    text = received.text
    if text is not None and find_record(tx, record_kref(project, agent, TEXT, named)) is None:
        held = {"pages": text.pages, "cut": text.cut}
        write_record(
            tx,
            project=project,
            agent=agent,
            kind=TEXT,
            name=named,
            state="read",
            text=text.text,
            data=held,
            about=(kref,),
        )
    use: dict[str, Any] = {
        "attachment": kref,
        "name": received.name,
        "path": received.path,
        "session": session,
        "thread": thread,
    }
    if redact(received.path).findings:  # the record has another path, at which nothing lies
        use["path_kept"] = False
    write_record(
        tx,
        project=project,
        agent=agent,
        kind=USE,
        name=f"{tx.now:020d}-{named[4:]}",
        state="noted",
        data=use,
        about=(kref, *about),
    )
    return kref


def note_observation(tx: Transaction, kref: str, text: str) -> Record:
    """Keep what was last observed of a file, cut to its limit."""
    require_attachment(tx, kref)
    kept = text[:ATTACHMENT_OBSERVATION_CHARS_MAX]
    return note_record(tx, kref, {"observation": kept, "observed_ns": tx.now})


def require_attachment(reader: Reader, kref: str) -> Record:
    """Return the receipt at an address. Raises NotFoundError, or InputError for what is not one."""
    require_record(reader, kref)
    found = find_record(reader, kref)
    if found is None or found.type != ATTACHMENT:
        raise InputError(
            f"{kref[:200]} is not the receipt of a file.",
            next_step="List them with attachment_list.",
            field="kref",
        )
    return found


def uses_of(
    reader: Reader,
    *,
    project: str,
    agent: str,
    session: str = "",
    thread: str = "",
    limit: int,
    kept: Callable[[Sequence[Record]], Sequence[Record]] = lambda uses: uses,
) -> list[Record]:
    """Return the last use of each of the attachments that were used last; of a session and a thread
    if they are named. `kept` takes away uses that do not count."""
    found: dict[str, Record] = {}
    prefix = record_kref(project, agent, USE, "0").removesuffix("0.record")
    test, given = "", list[object]()
    for name, value in (("session", session), ("thread", thread)):
        if value:
            test += f" AND props ->> '$.data' ->> '$.{name}' = ?"
            given.append(value)
    before = prefix + "\U0010ffff"
    while len(found) < limit:
        rows = reader.rows(
            f"SELECT id, kref FROM node WHERE kref >= ? AND kref < ?{test} ORDER BY kref DESC LIMIT"
            f" {_USES_READ}",
            (prefix, before, *given),
        )
        for use in kept(_uses(reader, rows)):
            if len(found) < limit:
                found.setdefault(str(use.data["attachment"]), use)
        if len(rows) < _USES_READ:
            break
        before = str(rows[-1][1])
    return list(found.values())


def last_use_of(reader: Reader, receipt: Record) -> Record | None:
    """Return the last use of an attachment by its agent, by the edges to its receipt."""
    prefix = record_kref(receipt.project, receipt.agent, USE, "0").removesuffix("0.record")
    rows = reader.rows(
        "SELECT n.id, n.kref FROM node r JOIN edge e ON e.dst = r.id AND e.type = ? JOIN node n ON"
        " n.id = e.src WHERE r.kref = ? AND n.kref >= ? AND n.kref < ? ORDER BY n.kref DESC"
        " LIMIT 1",
        (CONCERNS, receipt.kref, prefix, prefix + "\U0010ffff"),
    )
    return next(iter(_uses(reader, rows)), None)


def _uses(reader: Reader, rows: Sequence[tuple[Any, ...]]) -> list[Record]:
    return [read_record(n) for n in reader.nodes([row[0] for row in rows]) if "Record" in n.labels]


def looked_at(
    reader: Reader,
    use: Record,
    *,
    machine: bool,
    capabilities: Sequence[str] = (),
    whole: bool = False,
) -> Attachment:
    """Return an attachment as it is now: its file is hashed again. `use` is its last use;
    `machine`: whether files of this machine may be looked at."""
    last = use.data
    receipt = require_attachment(reader, str(last["attachment"]))
    data, notes = receipt.data, receipt.notes
    text = find_record(reader, record_kref(receipt.project, receipt.agent, TEXT, receipt.name))
    status, gap = status_of(str(last["path"]), str(data["sha256"]), machine=machine)
    if not last.get("path_kept", True):
        status, gap = "elsewhere", _NO_PATH
    has_text = text is not None and bool(text.text.strip())
    return Attachment(
        receipt.kref,
        str(last["name"]),
        data["kind"],
        str(data["mime"]),
        int(data["bytes"]),
        str(data["sha256"]),
        status,
        gap,
        route_of(data["kind"], capabilities, has_text=has_text),
        str(last["path"]),
        receipt.made,
        use.made,
        "" if text is None else text.text[:ATTACHMENT_EXCERPT_CHARS_MAX],
        str(notes.get("observation", "")),
        notes.get("observed_ns"),
        None if text is None else text.data.get("pages"),
        text is not None and bool(text.data["cut"]),
        text.text if whole and text is not None else "",
    )


def route_of(kind: str, capabilities: Sequence[str], *, has_text: bool) -> Route:
    """Return how a content reaches a model with these declared capabilities: an image as it is,
    as a description, or by its receipt alone; a document as its text. No model is called."""
    unknown = [one for one in capabilities if one not in CAPABILITIES]
    if unknown:
        raise InputError(
            f"{unknown[0][:40]!r} is not a capability.",
            next_step=f"Use {', '.join(CAPABILITIES)}.",
            field="capabilities",
        )
    if kind == "document":
        return "text" if has_text else "receipt"
    if "image_input" in capabilities:
        return "native"
    return "described" if "image_description" in capabilities else "receipt"


def status_of(path: str, digest: str, *, machine: bool) -> tuple[Status, str]:
    """Hash a file again: its status, and the gap in words, "" if it is what it was."""
    if not path:
        return "payload-only", "it came without a file, so that nothing can be checked"
    if not machine:
        return "elsewhere", "its file was not checked here"
    try:
        found = _hash_of(Path(path))
    except OSError:
        return "missing", "its file is not there any more, so that its content cannot be checked"
    if found != digest:
        return "changed", "its file has changed, so that what was observed may not hold"
    return "verified", ""


_known: dict[tuple[str, int, int, int, int], str] = {}
_lock = Lock()


def _hash_of(place: Path) -> str:
    """The SHA-256 of a file; "" for one that is too large to be the same. One whose size, inode and
    times of change are those of an earlier look is not read again: the time of change of the inode
    cannot be set by a program."""
    found = place.stat()
    if not place.is_file() or found.st_size > ATTACHMENT_BYTES_MAX:
        return ""
    key = (str(place), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    with _lock:
        known = _known.get(key)
    if known is None:
        with place.open("rb") as file:
            known = sha256(file.read(ATTACHMENT_BYTES_MAX + 1)).hexdigest()
        with _lock:
            if len(_known) >= _HASHES_KEPT:
                _known.clear()
            _known[key] = known
    return known
