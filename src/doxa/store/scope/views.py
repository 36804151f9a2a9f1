"""The tables of a file as a session that is bound to projects reads them.

    main.node ──► temp view node: the rows of these projects     any statement that names a table
    main.edge ──► temp view edge: both ends in them              without a schema reads its view

SQLite looks a name up in the temporary schema first. A connection that has these views therefore
reads through them whatever statement it runs, those of packages above and those not yet written
too; what the store itself reads and writes as a whole, it names `main.…`. A write that does not is
refused, since nobody can write to a view. A connection without views reads the tables as ever: for
sessions that are not bound nothing changes, not even a plan.

A row belongs to a project by `node.project` and `edge.project` (apply.py); rows derived from
elements follow these. `doxa_scope.whole` is 1 while a transaction checks what must hold for the
whole file (`seeing_all`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import apsw

from doxa.store.scope.binding import PROJECT_RULES, WHOLE_ENTRIES

_WHOLE = "(SELECT whole FROM temp.doxa_scope)"


def install(db: apsw.Connection, projects: Sequence[str]) -> None:
    """Give a connection the views of these projects."""
    db.execute("CREATE TEMP TABLE doxa_scope(whole INTEGER NOT NULL)")
    db.execute("INSERT INTO temp.doxa_scope VALUES(0)")
    for name, body in views(projects):
        db.execute(f"CREATE TEMP VIEW {name} AS {body}")


@contextmanager
def seeing_all(db: apsw.Connection) -> Iterator[None]:
    """Let the statements of a connection with views read the whole file in the block."""
    db.execute("UPDATE temp.doxa_scope SET whole = 1")
    try:
        yield
    finally:
        db.execute("UPDATE temp.doxa_scope SET whole = 0")


def views(projects: Sequence[str]) -> list[tuple[str, str]]:
    """Return the name and the body of each view, in an order in which they can be made."""
    names = "(" + ", ".join(_literal(name) for name in projects) + ")"
    scopes = "(" + ", ".join(_literal("scope:" + name) for name in projects) + ")"
    rules = [f"{kind}:" for kind in PROJECT_RULES]
    own = ", ".join(_literal(kind + name) for kind in rules for name in projects)
    mine = f"project IN {names}"
    tokens = f"(SELECT id FROM main.token WHERE text IN {scopes})"
    return [
        ("node", f"SELECT * FROM main.node WHERE {_WHOLE} OR {mine}"),
        ("node_past", f"SELECT * FROM main.node_past WHERE {_WHOLE} OR {mine}"),
        ("edge", _edges("edge", mine, names, many=len(projects) > 1)),
        ("edge_past", _edges("edge_past", mine, names, many=len(projects) > 1)),
        (
            "node_label",
            f"SELECT l.label, l.node FROM main.node_label l WHERE {_WHOLE} OR EXISTS (SELECT 1"
            f" FROM main.node n WHERE n.id = l.node AND n.{mine})",
        ),
        ("entry", _entries("entry", "e.element IN (SELECT id FROM temp.{0} WHERE id = e.element)")),
        (
            "entry_past",
            _entries(
                "entry_past",
                "e.element IN (SELECT id FROM temp.{0} WHERE id = e.element UNION ALL SELECT id"
                " FROM temp.{0}_past WHERE id = e.element)",
            ),
        ),
        (
            "access",
            "SELECT a.* FROM main.access a WHERE CASE WHEN a.edge THEN a.element IN (SELECT id"
            " FROM temp.edge WHERE id = a.element) ELSE a.element IN (SELECT id FROM temp.node"
            " WHERE id = a.element) END",
        ),
        ("idempotency_key", "SELECT * FROM main.idempotency_key WHERE 0"),  # read by key alone
        *_log(),
        *_search(mine, tokens, scopes),
        (
            "catalogue",
            f"SELECT * FROM main.catalogue WHERE {_WHOLE} OR NOT ("
            + " OR ".join(f"name LIKE '{kind}%'" for kind in rules)
            + f" OR name IN ({', '.join(map(_literal, WHOLE_ENTRIES))})) OR name IN ({own})",
        ),
    ]


def _edges(table: str, mine: str, names: str, *, many: bool) -> str:
    """An edge carries the project of its ends if both lie in one; of several projects of a session
    it may join two."""
    found = f"SELECT * FROM main.{table} WHERE {_WHOLE} OR {mine}"
    if not many:
        return found
    past = (
        f" UNION ALL SELECT id FROM main.node_past WHERE id = {table}.{{0}} AND {mine}"
        if table == "edge_past"
        else ""
    )
    ends = (
        f"{table}.{end} IN (SELECT id FROM main.node WHERE id = {table}.{end} AND {mine}"
        f"{past.format(end)})"
        for end in ("src", "dst")
    )
    return f"{found} OR (project IS NULL AND {' AND '.join(ends)})"


def _entries(table: str, test: str) -> str:
    """The entries of indexes, by what each index is about."""
    of_edges = (
        "e.idx IN (SELECT value ->> '$.id' FROM main.catalogue WHERE name >= 'index:' AND name <"
        " 'index;' AND value ->> '$.edge')"
    )
    return (
        f"SELECT e.* FROM main.{table} e WHERE {_WHOLE} OR CASE WHEN {of_edges} THEN"
        f" {test.format('edge')} ELSE {test.format('node')} END"
    )


def _log() -> list[tuple[str, str]]:
    """Entries about elements of these projects, and the receipts that cover any. What a receipt
    says of a change that touched more than these projects is not theirs."""
    element = (
        "l.element IN (SELECT id FROM temp.{0} WHERE id = l.element UNION ALL SELECT id FROM"
        " temp.{0}_past WHERE id = l.element)"
    )
    other = (
        "EXISTS (SELECT 1 FROM main.log o WHERE o.seq BETWEEN r.first_seq AND r.last_seq AND"
        " o.seq NOT IN (SELECT l.seq FROM temp.log l WHERE l.seq = o.seq))"
    )
    return [
        (
            "log",
            f"SELECT l.* FROM main.log l WHERE {_WHOLE} OR CASE substr(l.op, 1, 5) WHEN 'node.'"
            f" THEN {element.format('node')} WHEN 'edge.' THEN {element.format('edge')} END",
        ),
        (
            "log_payload",
            f"SELECT p.* FROM main.log_payload p WHERE {_WHOLE} OR p.seq IN (SELECT l.seq FROM"
            " temp.log l WHERE l.seq = p.seq)",
        ),
        (
            "receipt",
            f"SELECT r.tx, r.time, r.actor, r.role, r.op, CASE WHEN {other} THEN '' ELSE r.note"
            " END AS note, r.first_seq, r.last_seq, r.last_node, r.last_edge, r.head, r.hash FROM"
            f" main.receipt r WHERE {_WHOLE} OR EXISTS (SELECT 1 FROM temp.log l WHERE l.seq"
            " BETWEEN r.first_seq AND r.last_seq)",
        ),
    ]


def _search(mine: str, tokens: str, scopes: str) -> list[tuple[str, str]]:
    """Search rows, their words and vectors lie apart by project; a row whose node went (a negative
    number) has no content."""
    found = [
        (
            "doc",
            f"SELECT d.* FROM main.doc d WHERE {_WHOLE} OR (d.scope IN {tokens} AND (d.node < 0 OR"
            f" EXISTS (SELECT 1 FROM main.node n WHERE n.id = d.node AND n.{mine})))",
        ),
        (
            "token",
            f"SELECT * FROM main.token WHERE {_WHOLE} OR substr(text, 1, 6) <> 'scope:' OR text IN"
            f" {scopes}",
        ),
    ]
    for table in (
        "posting",
        "posting_new",
        "atom",
        "vector",
        "vector_code",
        "vector_next",
        "vector_code_next",
        "vector_next_due",
    ):
        found.append((table, f"SELECT * FROM main.{table} WHERE {_WHOLE} OR scope IN {tokens}"))
    # a block holds rows of a project that may be about nodes of another: they are read one by one
    for table in ("block_state", "doc_block", "vector_code_block"):
        found.append((table, f"SELECT * FROM main.{table} WHERE {_WHOLE}"))
    return found


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
