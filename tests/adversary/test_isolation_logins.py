"""Logins bound to projects and databases, over Bolt and HTTP, and the names of databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.base.errors import ConflictError, DoxaError, InputError, NotFoundError
from doxa.servers.bolt import running_server as running_bolt
from doxa.servers.credentials import Credentials, Principal
from doxa.servers.databases.folder import DatabaseFolder
from doxa.servers.databases.names import check_database_name
from doxa.servers.databases.service import FolderService
from doxa.servers.databases.statements import administration, used
from doxa.servers.http.server import running_server as running_http
from tests.http.http_fixtures import Client, basic
from tests.servers.bolt_fixtures import ALL, FAILURE, SUCCESS, Peer

_SECRET = "a-good-secret"
_CANARY = "zanzibar"
_LOGINS: dict[str, dict[str, Any]] = {
    "root": {"role": "operator"},
    "ana": {"projects": ["mine"]},
    "bob": {"projects": ["theirs"], "role": "operator"},
    "cid": {"databases": ["sales"]},
    "dee": {"databases": ["doxa"], "projects": ["mine"]},
}


@pytest.fixture
def users(tmp_path: Path) -> Credentials:
    found = Credentials(tmp_path / "users.json")
    for name, limits in _LOGINS.items():
        found.add(name, _SECRET, **limits)
    return found


@pytest.fixture
def service(tmp_path: Path) -> Iterator[FolderService]:
    def opened(path: Path) -> doxa.Memory:
        return doxa.open(path, role="operator", background=False, embedder=None)

    folder = DatabaseFolder(tmp_path / "data", opened)
    folder.create("sales")
    yield FolderService(folder)
    folder.close()


def _auth(name: str) -> dict[str, str]:
    return {"scheme": "basic", "principal": name, "credentials": _SECRET}


def _bolt(port: int, name: str) -> Peer:
    return Peer(port).login(_auth(name))


def _refused(peer: Peer, text: str, **extra: Any) -> dict[str, Any]:
    tag, about = peer.ask("RUN", text, {}, extra)
    assert tag == FAILURE, about
    assert peer.ask("RESET")[0] == SUCCESS
    return dict(about)


def test_a_login_over_bolt_sees_its_projects_and_writes_there(
    service: FolderService, users: Credentials
) -> None:
    with running_bolt(service, users, port=0) as server:
        with _bolt(server.port, "bob") as bob:
            bob.rows(f"CREATE (:{_CANARY} {{{_CANARY}: 1}})-[:{_CANARY}]->(:Person {{name: 'b'}})")
            bob.rows(f"CALL doxa.remember('The office of {_CANARY} is in Bern')")
        with _bolt(server.port, "ana") as ana:
            assert ana.rows("MATCH (n) RETURN n") == []
            ana.rows("CREATE (:Person {name: 'a'})")
            assert ana.rows("MATCH (n) RETURN labels(n), n.name") == [[["Person"], "a"]]
            assert ana.rows("CALL db.labels()") == [["Person"]]
            assert ana.rows("CALL db.relationshipTypes()") == []
            assert ana.rows("CALL doxa.recall('office Bern', {project: '*'})") == []
            assert _CANARY not in repr(ana.rows("CALL doxa.log()"))
            refused = _refused(ana, "CREATE INDEX x FOR (n:Person) ON (n.name)")
            assert "RoleError" in repr(refused) or "Forbidden" in repr(refused)
        with _bolt(server.port, "root") as root:
            assert len(root.rows("MATCH (n) RETURN n")) > 3


def test_a_bookmark_counts_what_the_login_sees(service: FolderService, users: Credentials) -> None:
    root, ana = (
        Principal(name, "agent", tuple(_LOGINS[name].get("projects", ())))
        for name in ("root", "ana")
    )
    with running_bolt(service, users, port=0) as server, _bolt(server.port, "bob") as bob:
        bob.rows("CREATE (:A)")
    assert service.last_transaction(root, "doxa") > 0
    assert service.last_transaction(ana, "doxa") == 0


_WRITES = ("CREATE (:S)", "USE sales CREATE (:S)", "CREATE INDEX x FOR (n:S) ON (n.x)")


def test_what_is_sent_to_read_does_not_write_in_any_database(
    service: FolderService, users: Credentials
) -> None:
    with running_bolt(service, users, port=0) as server, _bolt(server.port, "root") as root:
        for database in ("doxa", "sales"):
            for text in _WRITES:
                refused = _refused(root, text, mode="r", db=database)
                assert refused["neo4j_code"] == "Neo.ClientError.Statement.AccessMode"
            assert (
                "only reads"
                in _refused(root, "CREATE DATABASE x", mode="r", db=database)["message"]
            )
            assert root.rows("MATCH (n) RETURN count(n)", mode="r", db=database) == [[0]]
        root.rows("CREATE (:S)", db="sales")
        assert root.rows("USE sales MATCH (n:S) RETURN count(n)", mode="r") == [[1]]
    with running_http(service, users, port=0) as web, Client(web.port) as client:
        for database in ("doxa", "sales"):
            for text in _WRITES:
                told = client.ask(
                    "POST",
                    f"/db/{database}/query/v2",
                    {"statement": text, "accessMode": "READ"},
                    basic("root", _SECRET),
                )
                assert (told.status, told.code) == (403, "Neo.ClientError.Statement.AccessMode")


def test_a_login_over_http_sees_its_projects_and_databases(
    service: FolderService, users: Credentials
) -> None:
    with running_http(service, users, port=0) as server, Client(server.port) as client:
        as_bob, as_ana, as_cid = (basic(name, _SECRET) for name in ("bob", "ana", "cid"))
        assert client.query(f"CREATE (:{_CANARY})", headers=as_bob).status == 202
        assert client.query("MATCH (n) RETURN n", headers=as_ana).values == []
        assert client.ask("GET", "/", headers=as_cid).json["databases"] == ["sales"]
        other, none = (
            client.ask("POST", f"/db/{name}/query/v2", {"statement": "RETURN 1"}, as_cid)
            for name in ("doxa", "nowhere")
        )
        assert other.status == none.status == 404
        assert repr(other.json).replace("doxa", "nowhere") == repr(none.json)
        own = client.ask("POST", "/db/sales/query/v2", {"statement": "CREATE (:S)"}, as_cid)
        assert own.status == 202


def test_a_parameter_names_the_database_over_http_or_the_request_is_refused(
    service: FolderService, users: Credentials
) -> None:
    body = {"statement": "MATCH (n) RETURN count(n)"}
    with running_http(service, users, port=0) as server, Client(server.port) as client:
        as_root, as_cid = basic("root", _SECRET), basic("cid", _SECRET)
        client.ask("POST", "/db/sales/query/v2", {"statement": "CREATE (:S)"}, as_root)

        def ask(path: str, login: Any = as_root) -> tuple[int, Any]:
            told = client.ask("POST", path, body, login)
            return told.status, (told.json.get("data") or {}).get("values")

        assert ask("/db/neo4j/query/v2?database=sales") == (202, [[1]])
        assert ask("/db/sales/query/v2?database=SALES") == (202, [[1]])
        assert ask("/db/neo4j/query/v2?database=doxa") == (202, [[0]])
        for wrong in (
            "doxa/query/v2?database=sales",
            "neo4j/query/v2?database=sales&database=doxa",
        ):
            assert ask(f"/db/{wrong}")[0] == 400
        assert ask("/db/neo4j/query/v2?database=")[0] == 400
        assert ask("/db/neo4j/query/v2?database=doxa", as_cid)[0] == 404
        assert ask("/db/neo4j/query/v2?database=nowhere", as_cid)[0] == 404
        commit = {"statements": [body]}
        told = client.ask("POST", "/db/neo4j/tx/commit?database=sales", commit, as_root)
        assert told.json["results"][0]["data"][0]["row"] == [1]


def test_a_url_names_the_database_of_sessions_that_name_none(
    service: FolderService, users: Credentials
) -> None:
    def connected(port: int, login: str, database: str) -> Peer:
        peer = Peer(port)
        routing = {"address": "localhost", "database": database}
        assert peer.ask("HELLO", {"user_agent": "test/1", "routing": routing})[0] == SUCCESS
        assert peer.ask("LOGON", _auth(login))[0] == SUCCESS
        return peer

    with running_bolt(service, users, port=0) as server:
        with connected(server.port, "root", "sales") as peer:
            peer.rows("CREATE (:S)")
            assert peer.rows("MATCH (n) RETURN count(n)") == [[1]]
            assert peer.rows("MATCH (n) RETURN count(n)", db="doxa") == [[0]]
        with connected(server.port, "cid", "doxa") as peer:
            assert "Unknown database" in _refused(peer, "RETURN 1")["message"]


def test_databases_share_nothing_and_use_moves_a_statement(
    service: FolderService, users: Credentials
) -> None:
    with running_bolt(service, users, port=0) as server:
        with _bolt(server.port, "root") as root:
            root.rows("CREATE DATABASE teams IF NOT EXISTS")
            root.rows("CREATE DATABASE teams IF NOT EXISTS", db="system")
            root.rows(f"CREATE (:{_CANARY})", db="teams")
            assert root.rows("MATCH (n) RETURN n") == []
            assert len(root.rows("USE teams MATCH (n) RETURN n")) == 1
            assert len(root.rows("// where\n  use `teams` MATCH (n) RETURN n", db="sales")) == 1
            names = [row[0] for row in root.rows("SHOW DATABASES")]
            assert names == ["doxa", "sales", "teams"]
            assert root.rows(
                "SHOW DATABASES YIELD name WHERE name STARTS WITH 't' RETURN name"
            ) == [["teams"]]
            assert root.rows("SHOW DATABASE sales YIELD name") == [["sales"]]
        with _bolt(server.port, "cid") as cid:
            assert [row[0] for row in cid.rows("SHOW DATABASES")] == ["sales"]
            for text in (
                "USE teams MATCH (n) RETURN n",
                "USE doxa RETURN 1",
                "CREATE DATABASE mine",
                "DROP DATABASE teams",
            ):
                assert _refused(cid, text)
            refused = _refused(cid, "RETURN 1", db="teams")
            unknown = _refused(cid, "RETURN 1", db="never")
            assert repr(refused).replace("teams", "never") == repr(unknown)


def test_a_transaction_stays_on_its_database(service: FolderService, users: Credentials) -> None:
    with running_bolt(service, users, port=0) as server, _bolt(server.port, "root") as root:
        assert root.ask("BEGIN", {"db": "sales"})[0] == SUCCESS
        tag, about = root.ask("RUN", "USE doxa RETURN 1", {}, {})
        assert tag == FAILURE
        assert "stays" in repr(about) or "cannot move" in repr(about)


def test_no_transaction_that_is_rolled_back_drops_or_makes_a_database(
    service: FolderService, users: Credentials
) -> None:
    """What cannot be undone is not done where "all or nothing" is promised, nor by what reads."""

    def names() -> list[str]:
        return [row[0] for row in root.rows("SHOW DATABASES")]

    with (
        running_bolt(service, users, port=0) as server,
        running_http(service, users, port=0) as http,
        Client(http.port) as client,
        _bolt(server.port, "root") as root,
    ):
        login, before = basic("root", _SECRET), names()
        assert "sales" in before
        for text in ("DROP DATABASE sales DESTROY DATA", "CREATE DATABASE more"):
            for begin in ({}, {"mode": "r"}):
                assert root.ask("BEGIN", begin)[0] == SUCCESS
                tag, about = root.ask("RUN", text, {}, {})
                assert tag == FAILURE and "rolled back" in repr(about)
                root.ask("RESET")
            assert "rolled back" in repr(_refused(root, text, mode="r"))
            statements = [{"statement": one} for one in ("CREATE (:M)", text, "RETURN (")]
            body, reading = {"statements": statements}, {"Access-Mode": "READ"}
            for told in (
                client.ask("POST", "/db/doxa/tx/commit", body, login),
                client.ask("POST", "/db/doxa/tx/commit", {"statements": [statements[1]]}, login),
                client.ask("POST", "/db/system/tx/commit", body, login | reading),
            ):
                assert told.json["results"] == [] and told.json["errors"]
            one = {"statement": text, "accessMode": "READ"}
            assert client.ask("POST", "/db/doxa/query/v2", one, login).status == 400
            assert names() == before
        # where tools send such statements they work, in a transaction too
        assert root.ask("BEGIN", {"db": "system"})[0] == SUCCESS
        assert root.ask("RUN", "CREATE DATABASE more", {}, {})[0] == SUCCESS
        assert root.ask("PULL", ALL)[0] == SUCCESS
        assert root.ask("COMMIT")[0] == SUCCESS
        one = {"statement": "DROP DATABASE more"}
        assert client.ask("POST", "/db/system/query/v2", one, login).status == 202
        assert client.ask("POST", "/db/doxa/query/v2", one, login).status == 400  # it is gone
        assert names() == before and root.rows("MATCH (m:M) RETURN m") == []


def test_a_database_in_use_is_not_dropped(service: FolderService, users: Credentials) -> None:
    with (
        running_bolt(service, users, port=0) as server,
        _bolt(server.port, "root") as root,
        _bolt(server.port, "cid") as cid,
    ):
        assert cid.ask("BEGIN", {"db": "sales"})[0] == SUCCESS
        assert cid.ask("RUN", "CREATE (:S {a: 1})", {}, {})[0] == SUCCESS
        assert "in use" in repr(_refused(root, "DROP DATABASE sales"))
        assert cid.ask("PULL", ALL)[0] == SUCCESS
        assert cid.ask("COMMIT")[0] == SUCCESS
        root.rows("DROP DATABASE sales")
        assert _refused(cid, "RETURN 1")
        assert _refused(root, "DROP DATABASE sales")
        root.rows("DROP DATABASE sales IF EXISTS")
        assert "default" in repr(_refused(root, "DROP DATABASE doxa"))
        root.rows("CREATE DATABASE sales")
        assert root.rows("MATCH (n) RETURN n", db="sales") == []
    kept = [path.name for path in service.folder.path.iterdir() if "dropped" in path.name]
    assert len(kept) == 1
    assert kept[0].startswith("sales.db.dropped-")


def test_destroy_data_leaves_no_file(service: FolderService) -> None:
    service.folder.drop("sales", destroys=True)
    assert [path.name for path in service.folder.path.iterdir() if "sales" in path.name] == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a",
        "ab",
        "../other",
        "..",
        "a/../../b",
        "a/b",
        "a\\b",
        "/etc/passwd",
        "a\0b",
        "a b",
        "a..b",
        "-ab",
        ".abc",
        "abc.",
        "1abc",
        "ab\n",
        "système",
        "ａｂｃ",
        "system",
        "SYSTEM",
        "neo4j",
        "x" * 64,
        "a:b",
        "C:abc",
        "%2e%2e",
        "~root",
    ],
)
def test_a_hostile_name_is_no_database(name: str, service: FolderService) -> None:
    before = sorted(path.name for path in service.folder.path.rglob("*"))
    for call in (service.folder.create, service.folder.drop, check_database_name):
        with pytest.raises(DoxaError):
            call(name)
    with pytest.raises(NotFoundError):
        service.folder.database(name)
    assert sorted(path.name for path in service.folder.path.rglob("*")) == before


def test_a_link_or_a_folder_is_no_database(service: FolderService, tmp_path: Path) -> None:
    outside = tmp_path / "outside.db"
    doxa.open(outside, background=False).close()
    (service.folder.path / "linked.db").symlink_to(outside)
    (service.folder.path / "folder.db").mkdir()
    assert service.folder.names() == ["doxa", "sales"]
    for name in ("linked", "folder"):
        with pytest.raises(NotFoundError):
            service.folder.database(name)


def test_names_do_not_differ_by_case(service: FolderService) -> None:
    service.folder.create("Teams")
    with pytest.raises(ConflictError):
        service.folder.create("TEAMS")
    assert "teams" in service.folder.names()


def test_statements_about_databases_are_recognised() -> None:
    found = administration("create  database `a-b.c` if not exists ;")
    assert found is not None
    assert found[:3] == ("create", "a-b.c", True)
    found = administration("DROP DATABASE abc IF EXISTS DESTROY DATA WAIT")
    assert found == ("drop", "abc", True, True)
    found = administration("/* DROP */ DROP DATABASE abc DUMP DATA")
    assert found == ("drop", "abc", False, False)
    for text in (
        "CREATE (:DATABASE {a: 1})",
        "MATCH (n) RETURN 'DROP DATABASE abc'",
        "SHOW DATABASES",
    ):
        assert administration(text) is None
        assert used(text) is None
    with pytest.raises(InputError, match="would destroy"):
        administration("CREATE OR REPLACE DATABASE abc")
    with pytest.raises(InputError, match="OPTIONS"):
        administration("CREATE DATABASE abc OPTIONS {a: 1}")
    assert used("USE abc\nRETURN 1") == ("abc", "       \nRETURN 1")


def test_a_file_with_bound_logins_is_refused_by_versions_that_would_not_heed_it(
    tmp_path: Path, users: Credentials
) -> None:
    assert '"format": 2' in users.path.read_text()
    plain = Credentials(tmp_path / "plain.json")
    plain.add("eve", _SECRET)
    assert '"format": 1' in plain.path.read_text()


def test_a_login_is_not_bound_to_what_cannot_be(tmp_path: Path) -> None:
    found = Credentials(tmp_path / "users.json")
    for limits in ({"projects": [""]}, {"projects": ["a/b"]}, {"databases": ["../x"]}):
        with pytest.raises(InputError):
            found.add("eve", _SECRET, **limits)
    assert found.logins() == []


@pytest.mark.parametrize(
    "verb", ["MATCH (n) RETURN n", "CREATE DATABASE sales", "USE sales RETURN 1"]
)
def test_comments_before_a_statement_take_no_time(verb: str) -> None:
    """Each comment ends at its first end, or a thousand would be divided in 2**1000 ways."""
    text = "/**/ // note\n" * 1_000 + verb
    found = administration(text)
    assert (found is not None and found.name == "sales") == verb.startswith("CREATE")
    named = used(text)
    assert (named is not None and named[0] == "sales") == verb.startswith("USE")
