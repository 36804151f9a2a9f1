"""Type names of Cypher, including those of queries only: nodes, relationships, paths, maps."""

from __future__ import annotations

from typing import Any

from doxa.base.errors import InputError
from doxa.base.value_types import PROPERTY_TYPES, TypeNames
from doxa.query.core.elements import Edge, Node, Path
from doxa.query.core.errors import fail, type_name

_NAMES = TypeNames(
    {
        **PROPERTY_TYPES,
        "NODE": (Node,),
        "VERTEX": (Node,),
        "RELATIONSHIP": (Edge,),
        "EDGE": (Edge,),
        "MAP": (dict,),
        "PATH": (Path,),
    }
)


# the order of a union, as Neo4j writes it
_UNION = (
    *("BOOLEAN", "STRING", "INTEGER", "FLOAT", "DATE", "LOCAL TIME", "ZONED TIME"),
    *("LOCAL DATETIME", "ZONED DATETIME", "DURATION", "POINT", "NODE", "RELATIONSHIP", "MAP"),
    *("LIST", "PATH", "NULL"),
)


def _place(name: str) -> tuple[int, str]:
    base = name.removesuffix(" NOT NULL").partition("<")[0]
    return (_UNION.index(base) if base in _UNION else len(_UNION)), name


def conforms(value: Any, name: str) -> bool:
    try:
        return _NAMES.conforms(value, name)
    except InputError as error:
        fail(error.message, kind="SyntaxError", detail="UnexpectedSyntax", hint=error.next_step)


def value_type(value: Any) -> str:
    """Implement valueType(): NOT NULL, and the union of item types for lists."""
    if value is None:
        return "NULL"
    if type(value) is not list:
        return f"{type_name(value)} NOT NULL"
    kinds = sorted({value_type(item) for item in value}, key=_place)
    if "NULL" in kinds and len(kinds) > 1:
        kinds = [kind.removesuffix(" NOT NULL") for kind in kinds if kind != "NULL"]
    return f"LIST<{' | '.join(kinds) or 'NOTHING'}> NOT NULL"
