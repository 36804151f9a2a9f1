"""Place, release and list legal holds. A hold is an entry of the catalogue, so that every change of
it is logged; the store refuses to erase or to drop what is on hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from doxa.base.errors import ConflictError, InputError, NotFoundError
from doxa.base.limits import LABEL_CHARS_MAX, NOTE_CHARS_MAX
from doxa.base.values import check_text
from doxa.belief import parse_kref
from doxa.store import Identity, Store
from doxa.store.retention.holds import KINDS, PREFIX

_SHORT = 3


@dataclass(frozen=True, slots=True)
class LegalHold:
    """A hold in force: what it is about, why, and since when (ns)."""

    name: str
    kind: str
    value: str
    reason: str
    time: int


def place_hold(
    store: Store, identity: Identity, name: str, kind: str, value: str, *, reason: str = ""
) -> LegalHold:
    """Put an address, a project, a text or a speaker on hold. Operators only. Raises ConflictError
    if there is a hold of this name."""
    if not name.strip() or len(name) > LABEL_CHARS_MAX:
        raise InputError(
            f"A name has 1 to {LABEL_CHARS_MAX} characters.",
            next_step="Give another name.",
            field="name",
        )
    if kind not in KINDS:
        raise InputError(
            f"{kind!r:.40} cannot be held.",
            next_step=f"Hold one of {', '.join(KINDS)}.",
            field="kind",
        )
    check_text(reason, field="reason", bytes_max=NOTE_CHARS_MAX * 4)
    check_text(value, field="value")
    if kind == "address":
        value = str(parse_kref(value))
    if len(value.strip()) < (_SHORT if kind == "text" else 1):
        raise InputError(
            f"There is too little to hold in {value!r}.", next_step="Give more.", field="value"
        )
    entry: dict[str, Any] = {"kind": kind, "value": value, "reason": reason}
    with store.write(identity, op="hold", note=reason[:NOTE_CHARS_MAX]) as tx:
        if tx.catalogue(PREFIX + name) is not None:
            raise ConflictError(
                f"There is a hold {name!r} already.", next_step="Choose another name.", name=name
            )
        tx.set_catalogue(PREFIX + name, {**entry, "time": tx.now})
        return LegalHold(name, kind, value, reason, tx.now)


def release_hold(store: Store, identity: Identity, name: str, *, reason: str = "") -> LegalHold:
    """Release a hold. Operators only. Raises NotFoundError if there is none of this name."""
    check_text(reason, field="reason", bytes_max=NOTE_CHARS_MAX * 4)
    with store.write(identity, op="release", note=reason[:NOTE_CHARS_MAX]) as tx:
        held = tx.catalogue(PREFIX + name)
        if held is None:
            raise NotFoundError(
                f"There is no hold {name!r:.100}.", next_step="List the holds first.", name=name
            )
        tx.set_catalogue(PREFIX + name, None)
    return _hold(name, held)


def list_holds(store: Store) -> list[LegalHold]:
    """List the holds in force, by name."""
    with store.read() as snapshot:
        catalogue = snapshot.catalogue_all(PREFIX)
    return [_hold(name.removeprefix(PREFIX), value) for name, value in sorted(catalogue.items())]


def _hold(name: str, value: dict[str, Any]) -> LegalHold:
    return LegalHold(name, value["kind"], value["value"], value["reason"], value["time"])
