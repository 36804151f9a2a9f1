"""doxa: one memory for AI agents that a person can trust.

with doxa.open("memory.db") as memory:
    memory.remember("We deploy on Thursdays", project="shop")
    memory.recall("when do we deploy?", project="shop")
"""

from doxa.app import AsyncMemory, AsyncSession, Config, History, Memory, Session
from doxa.app import open_memory as open
from doxa.base.errors import (
    BusyError,
    ClosedError,
    ConfirmationError,
    ConflictError,
    ConstraintError,
    CorruptError,
    DiskFullError,
    DoxaError,
    InputError,
    KrefError,
    LimitError,
    ModelError,
    NewerFileError,
    NotFoundError,
    ReadOnlyError,
    RoleError,
    StoreError,
)
from doxa.belief import (
    Bundle,
    Change,
    Conflict,
    Entry,
    Exchange,
    Explanation,
    Fact,
    Kref,
    Listing,
    Member,
    Place,
    Retracted,
    Revision,
    Step,
    TagMove,
    Walk,
    parse_kref,
    print_kref,
)

__version__ = "0.1.0"

__all__ = [
    "AsyncMemory",
    "AsyncSession",
    "Bundle",
    "BusyError",
    "Change",
    "ClosedError",
    "Config",
    "ConfirmationError",
    "Conflict",
    "ConflictError",
    "ConstraintError",
    "CorruptError",
    "DiskFullError",
    "DoxaError",
    "Entry",
    "Exchange",
    "Explanation",
    "Fact",
    "History",
    "InputError",
    "Kref",
    "KrefError",
    "LimitError",
    "Listing",
    "Member",
    "Memory",
    "ModelError",
    "NewerFileError",
    "NotFoundError",
    "Place",
    "ReadOnlyError",
    "Retracted",
    "Revision",
    "RoleError",
    "Session",
    "Step",
    "StoreError",
    "TagMove",
    "Walk",
    "open",
    "parse_kref",
    "print_kref",
]

_RENAMED = {"Lost": "Retracted"}


def __getattr__(name: str) -> object:
    """Names of the release before, for one release more."""
    if name in _RENAMED:
        import warnings

        new = _RENAMED[name]
        warnings.warn(
            f"doxa.{name} is now doxa.{new}; the old name goes in the next release.",
            DeprecationWarning,
            stacklevel=2,
        )
        return globals()[new]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
