"""Forgetting in two steps: a preview that names what would go, and the act, which takes the
preview's token if more than one thing would.

Retiring takes things out of recall and can be undone. Erasing destroys content in the graph, its
past, the log's payloads, the index and the vectors, and overwrites the freed pages; only an
operator may. The token binds the exact set: if memory changes, a new preview is due. Erasing a
project, space or thread takes the token even where it holds one thing: whoever names a container
has not named what is in it.
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
from doxa.store import Identity, Reader, Store


@dataclass(frozen=True, slots=True)
class Forgotten:
    """`done` False is a preview. `krefs` shows the first few of `count`; `token` confirms exactly
    this set and mode."""

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
    """Forget an item, revision, exchange, thread, space or project. More than one thing needs
    `confirm`, the token of a preview; so does erasing a container. A pin (?r=, ?t=, ?at=) means the
    revision it leads to, never the whole item."""
    kref = parse_target(target)
    with store.read() as snapshot:
        kref = _settled(snapshot, kref, erase=erase)
        targets = _targets(snapshot, kref)
        if erase:
            targets = sorted({*targets, *_quoting(snapshot, targets)})
        token = _token(snapshot, targets, erase=erase)
    mode = "erase" if erase else "retire"
    if preview:
        return Forgotten(False, mode, len(targets), tuple(targets[:PREVIEW_ITEMS_MAX]), token)
    if not targets and not (
        erase and _is_container(kref)
    ):  # an empty place still has a name to erase
        raise InputError(
            f"{kref} holds nothing to forget.", next_step="Check the address.", kref=str(kref)
        )
    if (len(targets) > 1 or (erase and _is_container(kref))) and not _same(confirm, token):
        things = f"{len(targets)} things" if len(targets) > 1 else f"all that {kref} holds"
        said = (
            "The confirmation does not fit this set: it changed since the preview."
            if confirm
            else f"This concerns {things}."
        )
        raise ConfirmationError(
            said,
            next_step="Look at a new preview and give its token to go on.",
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
    """The address with its pin as a revision number, so that what is previewed is what is
    forgotten."""
    if kref == kref.item():
        return kref
    if kref.artifact is not None and not erase:
        raise InputError(
            f"{kref} is an artifact: it cannot be retired by itself.",
            next_step="Forget the revision it belongs to.",
            kref=str(kref),
        )
    number = resolve(reader, replace(kref, artifact=None)).props["number"]
    assert isinstance(number, int)
    return replace(kref.pinned(number), artifact=kref.artifact)


def _targets(reader: Reader, kref: Kref) -> list[str]:
    """Every item and exchange that an address covers."""
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


def _quoting(reader: Reader, targets: Sequence[str]) -> list[str]:
    """Candidate beliefs that rules read from exchanges quote them word for word: what is erased
    there is erased here too."""
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
    """Keyed with the first receipt, so that it cannot be made without the file."""
    first = reader.receipts(limit=1)
    key = first[0].hash if first else b"empty"
    return hashlib.blake2b(
        canonical([erase, list(targets)]), key=key[:32], digest_size=8
    ).hexdigest()
