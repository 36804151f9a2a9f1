"""Which statements may be run at the commit, because what they answer can be found without writing
(`core/preview.py`).

    MATCH (p:Person {id: $id}) SET p.seen = $now        yes
    UNWIND $rows AS r CREATE (:Event {at: r.at})        yes
    MERGE (p:Person {id: $id}) SET p.name = $name       yes
    MATCH (p:Person {id: $id}) SET p.n = 1 RETURN p     no: its rows would have to be found, too
    MATCH (p:Person) DETACH DELETE p                    no

They read first and then create and set, with values of the row alone, and return nothing.
"""

from __future__ import annotations

from doxa.cypher import tree as t
from doxa.query.exec.setting import is_pure

_READING = (t.Match, t.Unwind, t.With)
_UPDATING = (t.Create, t.Merge, t.Set, t.Remove)


def may_be_deferred(statement: t.Statement) -> bool:
    """Return whether what a statement answers can be found without writing."""
    body = statement.body
    if statement.mode is not None or not isinstance(body, t.Query) or len(body.branches) != 1:
        return False
    clauses = list(body.branches[0])
    while clauses and isinstance(clauses[0], _READING):
        del clauses[0]
    return bool(clauses) and all(map(_is_update_of_rows, clauses))


def _is_update_of_rows(clause: t.Clause) -> bool:
    return isinstance(clause, _UPDATING) and all(
        is_pure(part) for part in t.walk(clause) if isinstance(part, t.Expression)
    )
