"""The records of attachments.

    attachment       a receipt, named by the hash of the content: what the file was
    attachment_text  the text that was read from it
    attachment_use   one conversation that it appeared in, named by time

A receipt never changes. What was last observed of the file is in its notes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from doxa.agent.records.types import Check, RecordType
from doxa.base.errors import ConstraintError
from doxa.base.values import decode
from doxa.store import Node, Transaction

ATTACHMENT, TEXT, USE = "attachment", "attachment_text", "attachment_use"
_SHA256 = re.compile(r"[0-9a-f]{64}")


def receipt_name(sha256: str) -> str:
    """Return the name of the receipt of a content."""
    return f"att_{sha256[:16]}"


def _checked(says: Mapping[str, type]) -> Check:
    """What wants these fields of a record's data, so that its readers find them."""

    def check(tx: Transaction, before: Node | None, after: Node) -> None:
        data = decode(str(after.props["data"]))
        wrong = [name for name, kind in says.items() if not isinstance(data.get(name), kind)]
        if wrong:
            kref = str(after.props["kref"])
            raise ConstraintError(
                f"{kref} would say nothing of its {wrong[0]}.",
                next_step="Add the file with attachment_add.",
                kref=kref,
            )

    return check


_check_content = _checked({"kind": str, "mime": str, "bytes": int, "sha256": str})
_check_text = _checked({"cut": bool})
_check_use = _checked(dict.fromkeys(("attachment", "name", "path", "session", "thread"), str))


def _check_receipt(tx: Transaction, before: Node | None, after: Node) -> None:
    _check_content(tx, before, after)
    sha256 = decode(str(after.props["data"])).get("sha256")
    kref = str(after.props["kref"])
    named = kref.rpartition("/")[2].removesuffix(".record")
    if (
        not isinstance(sha256, str)
        or not _SHA256.fullmatch(sha256)
        or named != receipt_name(sha256)
    ):
        raise ConstraintError(
            f"{kref} would be a receipt that is not named by the hash of its content.",
            next_step="Add the file with attachment_add.",
            kref=kref,
        )


TYPES = (
    RecordType(ATTACHMENT, states={"received": "agent"}, noted_by="agent", check=_check_receipt),
    RecordType(TEXT, states={"read": "agent"}, check=_check_text),
    RecordType(USE, states={"noted": "agent"}, check=_check_use),
)
