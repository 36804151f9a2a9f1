"""How far a memory is trusted, from what is stored of it.

    a label in `trust`                      that label; an unknown one counts as untrusted
    a turn of the role tool or system       untrusted: web pages, tool results, injected text
    a person's turn without a name, or
    whose name hides letters of another
    alphabet ("Аna" with a Cyrillic А)      untrusted: nobody knows who that is
    everything else                         stated: the user, a named person, an assistant

Search rows hold it, so that recall can filter by it. Ingestion writes the label of an untrusted
turn into the node: also of named people in a thread in which the user speaks, where they are
others, and of what came from a file of unknown origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doxa.base.lookalikes import has_lookalike

UNTRUSTED = "untrusted"
# stored by rank; a later one is trusted more
TRUSTS = (UNTRUSTED, "inferred", "candidate", "stated", "verified")
TRUST_DEFAULT = "stated"

_FOREIGN_ROLES = ("tool", "system")
_UNNAMED = ("", "person", None)  # a message without a speaker is stored under its role


def trust_of(props: Mapping[str, Any]) -> str:
    """Return the trust label of a belief or a turn, by the properties of its node."""
    given = props.get("trust")
    if given is not None:
        return str(given) if given in TRUSTS else UNTRUSTED
    role = props.get("role")
    if role in _FOREIGN_ROLES:
        return UNTRUSTED
    if role == "person":
        speaker = props.get("speaker")
        if speaker in _UNNAMED or has_lookalike(str(speaker)):
            return UNTRUSTED
    return TRUST_DEFAULT
