"""Forget in two steps: a preview lists the affected elements; the operation itself needs the token
of the preview if there are several.

Retiring removes elements from recall and can be undone. Erasing destroys content in the graph, its
history, the payloads of the log, the index and the vectors, and overwrites the freed pages; it
needs the operator role. The token is bound to the exact set: if the set changes, a new preview is
needed. Erasing a project, space or thread always needs the token, because naming a container does
not name its contents.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from doxa.base.errors import ConfirmationError, InputError
from doxa.base.limits import PREVIEW_ITEMS_MAX
from doxa.base.values import canonical
from doxa.belief import Kref, Ledger, parse_target, require, resolve
from doxa.belief.removal.conclusions import conclusions_at
from doxa.store import Identity, Reader, Store


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The result of `forget`; with `done` False, a preview. `krefs` lists the first of `count`
    elements; `token` confirms exactly this set and mode."""

    done: bool
    mode: str
    count: int
    krefs: tuple[str, ...]
    token: str
    changes: tuple[int, ...] = ()
    note: str = ""


def forget(
    store: Store,
    identity: Identity,
    target: str | Kref,
    *,
    erase: bool = False,
    confirm: str = "",
    preview: bool = False,
) -> Forgotten:
    """Forget an item, revision, exchange, thread, space or project. Several elements need
    `confirm`, the token of a preview; so does erasing a container. A pinned address (?r=, ?t=,
    ?at=) means the revision that it resolves to, never the whole item."""
    kref = parse_target(target)
    with store.read() as snapshot:
        kref = _settled(snapshot, kref, erase=erase)
        targets = _targets(snapshot, kref)
        if erase:
            targets = sorted({*targets, *quoting(snapshot, targets)})
            drawn = conclusions_at(snapshot, targets)
            targets = sorted(
                {*targets, *(one for one in drawn if one.partition("?")[0] not in targets)}
            )
        token = _token(snapshot, targets, erase=erase)
    mode = "erase" if erase else "retire"
    if preview:
        return Forgotten(False, mode, len(targets), tuple(targets[:PREVIEW_ITEMS_MAX]), token)
    # an empty container still has a name to erase
    if not targets and not (erase and _is_container(kref)):
        raise InputError(
            f"{kref} contains nothing to forget.", next_step="Check the address.", kref=str(kref)
        )
    if (len(targets) > 1 or (erase and _is_container(kref))) and not _same(confirm, token):
        elements = f"{len(targets)} elements" if len(targets) > 1 else f"all contents of {kref}"
        message = (
            "The confirmation does not match: the set changed since the preview."
            if confirm
            else f"This would forget {elements}."
        )
        raise ConfirmationError(
            message,
            next_step="Request a new preview and give its token as confirmation.",
            kref=str(kref),
            count=len(targets),
            mode=mode,
        )
    ledger = Ledger(store, identity)
    if erase:
        changes = [ledger.erase([*targets, kref] if _is_container(kref) else targets).change]
    elif kref.revision is not None:
        changes = [ledger.contract(kref).change]
    else:
        changes = [ledger.deprecate(t).change for t in targets]
    made = tuple(change for change in changes if change is not None)
    note = store.left_to_scrub() if erase else "" if made else "it was retired already"
    return Forgotten(True, mode, len(targets), tuple(targets[:PREVIEW_ITEMS_MAX]), "", made, note)


def _is_container(kref: Kref) -> bool:
    return not kref.is_item or kref.kind == "thread"


def _same(confirm: object, token: str) -> bool:
    return isinstance(confirm, str) and hmac.compare_digest(
        confirm.encode("utf-8", "replace"), token.encode()
    )


def _settled(reader: Reader, kref: Kref, *, erase: bool) -> Kref:
    """Resolve the pin of an address to a revision number, so that the preview and the operation
    affect the same revision."""
    if kref == kref.item():
        return kref
    if kref.artifact is not None and not erase:
        raise InputError(
            f"{kref} is an artifact, which cannot be retired by itself.",
            next_step="Forget the revision that it belongs to.",
            kref=str(kref),
        )
    number = resolve(reader, replace(kref, artifact=None)).props["number"]
    assert isinstance(number, int)
    return replace(kref.pinned(number), artifact=kref.artifact)


def _targets(reader: Reader, kref: Kref) -> list[str]:
    """Return the addresses of all items and exchanges at or below an address."""
    node = require(reader, kref)
    if kref.kind == "thread":
        return [
            r[0]
            for r in reader.rows(
                _KREFS.format(
                    where="n.id IN (SELECT dst FROM edge WHERE src = ? AND type = 'HAS_EXCHANGE')"
                ),
                (node.id,),
            )
        ]
    if kref.is_item:
        return [str(kref)]
    prefix = str(kref) + "/"
    return [
        r[0]
        for r in reader.rows(
            _KREFS.format(where="n.kref >= ?1 AND n.kref < ?2"), (prefix, prefix[:-1] + "0")
        )
    ]


def quoting(reader: Reader, targets: Sequence[str]) -> list[str]:
    """Return the candidate beliefs extracted from erased exchanges, which they quote verbatim."""
    found = reader.rows(
        "SELECT i.kref, r.kref, (SELECT count(*) FROM edge o WHERE o.src = i.id AND o.type ="
        " 'HAS_REVISION') FROM json_each(?) t CROSS JOIN node x ON x.kref = t.value JOIN edge d ON"
        " d.dst = x.id AND d.type = 'DERIVED_FROM' JOIN node r ON r.id = d.src JOIN edge h ON h.dst"
        " = r.id AND h.type = 'HAS_REVISION' JOIN node i ON i.id = h.src WHERE r.props ->>"
        " '$.trust' = 'candidate' AND x.kref LIKE '%.exchange'",
        (canonical(list(targets)).decode(),),
    )
    items = Counter(item for item, _, _ in found)
    return [
        item if items[item] == count else revision
        for item, revision, count in found
        if item not in targets
    ]


_KREFS = (
    "SELECT n.kref FROM node n WHERE {where} AND EXISTS (SELECT 1 FROM json_each(n.labels) j WHERE"
    " j.value IN ('Item', 'Exchange')) ORDER BY n.kref"
)


def _token(reader: Reader, targets: Sequence[str], *, erase: bool) -> str:
    """Compute the token, keyed with the first receipt so that it cannot be forged without the
    file."""
    first = reader.receipts(limit=1)
    key = first[0].hash if first else b"empty"
    return hashlib.blake2b(
        canonical([erase, list(targets)]), key=key[:32], digest_size=8
    ).hexdigest()
