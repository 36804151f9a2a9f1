"""Whether an error of the engine means that no space was left.

The engine has an error for a full disk. What stops a write in the same way, a quota or the largest
size that a file may have, is an error of the disk to it, and so is the small file next to the
database that takes 32 KiB before anything is read. The number of the system's own error tells them.
"""

from __future__ import annotations

import apsw

from doxa.base.errors import NO_SPACE


def is_out_of_space(error: BaseException | None, db: apsw.Connection | None) -> bool:
    """Return whether a write failed for want of space: on the disk, of a quota, or in the largest
    file. `db` is the connection that raised the error, if it is known."""
    if isinstance(error, apsw.FullError):
        return True
    if not isinstance(error, apsw.IOError):
        return False
    try:
        number = 0 if db is None else db.system_errno
    except apsw.Error:  # closed, or another thread uses it
        number = 0
    if number:
        return number in NO_SPACE
    return bool(getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE)
