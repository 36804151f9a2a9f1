"""Every error that doxa raises, in one tree. Each interface maps it in one place.

    DoxaError
    ├── InputError            an argument cannot be used (field, position)
    │   ├── KrefError         an address does not follow the kref grammar
    │   └── LimitError        a value exceeds a named limit
    ├── NotFoundError         the address is well formed, but nothing exists there
    ├── ConflictError         the state changed since the caller read it (compare-and-set, undo)
    ├── ConstraintError       a schema rule rejects the write
    ├── RoleError             the session's role may not do this
    ├── ConfirmationError     a preview must be confirmed first
    ├── ModelError            an embedder, language model or reranker is missing or failed
    └── StoreError            the file or the engine
        ├── ClosedError       used after close
        ├── NewerFileError    written by a newer doxa
        ├── CorruptError      the file or its log does not verify
        ├── ReadOnlyError     the file or folder cannot be written
        ├── DiskFullError     no space left
        ├── BusyError         another writer held the file longer than the limit
        └── UnreachableError  the shared log, or Redis, does not answer

`message` says what happened and to what. `next_step` says what to do, and never suggests a
destructive command, because agents follow it.
"""

from __future__ import annotations

import errno

# the system's numbers for a write that found no space: on the disk, of a quota, in the largest file
NO_SPACE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


class DoxaError(Exception):
    """Base class. `fields` holds the values that a program needs; `next_step` is advice for the
    reader, human or agent."""

    code = "error"

    def __init__(self, message: str, *, next_step: str, **fields: object) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.fields = fields

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".strip()

    def as_dict(self) -> dict[str, object]:
        """Return the object that every interface sends: code, message, next_step, fields."""
        return {
            "code": self.code,
            "message": self.message,
            "next_step": self.next_step,
            "fields": dict(self.fields),
        }


class InputError(DoxaError):
    code = "input"


class KrefError(InputError):
    code = "kref"


class LimitError(InputError):
    code = "limit"


class NotFoundError(DoxaError):
    code = "not_found"


class ConflictError(DoxaError):
    code = "conflict"


class ConstraintError(DoxaError):
    code = "constraint"


class RoleError(DoxaError):
    code = "role"


class ConfirmationError(DoxaError):
    code = "confirmation"


class ModelError(DoxaError):
    code = "model"


class StoreError(DoxaError):
    code = "store"


class ClosedError(StoreError):
    code = "closed"


class NewerFileError(StoreError):
    code = "newer_file"


class CorruptError(StoreError):
    code = "corrupt"


class ReadOnlyError(StoreError):
    code = "read_only"


class DiskFullError(StoreError):
    code = "disk_full"


class BusyError(StoreError):
    code = "busy"


class UnreachableError(StoreError):
    code = "unreachable"
