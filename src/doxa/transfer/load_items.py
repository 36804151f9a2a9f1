"""Rows of a file as revisions of items.

    {"kref": "kref://shop/billing/plan.decision", "text": "We bill monthly.", "confidence": 0.9}

Each row is what `remember` would state under that address: the first row of an item creates it, the
next ones are its next revisions, and one that says what the current revision says is passed over.
They go the way of every statement: secrets are redacted, what contradicts a row is retracted or
opens a conflict, and what must hold is checked when the batch commits. A file verifies nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from doxa.base.clock import parse_time
from doxa.base.errors import DoxaError
from doxa.base.limits import LOAD_ITEMS_AT_ONCE_ITEMS_MAX
from doxa.base.values import decode
from doxa.belief import Draft, Fact, Kref, parse_fact, parse_kref
from doxa.belief.ledger import Ledger
from doxa.belief.types import CheckedDraft
from doxa.ingestion.remember import clean_draft
from doxa.store import Identity, Store, Transaction
from doxa.transfer.row_files import RowFile

Stated = tuple[Kref, CheckedDraft, int]  # the item, its next revision, redacted secrets


def _texts(value: object, field: str) -> tuple[str, ...]:
    """A list, or in CSV a text of them: a; b; c."""
    if isinstance(value, str):
        return tuple([part.strip() for part in value.split(";") if part.strip()])
    entries = value if isinstance(value, list) else [value]
    other = next((entry for entry in entries if not isinstance(entry, str)), "")
    if not isinstance(other, str):
        raise ValueError(f"{field} must be texts, not {other!r:.60}")
    return tuple(entries)


def _facts(value: object) -> tuple[Fact, ...]:
    """A list of [subject, predicate, value], or in CSV such a list as JSON."""
    found = decode(value) if isinstance(value, str) else value
    return tuple([parse_fact(fact) for fact in (found if isinstance(found, list) else [found])])


_COLUMNS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "text": ("summary", lambda value: value),
    "title": ("title", lambda value: value),
    "topics": ("topics", lambda value: _texts(value, "topics")),
    "keywords": ("keywords", lambda value: _texts(value, "keywords")),
    "facts": ("facts", _facts),
    "valid_from": ("valid_from", lambda value: _time(value, "valid_from")),
    "valid_until": ("valid_until", lambda value: _time(value, "valid_until")),
    "confidence": ("confidence", float),
    "trust": ("trust", lambda value: value),
}


def _time(value: object, field: str) -> int:
    return parse_time(value if isinstance(value, (str, int)) else str(value), field=field)


class ItemRows:
    """Rows as revisions of the items at the addresses in one column."""

    at_once = LOAD_ITEMS_AT_ONCE_ITEMS_MAX
    kept = ()

    def __init__(self, store: Store, identity: Identity, column: str) -> None:
        self._store, self._column = store, column
        self._ledger = Ledger(store, identity)
        self.spec = ["items", column]

    def read(self, file: RowFile) -> list[Stated]:
        """Read the next rows, and return what each of them states."""
        rows = file.rows_at_once(self.at_once)
        return [self._stated(file, row, len(rows) - n) for n, row in enumerate(rows, 1)]

    def _stated(self, file: RowFile, row: dict[str, Any], before: int) -> Stated:
        """Return what a row states, which stands so many before the last one. Raises InputError for
        one that cannot be used."""
        address = row.pop(self._column, None)
        if not isinstance(address, str) or "text" not in row:
            raise file.refuse(f"its {self._column} or its text is absent", before=before)
        if row.get("trust") == "verified":
            raise file.refuse(
                "a file does not verify what it states; give another trust", before=before
            )
        try:
            kref = parse_kref(address)
            if not kref.is_item or kref != kref.item():
                raise ValueError("it is not the address of an item")
            clean, found = clean_draft(_draft(kref, row))
            return kref, self._ledger.check(clean), len(found)
        except (DoxaError, ValueError, TypeError, OverflowError) as error:
            said = error.message if isinstance(error, DoxaError) else str(error)
            raise file.refuse(
                f"{address[:80]!r} cannot be stated: {said.rstrip('.')}", before=before
            ) from None

    def write(self, tx: Transaction, rows: Any) -> dict[str, int]:
        counts = dict.fromkeys(("items", "revisions", "known", "redacted"), 0)
        with self._store.joined(tx):
            for kref, draft, redacted in rows:
                with self._ledger.write("put") as work:
                    change = self._ledger.upsert(work.tx, kref, draft)
                counts["items"] += change.action == "created"
                counts["known" if change.action == "unchanged" else "revisions"] += 1
                counts["redacted"] += redacted
        return counts


def _draft(kref: Kref, row: dict[str, Any]) -> Draft:
    """What a row says. Columns without a meaning become metadata."""
    known = {_COLUMNS[name][0]: _COLUMNS[name][1](row[name]) for name in row if name in _COLUMNS}
    return Draft(
        **known,
        project=kref.project,
        space="/".join(kref.spaces),
        name=kref.name,
        kind=kref.kind,
        metadata={name: value for name, value in row.items() if name not in _COLUMNS},
    )
