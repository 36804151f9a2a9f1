"""Documents of a framework as items: JSON values under a path of labels and a name.

    labels ("users", "ana maria"), name "prefs"  in the space langgraph
      -> kref://project/langgraph/~/users/~<hash of "ana maria">/prefs.document

A label or name that fits in an address stands in it; any other is replaced by its hash, and the
exact path is kept with the value. So no two paths share an address, and none leaves its space:
dots, slashes, NUL and anything else a model writes are data. The segment ~ keeps the labels apart
from the space: the documents of langgraph are not among those of langgraph/users, nor the reverse.

The value is stored as JSON, next to the text that recall searches. A put is a revision, a removal
takes the item out of memory (`deprecate`): history keeps both. Everything goes through public
verbs, all writes of a call in one transaction.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from doxa.app import Session
from doxa.base.errors import ConflictError, DoxaError, InputError, NotFoundError
from doxa.base.limits import RECALL_HITS_MAX
from doxa.belief import parse_kref
from doxa.redaction.redact import redact, redact_named, refuse_secret

_T = TypeVar("_T")
Run = Callable[[str, dict[str, Any]], Iterable[Sequence[Any]]]

_VALUE, _PATH, _CHANNEL = "adapter_value", "adapter_path", "adapter_channel"
_SEARCHED, _IDS, _NUMBER = "adapter_searched", "adapter_ids", "adapter_number"
_SEGMENT = re.compile(r"[A-Za-z0-9_+@][A-Za-z0-9_+@-]{0,59}")
_NAME = re.compile(r"[A-Za-z0-9_+@](?:[A-Za-z0-9_+@.-]{0,58}[A-Za-z0-9_+@-])?")
_HASH_CHARS = 40
_LABELS_MAX = 20  # in an address; the labels below share a segment
_TEXT_CHARS_MAX = 100_000  # of a value that recall searches
# Of records that are kept for a framework, as they are: nobody believes what is in them, so
# that recall ranks them last and `recent` leaves them out.
RECORD_TRUST = "untrusted"
_PART_CHARS = 250_000  # of a value in one text of the store, whatever its characters
_NUMBER_CHARS = 12
_ATTEMPTS = 20

_ROW = (
    f" OPTIONAL MATCH (i)-[:HAS_REVISION]->(f {{number: 1}}) RETURN i.kref, r.{_VALUE}, r.{_PATH},"
    f" r.number, coalesce(f.time, r.time), r.time, coalesce(r.{_SEARCHED}, true),"
    f" CASE WHEN r.{_NUMBER} <> r.number THEN r.summary ELSE '' END"
)
# Anybody may write an item at such an address. What has no path is nothing of a framework.
_WRITTEN_HERE = f" WHERE r.{_PATH} IS NOT NULL"
# From the space down: as many steps as there are documents, whatever else the file holds.
_TREE = (
    "MATCH (:Space {kref: $space})-[:HAS_SPACE*0..32]->(:Space)-[:HAS_ITEM]->(i:Item {kind: $kind})"
    "-[:CURRENT]->(r)" + _WRITTEN_HERE
)
_READ = "UNWIND $krefs AS one MATCH (i:Item {kref: one})-[:CURRENT]->(r)" + _WRITTEN_HERE + _ROW
_BELOW = _TREE + _ROW
_PATHS = _TREE + (f" RETURN i.kref, r.{_PATH}")
_LAST = " ORDER BY i.kref DESC LIMIT $limit"
# What was taken out counts too: a number that is given again would stand for two things, such as
# the turns that were made of both.
_LAST_KREF = (
    "MATCH (:Space {kref: $space})-[:HAS_ITEM]->(i:Item {kind: $kind}) WHERE i.kref =~ $numbered"
    " RETURN i.kref ORDER BY i.kref DESC LIMIT 1"
)
_KNOWN_IDS = f"{_TREE} UNWIND r.{_IDS} AS id WITH DISTINCT id WHERE id IN $ids RETURN id"
_NEWEST = " ORDER BY r.time DESC, i.kref"
_PAGE = " SKIP $skip LIMIT $limit"
_LAST_REVISIONS = (
    "UNWIND $krefs AS one MATCH (i:Item {kref: one})-[:HAS_REVISION]->(r)"
    " RETURN i.kref, max(r.number)"
)
_PUT = (
    "UNWIND $rows AS row CALL doxa.remember(row.text, row.options) YIELD action, conflict"
    " RETURN action, conflict"
)
_DROP = (
    "UNWIND $krefs AS one MATCH (i:Item {kref: one})-[:CURRENT]->() WITH i.kref AS kref"
    " CALL doxa.deprecate(kref, {}) YIELD action RETURN count(action)"
)


@dataclass(frozen=True, slots=True)
class Document:
    """One that is stored. `created` and `updated` are ns UTC, of its first and current revision;
    `number` is that of the current one. `edited` is its text, if somebody revised the item by other
    means than the adapter, which has written its numbers into it (`Put.number`); else ""."""

    kref: str
    value: Any
    path: tuple[str, ...]
    number: int
    created: int
    updated: int
    searched: bool = True
    edited: str = ""


@dataclass(frozen=True, slots=True)
class Put:
    """A value to be stored at an address; `path` is what it stands for in the framework, `text`
    what recall searches. Without `searched`, `find` leaves it out."""

    kref: str
    path: tuple[str, ...]
    value: Any
    text: str
    searched: bool = True
    ids: tuple[str, ...] = ()  # what `known` finds it by
    number: int = 0  # of the revision that this will be, if it is known


class Documents:
    """The documents below one space of a session's project, of one kind.

    `channel` is stored with each as where it came from, `trust` is that of all. Raises InputError
    for a space that cannot be one.
    """

    def __init__(
        self, session: Session, *, space: str, kind: str, channel: str, trust: str = "stated"
    ) -> None:
        place = parse_kref(f"kref://{session.project}/{space}" if space else "")
        if place.is_item or not place.spaces or place != place.item() or "~" in space:
            raise InputError(
                f"{space!r:.80} is not a space.",
                next_step="Give names without ~ joined by /, such as agents/planner.",
                field="space",
            )
        self.session = session
        self.space = space
        self.kind = kind
        self._channel = channel
        self._trust = trust
        self._run: Run = session.run
        self._joined = False  # whether it runs in a transaction of `atomically`

    # Addresses

    def address(self, labels: Sequence[str], name: str) -> str:
        """Return the address of what has this path in the framework."""
        return f"{self._prefix(labels)}{segment(name, _NAME)}.{self.kind}"

    def _prefix(self, labels: Sequence[str]) -> str:
        return "/".join(
            (f"kref://{self.session.project}", self.space, "~", *map(segment, _folded(labels)), "")
        )

    def _space(self, labels: Sequence[str]) -> str:
        return self._prefix(labels).rstrip("/")

    # Reading

    def read(self, krefs: Sequence[str]) -> dict[str, Document]:
        """Return those of the addresses that hold something, by address."""
        rows = self._run(_READ, {"krefs": list(dict.fromkeys(krefs))})
        return {row[0]: _document(row) for row in rows}

    def below(
        self, labels: Sequence[str] = (), *, skip: int = 0, limit: int | None = None
    ) -> list[Document]:
        """Return what is below these labels, the last written first."""
        apart = len(labels) < _LABELS_MAX  # else an address may stand for what is below it too
        params: dict[str, Any] = {
            "space": self._space(labels[: _LABELS_MAX - 1]),
            "kind": self.kind,
        }
        if apart and limit is not None:
            params |= {"skip": skip, "limit": limit}
            return [_document(row) for row in self._run(_BELOW + _NEWEST + _PAGE, params)]
        found = [_document(row) for row in self._run(_BELOW + _NEWEST, params)]
        if not apart:
            found = [one for one in found if one.path[: len(labels)] == tuple(labels)]
        return found[skip : None if limit is None else skip + limit]

    def paths(self, labels: Sequence[str] = ()) -> dict[tuple[str, ...], str]:
        """Return the paths of what is below these labels, and the address of each."""
        params = {"space": self._space(labels[: _LABELS_MAX - 1]), "kind": self.kind}
        found = {tuple(json.loads(path)): kref for kref, path in self._run(_PATHS, params)}
        return {path: kref for path, kref in found.items() if path[: len(labels)] == tuple(labels)}

    def last_revisions(self, krefs: Sequence[str]) -> dict[str, int]:
        """Return the number of the last revision of each item, which need not be current."""
        rows = self._run(_LAST_REVISIONS, {"krefs": list(krefs)})
        return {row[0]: row[1] for row in rows}

    # Lists: documents that are numbered in the order of their addition

    def numbered(self, labels: Sequence[str], number: int) -> str:
        """Return the address of the document of a list with this number."""
        return self.address(labels, f"{number:0{_NUMBER_CHARS}}")

    def record(
        self, labels: Sequence[str], number: int, value: Any, ids: Iterable[str] = ()
    ) -> Put:
        """Return a document of a list that nobody is to search for: its text is its number."""
        kref = self.numbered(labels, number)
        path = (*labels, str(number))
        return Put(kref, path, value, parse_kref(kref).name, searched=False, ids=tuple(ids))

    def next_number(self, labels: Sequence[str]) -> int:
        """Return the number after all that a list had, from 1; for the transaction that writes."""
        numbered = f".*/[0-9]{{{_NUMBER_CHARS}}}[.].*"
        params = {"space": self._space(labels), "kind": self.kind, "numbered": numbered}
        for row in self._run(_LAST_KREF, params):
            return int(parse_kref(row[0]).name) + 1
        return 1

    def listed(self, labels: Sequence[str], *, limit: int | None = None) -> list[Document]:
        """Return the documents of a list in its order; with a limit, the last ones."""
        params: dict[str, Any] = {"space": self._space(labels), "kind": self.kind}
        params["limit"] = 2**31 - 1 if limit is None else limit
        return [_document(row) for row in self._run(_BELOW + _LAST, params)][::-1]

    def known(self, labels: Sequence[str], ids: Sequence[str]) -> set[str]:
        """Return which of these ids the documents below some labels have."""
        params = {"space": self._space(labels), "kind": self.kind, "ids": list(ids)}
        return {row[0] for row in self._run(_KNOWN_IDS, params)} if ids else set()

    def find(self, query: str, labels: Sequence[str] = ()) -> list[tuple[Document, float]]:
        """Return what answers a question below these labels, the best first, with its score."""
        space = "/".join(parse_kref(self._space(labels[: _LABELS_MAX - 1])).spaces)
        try:
            hits = self.session.recall(
                query, space=space, kinds=(self.kind,), limit=RECALL_HITS_MAX
            ).hits
        except NotFoundError:  # nothing was written yet
            return []
        scores = {str(parse_kref(hit.kref).item()): hit.score for hit in hits}
        found = self.read(list(scores))
        return [
            (found[kref], score)
            for kref, score in scores.items()
            if kref in found
            and found[kref].searched
            and found[kref].path[: len(labels)] == tuple(labels)
        ]

    # Writing

    def write(self, puts: Sequence[Put] = (), drops: Sequence[str] = ()) -> None:
        """Store values and take others out of memory, all or nothing.

        An address that holds nothing is passed over. Raises InputError for a value that is not
        JSON, LimitError for one that is too large, ConflictError where what is stored is trusted
        more than this write.
        """
        rows = [self._row(put) for put in puts]
        paths = [put.path for put in puts]
        if rows and not self._joined:
            self.atomically(lambda documents: documents._write(rows, paths, drops))
        else:
            self._write(rows, paths, drops)

    def _write(
        self, rows: list[dict[str, Any]], paths: list[tuple[str, ...]], drops: Sequence[str]
    ) -> None:
        if rows:
            done = list(self._run(_PUT, {"rows": rows}))
            for path, (action, conflict) in zip(paths, done, strict=True):
                require_written(action, conflict, what="/".join(path))
        if drops:
            list(self._run(_DROP, {"krefs": list(dict.fromkeys(drops))}))

    def _row(self, put: Put) -> dict[str, Any]:
        kref = parse_kref(put.kref)
        for label in put.path:
            refuse_secret(label, field="the path")
        metadata: dict[str, Any] = {
            _VALUE: _parts(stored_json(put.value)),
            _PATH: json.dumps(put.path),
            _CHANNEL: self._channel,
        }
        if not put.searched:
            metadata[_SEARCHED] = False
        if put.number:
            metadata[_NUMBER] = put.number
        if put.ids:
            metadata[_IDS] = list(put.ids)
        options = {
            "name": kref.name,
            "space": "/".join(kref.spaces),
            "project": kref.project,
            "kind": kref.kind,
            "trust": self._trust,
            "metadata": metadata,
        }
        return {"text": searchable(put.text) or kref.name, "options": options}

    def atomically(self, change: Callable[[Documents], _T]) -> _T:
        """Run reads and writes in one transaction, and return what the function returns.

        The function may run several times: if another process wrote meanwhile, it starts again.
        """

        def changed(run: Run) -> _T:
            inner = Documents.__new__(Documents)
            inner.__dict__.update(self.__dict__, _run=run, _joined=True)
            return change(inner)

        return atomically(self.session, changed)


def atomically(session: Session, change: Callable[[Run], _T]) -> _T:
    """Run a function in one transaction of a session, whose statements it runs, and return what it
    returns. If another process wrote meanwhile, it starts again."""
    for attempt in range(_ATTEMPTS):
        with session.graph() as graph:
            graph.begin()
            try:
                result = change(graph.run)
                graph.commit()
            except DoxaError as error:
                if graph.in_transaction:
                    graph.rollback()
                if error.fields.get("kind") == "TransientError" and attempt < _ATTEMPTS - 1:
                    continue
                raise
            except BaseException:
                if graph.in_transaction:
                    graph.rollback()
                raise
            return result
    raise AssertionError("the last attempt returns or raises")


def is_contested(action: str, conflict: str) -> bool:
    """Return whether a change left what is current as it was, and opened a conflict with it or
    found one open."""
    return action == "challenged" or bool(conflict and action == "unchanged")


def require_written(action: str, conflict: str, *, what: str) -> None:
    """Raise ConflictError for a change that is only contested, so that its transaction ends without
    it: a framework that hears of a write reads it back."""
    if is_contested(action, conflict):
        raise ConflictError(
            f"{what[:200]!r} holds what is trusted more than this write; nothing was written.",
            next_step="Ask a person to revise it, or write to another place.",
            field="path",
        )


def segment(label: str, fits: re.Pattern[str] = _SEGMENT) -> str:
    """Return the part of an address that stands for a label: itself if it fits, else its hash."""
    if fits.fullmatch(label):
        return label
    digest = hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()
    return f"~{digest[:_HASH_CHARS]}"


def _folded(labels: Sequence[str]) -> list[str]:
    """As many labels as an address holds; the rest as one."""
    if len(labels) <= _LABELS_MAX:
        return list(labels)
    head, rest = labels[: _LABELS_MAX - 1], labels[_LABELS_MAX - 1 :]
    return [*head, "\0" + json.dumps(rest)]


def _document(row: Sequence[Any]) -> Document:
    kref, value, path, number, created, updated, searched, edited = row
    return Document(
        kref,
        None if value is None else json.loads("".join(value)),
        () if path is None else tuple(json.loads(path)),
        number,
        created,
        updated,
        searched,
        edited or "",
    )


# What is stored


def stored_json(value: Any) -> str:
    """Return the JSON of a value, without credentials, of the same shape.

    Each text is searched for itself first: in JSON the end of a line, which ends a credential, is
    not one. Raises InputError for what is not JSON.
    """
    try:
        text = _json(_redacted_inside(json.loads(json.dumps(value))))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"The value is not JSON: {error!s:.200}",
            next_step="Give texts, numbers, booleans, lists and mappings by text.",
            field="value",
        ) from None
    found = redact(text)
    if found.findings and not _same_shape(found.text, value):
        raise InputError(
            "The value holds a credential that cannot be removed from it.",
            next_step="Leave the credential out.",
            field="value",
        )
    return text


def _parts(text: str) -> str | list[str]:
    """A long text as a list of texts: the store bounds each."""
    if len(text) <= _PART_CHARS:
        return text
    return [text[start : start + _PART_CHARS] for start in range(0, len(text), _PART_CHARS)]


def _json(value: Any) -> str:
    """As short as can be; halves of characters, which no file can hold, are escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text if is_unicode(text) else json.dumps(value, separators=(",", ":"))


