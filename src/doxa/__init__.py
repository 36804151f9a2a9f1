"""doxa: one memory for AI agents that a person can trust.

with doxa.open("memory.db") as memory:
    memory.remember("We deploy on Thursdays", project="shop")
    memory.recall("when do we deploy?", project="shop")

Names are imported when they are first used, so that a command which needs none of them starts at
once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        UnreachableError,
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
    "UnreachableError",
    "Walk",
    "open",
    "parse_kref",
    "print_kref",
]

_RENAMED = {"Lost": "Retracted"}
_PACKAGES = {
    "doxa.app": "AsyncMemory AsyncSession Config History Memory Session",
    "doxa.base.errors": (
        "BusyError ClosedError ConfirmationError ConflictError ConstraintError "
        "CorruptError DiskFullError DoxaError InputError KrefError LimitError ModelError "
        "NewerFileError NotFoundError ReadOnlyError RoleError StoreError UnreachableError"
    ),
    "doxa.belief": (
        "Bundle Change Conflict Entry Exchange Explanation Fact Kref Listing Member Place "
        "Retracted Revision Step TagMove Walk parse_kref print_kref"
    ),
}
_PACKAGE_OF = {name: package for package, names in _PACKAGES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Import a public name at its first use. Names of the release before are known for one release
    more."""
    if name in _RENAMED:
        import warnings

        new = _RENAMED[name]
        warnings.warn(
            f"doxa.{name} is now doxa.{new}; the old name goes in the next release.",
            DeprecationWarning,
            stacklevel=2,
        )
        return __getattr__(new)
    if name == "open":
        found: object = import_module("doxa.app").open_memory
    elif name in _PACKAGE_OF:
        found = getattr(import_module(_PACKAGE_OF[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(globals().keys() | set(__all__))
