"""The names of databases, which are names of files too.

Source: Neo4j's operations manual, "Administering databases", rules for database names.
"""

from __future__ import annotations

import re

from doxa.base.errors import InputError

SUFFIX = ".db"
_NAME = re.compile(r"[a-z](?:[a-z0-9.-]{1,61}[a-z0-9])")
_RESERVED = frozenset(("system", "neo4j"))  # names that tools have for the default database


def check_database_name(name: str) -> str:
    """Return a name in lower case. Raises InputError if no database can have it."""
    found = name.lower() if isinstance(name, str) and name.isascii() else ""
    if _NAME.fullmatch(found) is None or ".." in found:
        raise InputError(
            f"{str(name)[:80]!r} is not a name for a database.",
            next_step="Use 3 to 63 ASCII letters, digits, dots and dashes, a letter first.",
            field="database",
        )
    if found in _RESERVED:
        raise InputError(
            f"The name {found} is reserved: clients mean their default database by it.",
            next_step="Use another name.",
            field="database",
        )
    return found
