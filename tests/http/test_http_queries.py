"""Queries over HTTP with a plain client: the two endpoints, logins and roles, the context, errors
with their codes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.servers.contract import DatabaseSession
from doxa.servers.credentials import Credentials, Principal
from doxa.servers.http import HttpServer, running_server
from doxa.servers.memory import MemoryDatabase
from tests.http.http_fixtures import (
    ANA,
    COMMIT,
    JSON,
    QUERY,
    SLOW,
    TOKEN,
    TYPED,
    Client,
    basic,
)
from tests.servers.bolt_fixtures import GraphDatabase, Users


@pytest.fixture
def database(tmp_path: Path) -> Iterator[GraphDatabase]:
    made = GraphDatabase(tmp_path / "graph.db")
    yield made
    made.store.close()


@pytest.fixture
def server(database: GraphDatabase) -> Iterator[HttpServer]:
    with running_server(database, Users(), version="1.2.3") as made:
        yield made


@pytest.fixture
def client(server: HttpServer) -> Iterator[Client]:
    with Client(server.port) as made:
        yield made


# What there is


def test_discovery_says_what_there_is_to_who_logs_in(client: Client) -> None:
    found = client.ask("GET", "/")
    assert found.status == 200
    assert found.json == {
        "doxa": "1.2.3",
        "query": "/db/{databaseName}/query/v2",
        "transaction": "/db/{databaseName}/tx/commit",
        "events": "/db/{databaseName}/events",
        "health": "/health",
        "metrics": "/metrics",
        "databases": ["doxa", "second"],
    }
    assert client.ask("GET", "/", headers={"Authorization": None}).status == 401


def test_health_is_for_whoever_asks_and_says_nothing_else(client: Client) -> None:
    found = client.ask("GET", "/health", headers={"Authorization": None})
    assert (found.status, found.json) == (200, {"status": "ok"})
    assert "server" not in found.headers and found.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "method, path, status, named",
    [
        ("GET", QUERY, 405, "POST"),
        ("OPTIONS", QUERY, 405, "POST"),
        ("DELETE", "/", 405, "GET"),
        ("GET", "/nope", 404, "/db/{name}/query/v2"),
        ("POST", "/db/doxa/query/v2/", 404, "GET /"),
        ("POST", "/db/doxa/query/v1", 404, "GET /"),
        ("GET", "//evil", 404, "GET /"),
        ("POST", "/db/doxa/tx", 404, "tx/commit"),
        ("POST", "/db/doxa/tx/7", 404, "tx/commit"),
        ("POST", "/db/doxa/tx/7/commit", 404, "tx/commit"),
        ("DELETE", "/db/doxa/tx/7", 404, "tx/commit"),
        ("POST", "/db/doxa/query/v2/tx", 404, "tx/commit"),
    ],
)
def test_what_is_not_there_says_what_is(
    client: Client, method: str, path: str, status: int, named: str
) -> None:
    found = client.ask(method, path)
    assert (found.status, found.code) == (status, "Neo.ClientError.Request.Invalid")
    assert named in found.json["errors"][0]["message"]


# Logins


@pytest.mark.parametrize(
    "login",
    [
        None,
        "",
        "Basic",
        "Basic ???",
        "Basic YQ==",
        "Basic /w==",
        "Bearer",
        "Bearer nope",
        "Negotiate abc",
        "basic",
        ANA["Authorization"] + "x",
        basic("ana", "wrong")["Authorization"],
        basic("", "")["Authorization"],
        basic("ana", "x" * 9_000)["Authorization"],
    ],
)
def test_nobody_comes_in_without_a_login(client: Client, login: str | None) -> None:
    for path in (QUERY, COMMIT):
        found = client.ask("POST", path, {"statement": "RETURN 1"}, {"Authorization": login})
        assert (found.status, found.code) == (401, "Neo.ClientError.Security.Unauthorized")
        assert (
            found.headers["www-authenticate"].startswith("Basic realm=")
            and found.headers["connection"] == "close"
        )


def test_passwords_and_tokens_of_the_file_of_users(database: GraphDatabase, tmp_path: Path) -> None:
    users = Credentials(tmp_path / "users.json")
    users.add("ana", "a long password: with colons", role="operator")
    token = users.add_token("bot")
    with running_server(database, users) as server, Client(server.port) as client:
        assert (
            client.query("RETURN 1", headers=basic("ana", "a long password: with colons")).status
            == 202
        )
        assert (
            client.query("CREATE (:By)", headers={"Authorization": f"bearer {token}"}).status == 202
        )
        assert client.query("RETURN 1", headers=basic("ana", "a long password")).status == 401
    with database.store.read() as snapshot:
        last = snapshot.last_receipt()
    assert last is not None and (last.actor, last.role) == ("bot", "agent")


class Keeper(Users):
    """Counts passwords, and forgets people."""

    def __init__(self) -> None:
        self.asked = 0
        self.known = True

    def verify(self, name: str, password: str) -> Principal | None:
        self.asked += 1
        return super().verify(name, password) if self.known else None


def test_a_right_password_is_not_hashed_for_every_request(
    database: GraphDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Keeper()
    with running_server(database, keeper) as server, Client(server.port) as client:
        for _ in range(5):
            assert client.rows("RETURN 1") == [[1]]
        assert keeper.asked == 1
        assert client.query("RETURN 1", headers=basic("ana", "a-good-secreT")).status == 401
        assert client.query("RETURN 1", headers=basic("anaa", "-good-secret")).status == 401
        assert keeper.asked == 3


def test_who_is_taken_away_is_out_soon(
    database: GraphDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.servers.http.login.HTTP_LOGIN_KEPT_MS", 0)
    keeper = Keeper()
    with running_server(database, keeper) as server, Client(server.port) as client:
        assert client.rows("RETURN 1") == [[1]]
        keeper.known = False
        assert client.query("RETURN 1").status == 401


def test_wrong_passwords_pause_a_name(client: Client) -> None:
    assert client.rows("RETURN 1") == [[1]]
    found = [client.query("RETURN 1", headers=basic("ana", "no")) for _ in range(7)]
    assert [one.status for one in found] == [401] * 5 + [429] * 2
    assert (
        found[-1].code == "Neo.ClientError.Security.AuthenticationRateLimit"
        and found[-1].headers["retry-after"] == "5"
    )
    assert client.rows("RETURN 1") == [[1]]  # who is in stays in


def test_without_a_login_everybody_is_operator(database: GraphDatabase) -> None:
    with running_server(database, None) as server, Client(server.port) as client:
        assert (
            client.query(
                "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE", headers={"Authorization": None}
            ).status
            == 202
        )


def test_a_file_of_users_that_cannot_be_read_is_the_servers_to_know(
    database: GraphDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "users.json"
    path.write_text("{}")
    path.chmod(0o644)
    with running_server(database, Credentials(path)) as server, Client(server.port) as client:
        found = client.query("RETURN 1")
    assert (
        found.status == 503 and "users.json" not in str(found.json) and "users.json" in caplog.text
    )


def test_roles(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "memory.db", embedder=None, role="operator") as memory:
        memory.remember("Ana lives in Uppsala.", name="home")
        with (
            running_server(MemoryDatabase(memory), Users()) as server,
            Client(server.port) as client,
        ):
            assert client.rows("MATCH (r:Revision) RETURN r.summary") == [["Ana lives in Uppsala."]]
            for statement in (
                "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE",
                "MATCH (r:Revision) SET r.summary = 'x'",
            ):
                found = client.query(statement, headers=TOKEN)
                assert found.status in (403, 409), found
                (error,) = client.batch(statement, headers=TOKEN).json["errors"]
                assert error["code"] == found.code
            assert (
                client.query(
                    "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE", headers=TOKEN
                ).code
                == "Neo.ClientError.Security.Forbidden"
            )
            assert client.query("CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE").status == 202
            assert client.rows("MATCH (r:Revision) RETURN r.summary") == [["Ana lives in Uppsala."]]


# One statement


def test_a_statement_with_parameters(client: Client) -> None:
    found = client.query("UNWIND $xs AS x RETURN x, $m.k AS k", {"xs": [1, None], "m": {"k": "v"}})
    assert found.status == 202
    assert found.headers["content-type"] == JSON
    assert found.json == {
        "data": {"fields": ["x", "k"], "values": [[1, "v"], [None, "v"]]},
        "bookmarks": found.json["bookmarks"],
    }
    assert client.query("RETURN 1", None).status == 202
    assert client.ask("POST", QUERY, {"statement": "RETURN 1", "parameters": None}).status == 202


def test_a_write_is_counted_where_that_is_asked_for(
    client: Client, database: GraphDatabase
) -> None:
    found = client.query("CREATE (a:A {x: 1})-[:R]->(:B)", includeCounters=True).json
    assert found["data"] == {"fields": [], "values": []}
    assert found["counters"] == {
        "containsUpdates": True,
        "nodesCreated": 2,
        "nodesDeleted": 0,
        "propertiesSet": 1,
        "relationshipsCreated": 1,
        "relationshipsDeleted": 0,
        "labelsAdded": 2,
        "labelsRemoved": 0,
        "indexesAdded": 0,
        "indexesRemoved": 0,
        "constraintsAdded": 0,
        "constraintsRemoved": 0,
        "containsSystemUpdates": False,
        "systemUpdates": 0,
    }
    assert "counters" not in client.query("CREATE (:A)").json
    assert database.count("A") == 2
    assert (
        client.query("RETURN 1", includeCounters=True).json["counters"]["containsUpdates"] is False
    )


def test_elements(client: Client) -> None:
    ((path, node, edge),) = client.rows("CREATE p = (a:A {x: 1})-[r:R {y: 2}]->() RETURN p, a, r")
    assert (node["labels"], node["properties"]) == (["A"], {"x": 1})
    assert (edge["type"], edge["properties"], edge["startNodeElementId"]) == (
        "R",
        {"y": 2},
        node["elementId"],
    )
    assert path[:2] == [node, edge] and path[2]["elementId"] == edge["endNodeElementId"]
    assert client.rows(
        "MATCH (n) WHERE elementId(n) = $id RETURN n.x", {"id": node["elementId"]}
    ) == [[1]]


def test_bookmarks_are_given_and_taken(client: Client) -> None:
    (one,) = client.query("CREATE (:A)").json["bookmarks"]
    (two,) = client.query("CREATE (:A)", bookmarks=[one, "somebody's"]).json["bookmarks"]
    assert one.startswith("doxa:doxa:") and one != two


def test_typed_json_both_ways(client: Client) -> None:
    both = {"Content-Type": TYPED, "Accept": f"text/html, {TYPED}.v1.1;q=0.9"}
    value = {
        "$type": "List",
        "_value": [
            {"$type": "Date", "_value": "2026-01-31"},
            {"$type": "Integer", "_value": str(2**60)},
        ],
    }
    found = client.query("RETURN $x AS x", {"x": value}, headers=both)
    assert found.headers["content-type"] == f"{TYPED}.v1.1"
    assert found.values == [[value]]
    wrong = client.query("RETURN $x AS x", {"x": 1}, headers=both)
    assert (wrong.status, wrong.headers["content-type"]) == (400, JSON) and "$x" in wrong.json[
        "errors"
    ][0]["message"]
    assert client.query(
        "RETURN date('2026-01-31')", headers={"Accept": "application/*, */*"}
    ).values == [["2026-01-31"]]


def test_plans_and_notifications(client: Client) -> None:
    client.query("CREATE (:A)")
    plan = client.query("EXPLAIN MATCH (a:A) RETURN a").json["queryPlan"]
    assert (
        plan["children"] and "records" not in plan and isinstance(plan["arguments"]["Details"], str)
    )
    profile = client.query("PROFILE MATCH (a:A) RETURN a", headers={"Accept": TYPED}).json[
        "profiledQueryPlan"
    ]
    assert profile["records"] == 1 and profile["arguments"]["Details"]["$type"] == "String"
    (notice,) = client.query("MATCH (n:Misspelt) RETURN n").json["notifications"]
    assert notice["code"] == "Neo.ClientNotification.Statement.UnknownLabelWarning" and notice[
        "position"
    ] == {"offset": 9, "line": 1, "column": 10}


def test_databases_by_their_names(client: Client, database: GraphDatabase) -> None:
    statement = {"statement": "CREATE (:A)"}
    for name, status in (
        ("doxa", 202),
        ("Neo4j", 202),
        ("second", 202),
        ("system", 403),
        ("nope", 404),
        ("%00", 404),
        ("a%2Fb", 404),
    ):
        assert client.ask("POST", f"/db/{name}/query/v2", statement).status == status, name
    assert (
        client.ask("POST", "/db/nope/query/v2", statement).code
        == "Neo.ClientError.Database.DatabaseNotFound"
    )
    assert client.ask("POST", "/db/system/query/v2", {"statement": "RETURN 1"}).status == 202
    assert client.ask("POST", "/db/nope/tx/commit", {"statements": []}).status == 404


@pytest.mark.parametrize(
    "statement, status, code",
    [
        ("RETURN", 400, "Neo.ClientError.Statement.SyntaxError"),
        ("", 400, "Neo.ClientError.Statement.SyntaxError"),
        ("RETURN 1/0", 400, "Neo.ClientError.Statement.ArithmeticError"),
        ("RETURN $missing", 400, "Neo.ClientError.Statement.ParameterMissing"),
        ("RETURN 1 + date()", 400, "Neo.ClientError.Statement.TypeError"),
        ("CALL no.such()", 400, "Neo.ClientError.Procedure.ProcedureNotFound"),
        (
            "CREATE (:U {x: 1}), (:U {x: 1})",
            409,
            "Neo.ClientError.Schema.ConstraintValidationFailed",
        ),
    ],
)
def test_errors_have_codes_and_statuses(
    client: Client, statement: str, status: int, code: str
) -> None:
    client.query("CREATE CONSTRAINT FOR (u:U) REQUIRE u.x IS UNIQUE")
    found = client.query(statement)
    assert (found.status, found.code) == (status, code)
    (told,) = client.batch(statement).json["errors"]
    assert told == found.json["errors"][0]


def test_access_modes(client: Client, database: GraphDatabase) -> None:
    for mode in ("READ", "Read"):
        found = client.query("CREATE (:A)", accessMode=mode)
        assert (found.status, found.code) == (403, "Neo.ClientError.Statement.AccessMode")
    assert (
        client.batch("CREATE (:A)", headers={"Access-Mode": "READ"}).code
        == "Neo.ClientError.Statement.AccessMode"
    )
    assert client.query("CREATE (:A)", accessMode="SOMETIMES").status == 400
    assert client.batch("CREATE (:A)", headers={"Access-Mode": "x"}).status == 400
    assert database.count("A") == 0
    assert client.query("RETURN 1", accessMode="READ").values == [[1]]
    assert client.query("CREATE (:A)", accessMode="WRITE").status == 202


def test_a_statement_has_a_timeout(database: GraphDatabase, client: Client) -> None:
    found = client.query(SLOW, maxExecutionTime=1)
    assert (found.status, found.code) == (400, "Neo.ClientError.Transaction.TransactionTimedOut")
    with running_server(database, Users(), timeout_ms=100) as hasty, Client(hasty.port) as other:
        assert (
            other.query(SLOW, maxExecutionTime=100).code
            == "Neo.ClientError.Transaction.TransactionTimedOut"
        )
        assert (
            other.batch("RETURN 1", SLOW).code == "Neo.ClientError.Transaction.TransactionTimedOut"
        )
    assert client.query("RETURN 1", maxExecutionTime=0).status == 202
    assert client.query("RETURN 1", maxExecutionTime=-1).status == 400


def test_nobody_acts_as_another(client: Client) -> None:
    assert (
        client.query("RETURN 1", impersonatedUser="eve").code
        == "Neo.ClientError.Security.Forbidden"
    )


def test_batches_inside_a_statement_are_its_own_transactions(
    client: Client, database: GraphDatabase
) -> None:
    statement = (
        "UNWIND range(1, 10) AS x CALL (x) { CREATE (:Part {x: x}) } IN TRANSACTIONS OF 3 ROWS"
    )
    assert client.query(statement, includeCounters=True).json["counters"]["nodesCreated"] == 10
    assert client.batch(statement).json["errors"]
    assert database.count("Part") == 10


# Several statements


def test_a_batch_is_one_transaction(client: Client, database: GraphDatabase) -> None:
    found = client.batch(
        {
            "statement": "CREATE (a:A {x: $x}) RETURN a",
            "parameters": {"x": 1},
            "includeStats": True,
            "resultDataContents": ["row"],
        },
        "MATCH (a:A) RETURN a.x AS x, count(*) AS n",
    )
    assert found.status == 200 and found.json["errors"] == []
    one, two = found.json["results"]
    assert one["columns"] == ["a"] and one["data"] == [
        {"row": [{"x": 1}], "meta": one["data"][0]["meta"]}
    ]
    assert (
        one["data"][0]["meta"][0]["type"] == "node"
        and one["stats"]["nodes_created"] == 1
        and one["stats"]["relationship_deleted"] == 0
    )
    assert two == {"columns": ["x", "n"], "data": [{"row": [1, 1], "meta": [None, None]}]}
    with database.store.read() as snapshot:
        last = snapshot.last_receipt()
    assert last is not None and found.json["lastBookmarks"] == [f"doxa:doxa:{last.tx}"]


def test_an_empty_batch_is_nothing(client: Client) -> None:
    assert (
        client.batch().json["results"] == [] and client.ask("POST", COMMIT, {}).json["errors"] == []
    )


@pytest.mark.parametrize(
    "wrong",
    ["RETURN 1/0", "nonsense", "RETURN $missing", {"statement": "RETURN 1", "parameters": [1]}],
)
def test_a_batch_is_all_or_nothing(client: Client, database: GraphDatabase, wrong: Any) -> None:
    found = client.batch("CREATE (:A)", "CREATE (:A)", wrong, "CREATE (:A)")
    assert found.status == 200 and found.json["results"] == [] and len(found.json["errors"]) == 1
    assert database.count("A") == 0
    assert client.batch("CREATE (:A)").json["errors"] == []


def test_a_batch_reads_no_other_forms(client: Client) -> None:
    assert (
        client.batch({"statement": "RETURN 1", "resultDataContents": ["graph"]})
        .json["errors"][0]["message"]
        .count("row")
    )
    assert client.batch("RETURN 1", headers={"Accept": TYPED}).status == 415
    assert client.batch("RETURN 1", headers={"Content-Type": TYPED}).status == 415


# The context


def test_headers_are_the_context(client: Client) -> None:
    headers = {
        "X-Query-Session": "s1",
        "x-query-AGENT": "kai",
        "X-Query-Trace-Id": "42",
        "X-Query-Name": "Ä".encode().decode("latin-1"),
    }
    text = "RETURN $_session, $_agent, $_tenant, $_trace_id, $_name"
    wanted = ["s1", "kai", None, "42", "Ä"]
    assert client.query(text, headers=headers).values == [wanted]
    assert client.batch(text, headers=headers).json["results"][0]["data"][0]["row"] == wanted
    assert client.rows("RETURN $_session, $_agent, $_tenant") == [
        [None, None, None]
    ]  # nothing stays on the connection


def test_the_context_reaches_a_memory(tmp_path: Path) -> None:
    with (
        doxa.open(tmp_path / "memory.db", embedder=None, role="operator") as memory,
        running_server(MemoryDatabase(memory), Users()) as server,
        Client(server.port) as client,
    ):
        assert client.query(
            "RETURN $_session, $_tenant", headers={"X-Query-Session": "s1", **TOKEN}
        ).values == [["s1", None]]


@pytest.mark.parametrize("name", ["_session", "_tenant", "_trace_id", "_", "_anything"])
def test_a_body_does_not_speak_for_the_context(client: Client, name: str) -> None:
    for headers in ({}, {"X-Query-Session": "s1"}):
        found = client.query("RETURN $_session", {name: "forged"}, headers=headers)
        assert found.status == 400 and "X-Query-" in found.json["errors"][0]["message"]
        assert client.batch(
            {"statement": "RETURN 1", "parameters": {name: "forged"}}, headers=headers
        ).json["errors"]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Query-": "a"},
        {"X-Query-1": "a"},
        {"X-Query-A.B": "a"},
        {"X-Query--A": "a"},
        {"X-Query-_a": "a"},
        {"X-Query-" + "a" * 65: "a"},
        {"X-Query-A": "a" * 1_025},
        {"X-Query-A": "\xff"},
        {"X-Query-A-B": "1", "X-Query-A_B": "2"},
        {f"X-Query-A{at}": "a" for at in range(33)},
        {"X-Query-As-Of-System-Time": "2020-01-01"},
        {"X-Query-As-Of-Valid-Time": "2020-01-01"},
    ],
    ids=lambda headers: next(iter(headers))[:30],
)
def test_headers_that_name_no_context_are_refused(
    client: Client, headers: Mapping[str, str]
) -> None:
    found = client.query("RETURN 1", headers=headers)
    assert (found.status, found.code) == (400, "Neo.ClientError.Request.Invalid")
    assert (
        "X-Query-" in found.json["errors"][0]["message"]
        or "AS OF" in found.json["errors"][0]["message"]
    )


# Many at once, and what is noted


def test_many_clients_at_once(server: HttpServer, database: GraphDatabase) -> None:
    problems: list[object] = []

    def work() -> None:
        try:
            with Client(server.port) as one:
                for _ in range(10):
                    assert one.query("MERGE (c:Count) SET c.n = coalesce(c.n, 0) + 1").status == 202
                    assert one.rows("MATCH (c:Count) RETURN c.n > 0") == [[True]]
        except BaseException as error:
            problems.append(error)

    with Client(server.port) as client:
        client.query("CREATE (:Count)")
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with Client(server.port) as client:
        assert client.rows("MATCH (c:Count) RETURN c.n") == [[80]]


class Broken(GraphDatabase):
    """Fails with an error that is not ours and quotes what it was given."""

    def open_session(
        self, principal: Principal, database: str, metadata: Mapping[str, Any], timeout_ms: int
    ) -> DatabaseSession:
        raise ValueError(f"no good: {metadata}")


def test_the_log_holds_neither_statements_nor_parameters_nor_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for kind in (GraphDatabase, Broken):
        database = kind(tmp_path / f"{kind.__name__}.db")
        with (
            running_server(database, Users()) as server,
            Client(server.port, **{"X-Query-Session": "hush-context"}) as client,
        ):
            for statement in (
                "RETURN 'hush-text', $x",
                "RETURN 'hush-text' +",
                "RETURN 1/0 AS `hush-text`",
            ):
                found = client.query(statement, {"x": "hush-value"})
                assert found.status == (500 if kind is Broken else found.status)
                assert kind is GraphDatabase or "hush" not in str(found.json)
                client.batch({"statement": statement, "parameters": {"x": "hush-value"}})
            client.ask("POST", QUERY, b'{"hush-body": 1, ')
            client.query("RETURN 1", headers=basic("eve", "hush-password"))
            client.query("RETURN 1", headers={"Authorization": "Bearer hush-token"})
        database.store.close()
    assert "hush" not in caplog.text and "ValueError" in caplog.text and "'eve'" in caplog.text
