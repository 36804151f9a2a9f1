"""Where conversations lie: the space that they are in unless another is named, and the address of a
thread."""

from __future__ import annotations

import hashlib

from doxa.belief import Kref, check_name, name_from

CONVERSATIONS = "conversations"


def thread_kref(place: Kref, name: str) -> Kref:
    """Return the address of a thread: its name, or what is readable of it and a digest."""
    readable = name_from(name)
    if readable != name:
        digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=4).hexdigest()
        readable = f"{readable or 'thread'}-{digest}"
    return Kref(place.project, place.spaces, check_name(readable, what="thread"), "thread")
