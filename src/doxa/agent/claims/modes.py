"""The switch of claims, and the folders in which their sources may lie. Both are in the catalogue,
which operators alone write; `doxa operator plan modes` is the way.

    observe      claims are kept as candidates (the default)
    diagnostic   there are reports of them
    enforce      an operator may accept them, and accepted ones may be given to a prompt
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from doxa.base.errors import InputError
from doxa.belief.kref import check_name
from doxa.store import Reader, Transaction

Mode = Literal["observe", "diagnostic", "enforce"]
MODES: tuple[Mode, ...] = get_args(Mode)
MODE, ROOTS = "claims:mode", "claims:roots"


def mode_of(reader: Reader) -> Mode:
    """Return how the switch stands."""
    held = reader.catalogue(MODE)
    return next((one for one in MODES if one == held), "observe")


def roots_of(reader: Reader) -> dict[str, str]:
    """Return the declared folders by name."""
    return dict(reader.catalogue(ROOTS) or {})


def set_modes(tx: Transaction, given: Mapping[str, str]) -> None:
    """Set `claims.mode`, or `claims.roots.NAME` to a folder; an empty value takes it away. The
    store asks for an operator. Raises InputError for anything else."""
    roots = roots_of(tx)
    for key, value in given.items():
        name = key.removeprefix("claims.roots.")
        if key == "claims.mode" and (value in MODES or not value):
            tx.set_catalogue(MODE, value or None)
        elif name != key and not value:
            roots.pop(name, None)
        elif name != key and Path(value).is_absolute() and Path(value).is_dir():
            roots[check_name(name, what="root")] = str(Path(value).resolve())
        else:
            raise InputError(
                f"{key[:80]} cannot be {value[:80]!r}.",
                next_step=(
                    f"Set claims.mode to {', '.join(MODES)}, or claims.roots.NAME to the absolute"
                    " path of a folder."
                ),
                field="set",
            )
    if roots != roots_of(tx):
        tx.set_catalogue(ROOTS, roots or None)
