"""The column of the project: what fills it, what follows it, and files from before it."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from doxa.base.errors import ConstraintError, RoleError
from doxa.base.ids import NodeId
from doxa.store import Identity, Store, Transaction, check, digest, replayed_digest
from doxa.store.scope.bound_store import BoundStore
from doxa.store.scope.views import views

_ANA = Identity("ana", "operator")
_TABLES = ("node", "edge", "node_past", "edge_past")


def _filled(store: Store) -> None:
    """Nodes and edges of two projects and of none, with versions that are past."""
    with store.write(_ANA, op="test") as tx:
        ids = [
            tx.create_node(["A"], {"kref": f"kref://{name}", "n": 1})
            for name in ("p/x.a", "p?r=1", "q", "q/y/z.b")
        ]
        free = tx.create_node(["B"], {"project": "p"})
        for src, dst in ((ids[0], ids[1]), (ids[1], ids[2]), (ids[2], ids[3]), (ids[0], free)):
            tx.create_edge("R", src, dst=dst, props={"n": 1})
    with store.write(_ANA, op="test") as tx:
        tx.set_node(NodeId(1), {"kref": "kref://p/x.a", "n": 2})
        for edge in tx.edges_in(NodeId(2)) + tx.edges_in(NodeId(3)):
            tx.set_edge(edge.id, {"n": 2})


def _projects(path: Path) -> list[object]:
    raw = apsw.Connection(str(path))
    found: list[object] = [
        raw.execute(f"SELECT id, since, project FROM {table} ORDER BY 1, 2").fetchall()
        for table in _TABLES
    ]
    raw.close()
    return found


def test_nodes_lie_where_their_address_says_and_edges_where_both_ends_lie(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        _filled(store)
        with store.read() as reader:
            nodes = reader.rows("SELECT project FROM node ORDER BY id")
            edges = reader.rows("SELECT project FROM edge ORDER BY id")
        assert [row[0] for row in nodes] == ["p", "p", "q", "q", None]
        assert [row[0] for row in edges] == ["p", None, "q", None]
        assert digest(store) == replayed_digest(store)


def test_a_file_of_the_format_before_is_filled(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        _filled(store)
        before = digest(store)
    wanted = _projects(path)
    raw = apsw.Connection(str(path))
    for table in _TABLES:
        raw.execute(f"ALTER TABLE {table} DROP COLUMN project")
    raw.execute("DELETE FROM migration WHERE name = '0008-projects'; PRAGMA user_version = 7")
    raw.close()
    with Store(path) as store:
        assert digest(store) == before == replayed_digest(store)
        assert check(store) == []
    assert _projects(path) == wanted


def test_a_node_that_is_given_an_address_moves_with_its_edges(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        _filled(store)
        with store.write(_ANA, op="test") as tx:
            tx.set_node(NodeId(5), {"kref": "kref://p/free.a"})
        with store.read() as reader:
            assert reader.rows("SELECT project FROM node WHERE id = 5") == [("p",)]
            assert reader.rows("SELECT project FROM edge ORDER BY id DESC LIMIT 1") == [("p",)]
        assert digest(store) == replayed_digest(store)


def test_a_node_of_a_bound_session_keeps_its_project_when_it_is_restored(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        bound = BoundStore(store, ["p"])
        with bound.write(_ANA, op="test") as tx:
            made = tx.create_node(["B"], {})
        with store.write(_ANA, op="test") as tx:
            tx.delete_node(made)
        with store.write(_ANA, op="test") as tx:
            tx.restore_node(made, ["B"], props={})
        with bound.read() as reader:
            assert reader.node(made) is not None
        bound.close()
        assert digest(store) == replayed_digest(store)


def test_a_bound_transaction_reaches_nothing_else(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        _filled(store)
        bound = BoundStore(store, ["p"])
        with bound.write(_ANA, op="test") as tx:
            assert tx.node(NodeId(3)) is None
            assert tx.node_by_kref("kref://q") is None
            assert [edge.dst for edge in tx.edges_out(NodeId(2))] == []
            for kref in ("kref://q/new.a", "kref://q", "not an address"):
                with pytest.raises(RoleError, match="bound to the project p"):
                    tx.create_node(["A"], {"kref": kref})
            with pytest.raises(RoleError):
                tx.set_catalogue("index:x", None)
            tx.set_catalogue("constraints:p", {})
            with pytest.raises(RoleError):
                tx.set_catalogue("constraints:q", {})
        bound.close()


def test_what_is_refused_for_the_sake_of_others_does_not_name_them(tmp_path: Path) -> None:
    named = "kref://q/secret.fact"

    def check_before_commit(tx: Transaction) -> None:
        raise ConstraintError(f"{named} depends on it.", next_step="Ask.", kref=named)

    with Store(tmp_path / "a.db", check_before_commit=check_before_commit) as store:
        with store.write(Identity("doxa", "system"), op="test") as tx:
            tx.set_catalogue("support", ["RESTS"])
        bound = BoundStore(store, ["p"])
        for found, wanted in ((store, ConstraintError), (bound, RoleError)):
            with pytest.raises(wanted) as caught, found.write(_ANA, op="test") as tx:
                one = tx.create_node(["A"], {})
                tx.create_edge("RESTS", one, dst=one)
            assert ("secret" in repr(caught.value.as_dict())) is (found is store)
        bound.close()


def test_every_table_with_content_has_a_view(tmp_path: Path) -> None:
    """A table that is added to the schema is seen by bound sessions unless a view hides it."""
    with Store(tmp_path / "a.db") as store, store.read() as reader:
        tables = {
            row[0]
            for row in reader.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
            if not row[0].startswith("sqlite_")
        }
    unseen = {"meta", "migration", "cursor"}  # of the file, without content of anybody
    assert tables - unseen == {name for name, _ in views(["p"])}
