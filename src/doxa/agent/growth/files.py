"""The identity files on disk: written from the lines, read as candidates, and compared.

    form        SOUL      AGENTS      ANCHOR             TOOLS      MEMORY
    doxa        SOUL.md   AGENTS.md   ANCHOR.md          TOOLS.md   MEMORY.md
    openclaw    SOUL.md   AGENTS.md   USER.md            TOOLS.md   MEMORY.md
    hermes      SOUL.md   AGENTS.md   memories/USER.md   TOOLS.md   memories/MEMORY.md

Hermes' two files of memory hold entries between lines with "§"; every other file is a heading and
a list. OpenClaw reads IDENTITY.md too: an import reads it as lines of SOUL, an export leaves none.
What an import reads becomes candidates: nothing of a file is identity because it is in a file.

An export leaves a receipt: a record with the folder and the hash of every file. A file that differs
from its receipt was changed by somebody else; then the identity is not assembled for a prompt
(`require_unchanged`) until an operator has looked: either it is exported again, which replaces the
file and keeps a copy, or the folder is released. What an operator changed through the operator's
gate after the export has a receipt there, and is `applied`: the file says what that change wrote.
The identity in a prompt is that of the approvals all the same.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from doxa.agent.gate.changes import ABSENT, newest_change
from doxa.agent.growth.candidates import FILES, OPEN, propose
from doxa.agent.growth.identity import AgentIdentity, assemble
from doxa.agent.growth.wording import form_problem
from doxa.agent.records.records import list_records, move_record, write_record
from doxa.agent.records.types import Record
from doxa.base.errors import ConflictError, InputError, RoleError, StoreError
from doxa.base.ids import is_below_operator
from doxa.base.limits import IDENTITY_FILE_BYTES_MAX, IDENTITY_LINES_ITEMS_MAX
from doxa.base.patterns import lazy_re
from doxa.base.values import decode
from doxa.store import Identity, Reader, Store

RECEIPT = "identity_receipt"
WRITTEN = "written"
FORMS: Mapping[str, Mapping[str, str]] = {
    "doxa": {name: f"{name}.md" for name in FILES},
    "openclaw": {name: f"{name}.md" for name in FILES} | {"ANCHOR": "USER.md"},
    "hermes": {name: f"{name}.md" for name in FILES}
    | {"ANCHOR": "memories/USER.md", "MEMORY": "memories/MEMORY.md"},
}
_ALSO_READ = {"openclaw": {"IDENTITY.md": "SOUL"}}
_SIGN = "§"
_ENTRY = lazy_re(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = lazy_re(r"^\s*#{1,6}\s")
_MARKS = lazy_re(r"\*\*|__|`")
_FRONT = lazy_re(r"\A---\n.*?\n---\n", re.DOTALL)
_COMMENT = lazy_re(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class IdentityFile:
    """An identity file on disk compared with its receipt: exact, stale (lines were crystallised or
    taken back since), applied (it says what the operator's gate wrote), changed, missing or
    unreadable. Hashes are SHA-256, in hexadecimal."""

    path: str
    state: str
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class ExportedIdentity:
    """What an export wrote: the receipt, the digest of the identity, the paths that changed, and
    copies of files that somebody else had changed."""

    receipt: str
    digest: str
    written: tuple[str, ...]
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedIdentity:
    """What an import read: new candidates, those known before, and what cannot be a line, with the
    reason."""

    candidates: tuple[str, ...]
    known: tuple[str, ...]
    passed_over: tuple[str, ...]


# Writing


def texts_of(identity: AgentIdentity, form: str) -> dict[str, str]:
    """Return the text of each file in a form, by its path in the folder."""
    paths = _paths(form)
    found = {}
    for name in FILES:
        lines = [line.text for line in identity.lines if line.file == name]
        if lines and "/" in paths[name]:
            found[paths[name]] = f"\n{_SIGN}\n".join(lines) + "\n"
        elif lines:
            found[paths[name]] = identity.files[name]
    return found


def export_identity(
    store: Store,
    identity: Identity,
    *,
    project: str,
    agent: str,
    folder: Path,
    form: str,
    replace: bool = False,
) -> ExportedIdentity:
    """Write the identity files of an agent into a folder, and the receipt. Files that are not as an
    earlier export left them are a ConflictError; with `replace` a copy of each is kept."""
    _require_operator_role(identity)
    root = folder.resolve()
    _require_own(store, project, agent, root)
    with store.read() as reader:
        found = assemble(reader, project, agent)
        earlier = receipts(reader, project, agent, str(root))
    texts = texts_of(found, form)
    known = {path: digest for one in earlier for path, digest in one.data["files"].items()}
    seen = {**known, **texts, **_ALSO_READ.get(form, {})}
    strange = [path for path in seen if _is_strange(root, path, known, texts)]
    if strange and not replace:
        raise ConflictError(
            f"{', '.join(sorted(strange))} in {root} is not as doxa wrote it.",
            next_step="Look at it, import what is right as candidates, and export with replace.",
            path=str(root),
        )
    kept = [_keep(root / path) for path in sorted(strange) if (root / path).exists()]
    written = [path for path, text in texts.items() if _write(root / path, text.encode())]
    for path in sorted(known.keys() - texts.keys()):
        (root / path).unlink(missing_ok=True)
        written.append(path)
    with store.write(identity, op="identity.export") as tx:
        for one in earlier:
            move_record(tx, one.kref, "replaced", expected=(WRITTEN,))
        made = write_record(
            tx,
            project=project,
            agent=agent,
            kind=RECEIPT,
            name=f"{tx.now:020d}",
            state=WRITTEN,
            data={
                "folder": str(root),
                "form": form,
                "digest": found.digest,
                "files": {path: _sha(text.encode()) for path, text in sorted(texts.items())},
            },
        )
    for path in (*(str(root / one) for one in sorted(texts)), *kept):
        store.note_copy(path, kind="export")
    return ExportedIdentity(made.kref, found.digest, tuple(written), tuple(kept))


def release_folder(
    store: Store, identity: Identity, *, project: str, agent: str, folder: Path
) -> list[Record]:
    """End the receipts of a folder, whose files are then nobody's business."""
    root = str(folder.resolve())
    with store.write(identity, op="identity.release") as tx:
        held = receipts(tx, project, agent, root)
        return [move_record(tx, one.kref, "released", expected=(WRITTEN,)) for one in held]


# Comparing


def receipts(reader: Reader, project: str, agent: str, folder: str = "") -> list[Record]:
    """Return the receipts in force, of one folder or of all."""
    found = list_records(
        reader,
        project=project,
        agent=agent,
        kind=RECEIPT,
        states=(WRITTEN,),
        limit=IDENTITY_LINES_ITEMS_MAX,
    )
    return [one for one in found if folder in ("", one.data["folder"])]


def verify_files(
    reader: Reader, project: str, agent: str, *, folder: str = ""
) -> list[IdentityFile]:
    """Compare the files of every receipt in force with what is on disk."""
    found = []
    held = receipts(reader, project, agent, folder)
    current = assemble(reader, project, agent) if held else None
    for receipt in held:
        assert current is not None
        now = {
            path: _sha(text.encode())
            for path, text in texts_of(current, str(receipt.data["form"])).items()
        }
        root = Path(str(receipt.data["folder"]))
        form = str(receipt.data["form"])
        read = {*_paths(form).values(), *_ALSO_READ.get(form, {})}
        for path in sorted({*receipt.data["files"], *read}):
            one = _compared(root / path, str(receipt.data["files"].get(path, "")), now.get(path))
            if one is not None:
                found.append(_gated(reader, one, receipt.made))
    return found


def _gated(reader: Reader, one: IdentityFile, exported: int) -> IdentityFile:
    """A file that differs from its receipt, as the receipts of the operator's gate see it: the last
    change of it since the export that was not taken back."""
    if one.state not in ("changed", "missing"):
        return one
    change = newest_change(reader, one.path, since=exported)
    if change is None or change.data["after"] != (one.found or ABSENT):
        return one
    return replace(one, state="applied", expected=str(change.data["after"]))


def changed_files(reader: Reader, project: str, agent: str) -> list[IdentityFile]:
    """Return the files of receipts in force that somebody else changed, or that are gone or cannot
    be read."""
    wrong = ("changed", "missing", "unreadable")
    return [one for one in verify_files(reader, project, agent) if one.state in wrong]


def require_unchanged(reader: Reader, project: str, agent: str) -> None:
    """Raise ConflictError if a file of a receipt in force was changed by somebody else, is gone or
    cannot be read."""
    wrong = changed_files(reader, project, agent)
    if wrong:
        said = "; ".join(f"{one.path} is {one.state}" for one in wrong[:5])
        raise ConflictError(
            f"The identity of {agent} is not assembled: {said}, and no receipt says so.",
            next_step=(
                "An operator compares them with identity_verify, and then exports again with"
                " replace, or releases the folder."
            ),
            agent=agent,
        )


def _compared(path: Path, expected: str, now: str | None) -> IdentityFile | None:
    data = _read(path)
    if data is None and not path.exists():
        return IdentityFile(str(path), "missing", expected, "") if expected else None
    found = "" if data is None else _sha(data)
    if data is None:
        return IdentityFile(str(path), "unreadable", expected, found)
    if found not in (expected, now):
        return IdentityFile(str(path), "changed", expected, found)
    return IdentityFile(str(path), "exact" if found == now else "stale", expected, found)


# Reading


def import_identity(
    store: Store, identity: Identity, *, project: str, agent: str, folder: Path, form: str
) -> ImportedIdentity:
    """Read identity files as candidates; those of an operator count as stated by a person. What was
    read before is found again."""
    origin = "agent" if is_below_operator(identity.role) else "operator"
    made: list[str] = []
    known: list[str] = []
    passed: list[str] = []
    entries = list(_entries(folder, form))
    with store.write(identity, op="identity.import") as tx:
        for file, path, line, text in entries:
            problem = form_problem(text)
            if problem:
                passed.append(f"{path}:{line}: {problem}")
                continue
            found = propose(tx, project=project, agent=agent, text=text, file=file, origin=origin)
            is_new = found.made == tx.now and found.state == OPEN
            (made if is_new and found.kref not in made else known).append(found.kref)
    return ImportedIdentity(tuple(made), tuple(dict.fromkeys(known)), tuple(passed))


def _entries(folder: Path, form: str) -> Iterator[tuple[str, str, int, str]]:
    paths = {path: name for name, path in _paths(form).items()} | _ALSO_READ.get(form, {})
    found = [(path, name) for path, name in paths.items() if (folder / path).exists()]
    if not found:
        raise InputError(
            f"{folder} holds none of {', '.join(paths)}.",
            next_step="Give the folder of the workspace, and its form.",
            field="folder",
        )
    for path, name in found:
        data = _read(folder / path)
        if data is None:
            raise InputError(
                f"{folder / path} is not a readable file of at most"
                f" {IDENTITY_FILE_BYTES_MAX:,} bytes.",
                next_step="Look at what it is.",
                field="folder",
            )
        text = data.decode(errors="replace")
        for line, said in paragraphs(text, signed="/" in path):
            yield name, path, line, said


def paragraphs(text: str, *, signed: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the items of lists and the paragraphs of a Markdown text, without headings, comments,
    front matter and marks of emphasis, each with its first line. `signed`: lines that hold § alone
    separate entries."""
    text = _COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
    front = _FRONT.match(text)
    skipped = front.group().count("\n") if front else 0
    held: list[str] = []
    first = 0
    lines = [*text.splitlines()[skipped:], ""]
    for number, line in enumerate(lines, start=skipped + 1):
        begins = bool(_ENTRY.match(line)) and not signed
        ends = not line.strip() or bool(_HEADING.match(line))
        if signed:
            ends = line.strip() == _SIGN or number == skipped + len(lines)
        if (begins or ends) and held:
            yield first, " ".join(_MARKS.sub("", " ".join(held)).split())
            held = []
        if not ends and line.strip():
            first = first if held else number
            held.append(_ENTRY.sub("", line))


def _paths(form: str) -> Mapping[str, str]:
    if form not in FORMS:
        raise InputError(
            f"{form[:40]!r} is not a form of identity files.",
            next_step=f"Use {', '.join(FORMS)}.",
            field="form",
        )
    return FORMS[form]


def _is_strange(root: Path, path: str, known: Mapping[str, str], texts: Mapping[str, str]) -> bool:
    """Whether a file is there which neither an earlier export left nor this one would write."""
    if not (root / path).exists():
        return False
    data = _read(root / path)
    own = {known.get(path), _sha(texts[path].encode()) if path in texts else None}
    return data is None or _sha(data) not in own


def _read(path: Path) -> bytes | None:
    """Return what a regular file holds; None if it is none, too large, or cannot be read."""
    try:
        if not path.is_file() or path.stat().st_size > IDENTITY_FILE_BYTES_MAX:
            return None
        return path.read_bytes()
    except OSError:
        return None


def _write(path: Path, data: bytes) -> bool:
    """Write a file under another name, flush it, and give it its name: it is old or new, never
    half. Returns whether it differs from what was there."""
    if not path.is_symlink() and _read(path) == data:
        return False
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(
            f"{path} cannot be written: {error.strerror}.",
            next_step="Give a folder that can be written to.",
        ) from error
    return True


def _keep(path: Path) -> str:
    """Rename a file that somebody else changed, so that only its owner reads it."""
    digest = _sha(_read(path) or str(path).encode())[:12]
    copy = path.with_name(f"{path.name}.{digest}.bak")
    path.replace(copy)
    if not copy.is_symlink() and copy.is_file():
        copy.chmod(0o600)
    return str(copy)


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def exported_folders(store: Store) -> list[tuple[str, str, str]]:
    """Return project, agent and folder of each export in force, of the whole file."""
    with store.unbound().read() as reader:
        rows = reader.rows(
            "SELECT n.project, n.props ->> '$.agent', n.props ->> '$.data' FROM node n JOIN"
            " node_label l ON l.node = n.id AND l.label = 'Record' WHERE n.props ->> '$.type' = ?"
            " AND n.props ->> '$.state' = ?",
            (RECEIPT, WRITTEN),
        )
    return [(project, agent, str(decode(data)["folder"])) for project, agent, data in rows]


def _require_own(store: Store, project: str, agent: str, root: Path) -> None:
    """Refuse a folder in which files of another identity of this memory lie, of any project: they
    are compared with the receipt of that one. What `replace` takes over is what nobody exported."""
    for *own, folder in exported_folders(store):
        if own != [project, agent] and folder == str(root):
            raise ConflictError(
                f"{root} holds the files of another identity.",
                next_step="Name a folder of its own for each agent and project.",
                path=str(root),
            )


def _require_operator_role(identity: Identity) -> None:
    if is_below_operator(identity.role):
        raise RoleError(
            f"The role {identity.role} may not write identity files.",
            next_step="Ask the operator to export them.",
            role=identity.role,
            needed="operator",
        )
