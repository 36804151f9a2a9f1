"""Which statements may be run at the commit, because what they answer can be found without writing
(`core/preview.py`).

    MATCH (p:Person {id: $id}) SET p.seen = $now        yes
    UNWIND $rows AS r CREATE (:Event {at: r.at})        yes
    MERGE (p:Person {id: $id}) SET p.name = $name       yes
    MATCH (p:Person {id: $id}) SET p.n = 1 RETURN p     no: its rows would have to be found, too
    MATCH (p:Person) DETACH DELETE p                    no
    MATCH (p:Person) WHERE rand() < 0.1 SET p.n = 1     no: it finds others each time

They read first and then create and set, with values of the row alone, and return nothing. What the
first of these does is known from the number of its rows alone, which takes one short read.
"""

from __future__ import annotations

from typing import NamedTuple

from doxa.cypher import tree as t
from doxa.query.exec.setting import is_pure

_READING = (t.Match, t.Unwind, t.With)
_UPDATING = (t.Create, t.Merge, t.Set, t.Remove)
_CLOCKS = (".realtime", ".statement", ".transaction")


def may_be_deferred(statement: t.Statement) -> bool:
    """Return whether what a statement answers can be found without writing."""
    body = statement.body
    if statement.mode is not None or not isinstance(body, t.Query) or len(body.branches) != 1:
        return False
    clauses = list(body.branches[0])
    while clauses and isinstance(clauses[0], _READING):
        if not _is_repeatable(clauses.pop(0)):
            return False
    return bool(clauses) and all(map(_is_update_of_rows, clauses))


def _is_repeatable(clause: t.Clause) -> bool:
    """Return whether a clause finds the same again in the same graph. What is asked without an
    argument is chance or the time: `rand()`, `timestamp()`, `date()`."""
    return not any(
        isinstance(part, t.Call)
        and not part.star
        and (not part.args or part.name.lower().endswith(_CLOCKS))
        for part in t.walk(clause)
    )


def _is_update_of_rows(clause: t.Clause) -> bool:
    return isinstance(clause, _UPDATING) and all(
        is_pure(part) for part in t.walk(clause) if isinstance(part, t.Expression)
    )


class SetOfRows(NamedTuple):
    """A SET of parameters and constants on nodes that a MATCH finds: it sets as many properties as
    `rows` counts, for each of `values`, unless one of these is null."""

    rows: t.Statement  # MATCH … RETURN count(*)
    parameters: frozenset[str]  # of `rows`
    values: tuple[tuple[str, t.Literal | t.ParameterRef], ...]  # property, value


def set_of_rows(statement: t.Statement) -> SetOfRows | None:
    """Return how to count what a statement that may be deferred sets, if its rows say it."""
    body = statement.body
    assert isinstance(body, t.Query), "it may be deferred"
    *reads, change = body.branches[0]
    if not isinstance(change, t.Set) or not all(
        isinstance(one, t.Match) and not one.optional for one in reads
    ):
        return None
    found = [part for one in reads for part in t.walk(one)]
    nodes = {part.variable for part in found if isinstance(part, t.NodePattern)}
    values = []
    for item in change.changes:
        match item:
            case t.SetProperty(
                t.Property(t.Variable(variable), name),
                t.Literal() | t.ParameterRef() as value,
            ) if variable in nodes:
                values.append((name, value))
            case _:
                return None
    count = t.Item(t.Call("count", (), star=True), "rows", named=True)
    rows = t.Query(((*reads, t.Return(t.Projection((count,)))),))
    parameters = frozenset(part.name for part in found if isinstance(part, t.ParameterRef))
    return SetOfRows(t.Statement(rows), parameters, tuple(values))