def is_unicode(text: str) -> bool:
    """Return whether a text has no halves of characters (surrogates)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _same_shape(text: str, value: Any) -> bool:
    try:
        return bool(_shape(json.loads(text)) == _shape(json.loads(json.dumps(value))))
    except ValueError:
        return False


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_shape(one) for one in value]
    return None


def _redacted_inside(value: Any, name: str = "") -> Any:
    if isinstance(value, str):
        return (redact_named(name, value) if name else redact(value)).text
    if isinstance(value, dict):
        return {key: _redacted_inside(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_redacted_inside(one, name) for one in value]
    return value


def searchable(text: str) -> str:
    """Return a text as recall searches it: without control characters and halves of characters,
    and no longer than is read for it."""
    kept = text[:_TEXT_CHARS_MAX].encode("utf-8", "ignore").decode()
    return "".join(
        char if (char >= " " and char != "\x7f") or char in "\n\t" else " " for char in kept
    ).strip()


def text_of(value: Any, label: str = "") -> str:
    """Return the texts and numbers of a JSON value as lines of `label: value`."""
    lines: list[str] = []
    waiting: list[tuple[str, Any]] = [(label, value)]
    while waiting:
        name, one = waiting.pop()
        if isinstance(one, dict):
            waiting += [(str(key), inner) for key, inner in reversed(one.items())]
        elif isinstance(one, (list, tuple)):
            waiting += [(name, inner) for inner in reversed(one)]
        elif one is not None and one != "":
            lines.append(f"{name}: {one}" if name else str(one))
    return "\n".join(lines)
