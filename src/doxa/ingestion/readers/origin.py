"""Whether it is known where turns come from, so that the roles in them can be believed."""

from __future__ import annotations

from collections.abc import Callable

from doxa.base.errors import InputError, RoleError
from doxa.ingestion.readers.formats import OWN_FORMATS
from doxa.ingestion.readers.sources import ReadReport
from doxa.store import TRUST_DEFAULT, UNTRUSTED, Identity


def doubt(trust: str, report: ReadReport, is_file: bool, who: Identity) -> Callable[[], bool]:
    """Return what tells whether the origin of the turn that was read last is unknown. Messages are
    the caller's; of files, those that a product keeps of its own user are known."""
    if trust not in ("", TRUST_DEFAULT, UNTRUSTED):
        raise InputError(
            f"Turns are taken as stated or as untrusted, not as {trust[:40]!r}.",
            next_step="Give trust='stated' or trust='untrusted', or leave it out.",
            field="trust",
        )
    if trust == TRUST_DEFAULT and is_file and who.role == "agent":
        raise RoleError(
            "Only an operator vouches for the origin of a file.",
            next_step="Leave trust out, or ask the operator to import it.",
            role="agent",
            needed="operator",
        )
    if trust or not is_file:
        return lambda: trust == UNTRUSTED
    return lambda: report.format not in OWN_FORMATS
