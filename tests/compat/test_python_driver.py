"""The official Python driver, sync and async, against a real server: every type both ways,
transactions, retries, cancellation, big results."""

# ruff: noqa: E402 - the libraries warn while they are imported
from __future__ import annotations

import asyncio
import datetime
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

neo4j = pytest.importorskip("neo4j", reason="the official driver is not installed")

import pytz
from neo4j import exceptions, graph, spatial
from neo4j import time as neo4j_time

from doxa.servers.bolt import running_server
from tests.compat.conftest import LOGIN, ServerProcess
from tests.servers.bolt_fixtures import GraphDatabase, Peer, Users

MANY = 300_000


@pytest.fixture(scope="module")
def driver(server: ServerProcess) -> Iterator[Any]:
    with neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{server.port}", auth=LOGIN) as made:
        yield made


@pytest.fixture(autouse=True)
def empty(driver: Any) -> None:
    driver.execute_query("MATCH (n) DETACH DELETE n")


def single(driver: Any, text: str, **params: Any) -> Any:
    return driver.execute_query(text, params).records[0][0]


# Greeting


def test_the_newest_version_is_agreed_on(driver: Any) -> None:
    info = driver.get_server_info()
    assert info.protocol_version == (5, 8)
    assert info.agent.startswith("Neo4j/")
    driver.verify_connectivity()


def test_wrong_credentials_are_refused(server: ServerProcess) -> None:
    for auth in (("ana", "wrong"), None, neo4j.bearer_auth("nonsense"), neo4j.kerberos_auth("x")):
        with (
            neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{server.port}", auth=auth) as made,
            pytest.raises(exceptions.AuthError),
        ):
            made.verify_connectivity()


def test_a_token_logs_in(server: ServerProcess) -> None:
    with neo4j.GraphDatabase.driver(
        f"bolt://127.0.0.1:{server.port}", auth=neo4j.bearer_auth(server.token)
    ) as made:
        assert single(made, "RETURN 1") == 1
        assert made.verify_authentication(auth=LOGIN) is True
        assert made.verify_authentication(auth=("ana", "wrong")) is False


def test_another_user_for_one_session(server: ServerProcess, driver: Any) -> None:
    with driver.session(auth=neo4j.bearer_auth(server.token)) as session:
        assert session.run("RETURN 1").single()[0] == 1
    with driver.session(impersonated_user="root") as session, pytest.raises(exceptions.Forbidden):
        session.run("RETURN 1")


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_routing_leads_back(server: ServerProcess, scheme: str) -> None:
    with neo4j.GraphDatabase.driver(f"{scheme}://127.0.0.1:{server.port}", auth=LOGIN) as made:
        assert single(made, "RETURN 1") == 1
        records = made.execute_query(
            "MATCH (n) RETURN count(n)", routing_=neo4j.RoutingControl.READ, database_="neo4j"
        ).records
        assert records[0][0] == 0
        with pytest.raises(exceptions.ClientError) as caught:
            made.execute_query("RETURN 1", database_="elsewhere")
        assert caught.value.code == "Neo.ClientError.Database.DatabaseNotFound"


def test_tls_as_the_driver_speaks_it(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not at hand to make a certificate")
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        *subject,
        "-out",
        str(certificate),
        "-keyout",
        str(key),
    ]
    subprocess.run(command, check=True, capture_output=True)
    database = GraphDatabase(tmp_path / "graph.db")
    with running_server(database, Users(), certificate=certificate, key=key) as served:
        trusted = neo4j.TrustCustomCAs(str(certificate))
        for address, options in (
            (f"bolt+ssc://127.0.0.1:{served.port}", {}),
            (
                f"neo4j://127.0.0.1:{served.port}",
                {"encrypted": True, "trusted_certificates": trusted},
            ),
        ):
            with neo4j.GraphDatabase.driver(address, auth=LOGIN, **options) as made:
                assert single(made, "RETURN size(range(1, 10000))") == 10_000
        with (
            neo4j.GraphDatabase.driver(f"bolt+s://127.0.0.1:{served.port}", auth=LOGIN) as made,
            pytest.raises(exceptions.ServiceUnavailable),
        ):
            made.verify_connectivity()
    database.store.close()


# Values

ZONED = pytz.FixedOffset(120)
VALUES = [
    None,
    True,
    False,
    0,
    -1,
    127,
    128,
    -(2**63),
    2**63 - 1,
    0.0,
    -1.5,
    float("inf"),
    "",
    "text",
    "ä€𝄞",
    "x" * 100_000,
    [],
    [1, "a", None, [2]],
    list(range(70_000)),
    {},
    {"a": {"b": [1]}},
    bytearray(b""),
    bytearray(b"\x00\xff"),
    neo4j_time.Date(1, 1, 1),
    neo4j_time.Date(2024, 2, 29),
    neo4j_time.Time(1, 2, 3, 4),
    neo4j_time.Time(23, 59, 59, 999_999_999),
    neo4j_time.Time(1, 2, 3, 4, tzinfo=ZONED),
    neo4j_time.DateTime(2024, 2, 29, 1, 2, 3, 4),
    neo4j_time.DateTime(1960, 1, 1, 0, 0, 0, 999_999_999),
    neo4j_time.DateTime(2024, 2, 29, 1, 2, 3, 4, tzinfo=ZONED),
    neo4j_time.Duration(),
    neo4j_time.Duration(months=1, days=-2, seconds=3, nanoseconds=4),
    neo4j_time.Duration(seconds=-1, nanoseconds=-500_000_000),
    spatial.CartesianPoint((1.5, -2)),
    spatial.CartesianPoint((1, 2, 3)),
    spatial.WGS84Point((12.5, 55.7)),
    spatial.WGS84Point((12.5, 55.7, 10)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:40])
def test_every_value_comes_back_as_it_went(driver: Any, value: Any) -> None:
    found = single(driver, "RETURN $value", value=value)
    assert type(found) is type(value) or isinstance(value, bytearray)
    assert found == value


def test_a_zone_by_its_name(driver: Any) -> None:
    value = pytz.timezone("Europe/Stockholm").localize(datetime.datetime(2024, 7, 1, 12, 30, 0, 5))
    found = single(driver, "RETURN $value", value=value)
    assert found.to_native() == value
    assert str(found.tzinfo) == "Europe/Stockholm"
    assert (
        single(driver, "RETURN datetime('2024-07-01T12:00[Europe/Stockholm]').offset") == "+02:00"
    )


@pytest.mark.parametrize(
    "value",
    [value for value in VALUES if value is not None and not isinstance(value, dict)][:20],
    ids=lambda v: repr(v)[:40],
)
def test_what_is_stored_comes_back(driver: Any, value: Any) -> None:
    if isinstance(value, list) and (len(value) > 10_000 or None in value):
        return
    assert single(driver, "CREATE (n:V {v: $value}) RETURN n.v", value=value) == value


def test_nodes_relationships_and_paths(driver: Any) -> None:
    record = driver.execute_query(
        "CREATE p = (a:A:B {x: 1})-[r:R {y: 'z'}]->(b:C)<-[s:S]-(d:D) RETURN a, r, b, p, [a, {k:"
        " r}] AS list, elementId(a) AS eid, id(a) AS old"
    ).records[0]
    node, edge, path = record["a"], record["r"], record["p"]
    assert isinstance(node, graph.Node)
    assert (set(node.labels), dict(node)) == ({"A", "B"}, {"x": 1})
    assert node.element_id == record["eid"]
    with pytest.warns(DeprecationWarning):
        assert node.id == record["old"]
    assert isinstance(edge, graph.Relationship)
    assert (edge.type, dict(edge), edge.start_node, edge.end_node) == (
        "R",
        {"y": "z"},
        node,
        record["b"],
    )
    assert isinstance(path, graph.Path)
    assert [element.type for element in path.relationships] == ["R", "S"]
    assert [set(found.labels) for found in path.nodes] == [{"A", "B"}, {"C"}, {"D"}]
    assert path.relationships[1].end_node == record["b"]
    assert record["list"] == [node, {"k": edge}]


def test_a_node_cannot_be_sent(driver: Any) -> None:
    node = single(driver, "CREATE (n:A) RETURN n")
    with pytest.raises((ValueError, TypeError, exceptions.DriverError)):
        driver.execute_query("RETURN $n", n=node)


# Summaries and errors


def test_a_summary_says_what_happened(driver: Any) -> None:
    result = driver.execute_query("CREATE (:A {x: 1})-[:R]->(:B)")
    counters = result.summary.counters
    assert (
        counters.nodes_created,
        counters.relationships_created,
        counters.properties_set,
        counters.labels_added,
    ) == (2, 1, 1, 2)
    assert counters.contains_updates
    assert result.summary.query_type == "w"
    assert result.summary.database == "doxa"
    assert [status.gql_status for status in result.summary.gql_status_objects] == ["00001"]
    assert driver.execute_query("RETURN 1").summary.query_type == "r"
    assert driver.execute_query("CREATE (n) RETURN n").summary.query_type == "rw"


def test_a_plan_is_told(driver: Any) -> None:
    explained = driver.execute_query(
        "EXPLAIN MATCH (n:A) WHERE n.x > 1 CREATE (:B) RETURN n.x ORDER BY n.x"
    ).summary
    assert explained.plan["operatorType"]
    assert explained.profile is None
    assert single(driver, "MATCH (n:B) RETURN count(n)") == 0
    profiled = driver.execute_query("PROFILE UNWIND range(1, 10) AS x RETURN x").summary
    assert profiled.profile["rows"] == 10
    assert profiled.profile["children"] is not None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("RETURN", "CypherSyntaxError"),
        ("RETURN 1 + date()", "CypherTypeError"),
        ("RETURN $no", "ClientError"),
        ("UNWIND [0] AS x RETURN 1 / x", "ClientError"),
    ],
)
def test_errors_are_of_the_drivers_classes(driver: Any, text: str, kind: str) -> None:
    with pytest.raises(getattr(exceptions, kind)) as caught:
        driver.execute_query(text)
    assert caught.value.code.startswith("Neo.ClientError.Statement.")
    assert caught.value.message
    assert caught.value.gql_status != "50N42"
    assert not caught.value.is_retryable()
    assert single(driver, "RETURN 1") == 1


def test_a_broken_constraint_is_a_constraint_error(driver: Any) -> None:
    with pytest.raises(exceptions.ConstraintError):
        driver.execute_query("CREATE (a:A)-[:R]->(:B) DELETE a")


# Transactions


def test_transactions_commit_and_roll_back(driver: Any) -> None:
    with driver.session() as session:
        with session.begin_transaction(metadata={"agent": "kai", "session": "s1"}) as tx:
            assert tx.run("RETURN $_agent + $_session").single()[0] == "kais1"
            tx.run("CREATE (:A)")
            tx.commit()
        with session.begin_transaction() as tx:
            tx.run("CREATE (:A)").consume()
            tx.rollback()
        with pytest.raises(ZeroDivisionError), session.begin_transaction() as tx:
            tx.run("CREATE (:A)").consume()
            raise ZeroDivisionError
        assert session.run("MATCH (n:A) RETURN count(n)").single()[0] == 1
        assert session.last_bookmarks().raw_values


def test_bookmarks_are_taken_back(driver: Any) -> None:
    with driver.session() as session:
        session.run("CREATE (:A)").consume()
        bookmarks = session.last_bookmarks()
    (mark,) = bookmarks.raw_values
    assert mark.startswith("doxa:doxa:")
    with driver.session(bookmarks=bookmarks) as session:
        assert session.run("MATCH (n:A) RETURN count(n)").single()[0] == 1


def test_several_results_at_once_in_a_transaction(driver: Any) -> None:
    with driver.session(fetch_size=10) as session, session.begin_transaction() as tx:
        one, two = (
            tx.run("UNWIND range(1, 100) AS x RETURN x"),
            tx.run("UNWIND range(1, 100) AS x RETURN -x AS x"),
        )
        pairs = list(
            zip((record["x"] for record in one), (record["x"] for record in two), strict=True)
        )
        assert pairs == [(x, -x) for x in range(1, 101)]


def test_an_error_in_a_transaction_ends_it(driver: Any) -> None:
    with driver.session() as session:
        tx = session.begin_transaction()
        tx.run("CREATE (:A)").consume()
        with pytest.raises(exceptions.CypherSyntaxError):
            tx.run("RETURN").consume()
        tx.close()
        assert session.run("MATCH (n:A) RETURN count(n)").single()[0] == 0


def test_a_reader_may_not_write(driver: Any) -> None:
    with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        with pytest.raises(exceptions.ClientError) as caught:
            session.run("CREATE (:A)").consume()
        assert caught.value.code == "Neo.ClientError.Statement.AccessMode"
        with pytest.raises(exceptions.ClientError):
            session.execute_read(lambda tx: tx.run("CREATE (:A)").consume())


def test_a_transaction_that_lost_the_race_is_run_again(driver: Any) -> None:
    """Two read on snapshots, since so far nothing wrote after this statement, then both write: the
    second is out of date, and the driver runs it again on its own."""
    driver.execute_query("CREATE (:Counter {n: 0})")
    single(driver, "MATCH (c:Counter) RETURN c.n AS n")
    both_have_read, tries = threading.Barrier(2), []

    def add(tx: Any, who: int, first: list[bool]) -> None:
        tries.append(who)
        value = tx.run("MATCH (c:Counter) RETURN c.n AS n").single()["n"]
        if first.pop() if first else False:
            both_have_read.wait(10)
        tx.run("MATCH (c:Counter) SET c.n = $n", n=value + 1).consume()

    def work(who: int) -> None:
        first = [True]
        with driver.session() as session:
            session.execute_write(add, who, first)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert single(driver, "MATCH (c:Counter) RETURN c.n") == 2
    assert len(tries) == 3


def test_many_writers_at_once_lose_nothing(driver: Any) -> None:
    driver.execute_query("CREATE (:Counter {n: 0})")

    def add(tx: Any) -> None:
        tries.append(1)
        value = tx.run("MATCH (d:Counter) RETURN d.n AS n").single()["n"]
        tx.run("MATCH (c:Counter) SET c.n = $n", n=value + 1).consume()

    tries: list[int] = []

    def work() -> None:
        with driver.session() as session:
            for _ in range(5):
                session.execute_write(add)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert single(driver, "MATCH (c:Counter) RETURN c.n") == 20
    assert len(tries) == 20  # each took its turn before it read: none was out of date


# Time limits, cancellation, size

ENDLESS = "UNWIND range(1, 9000) AS x UNWIND range(1, 9000) AS y WITH x WHERE x < 0 RETURN x"


def test_a_timeout_ends_a_statement(driver: Any) -> None:
    with driver.session() as session, pytest.raises(exceptions.ClientError) as caught:
        session.run(neo4j.Query(ENDLESS, timeout=0.2)).consume()
    assert caught.value.code == "Neo.ClientError.Transaction.TransactionTimedOut"


def test_a_result_can_be_left_half_way(driver: Any) -> None:
    answers: list[Any] = []

    def leave() -> None:
        with driver.session(fetch_size=100) as session:
            for at, _ in enumerate(
                session.run("UNWIND range(1, 9000) AS x UNWIND range(1, 9000) AS y RETURN y")
            ):
                if at == 500:
                    break
        answers.append(single(driver, "RETURN 1"))

    thread = threading.Thread(target=leave, daemon=True)
    thread.start()
    thread.join(30)  # 81 million rows take longer by far
    assert answers == [1]


def test_an_async_task_can_be_cancelled(server: ServerProcess) -> None:
    async def run() -> None:
        async with neo4j.AsyncGraphDatabase.driver(
            f"bolt://127.0.0.1:{server.port}", auth=LOGIN
        ) as driver:

            async def write() -> None:
                async with driver.session() as session:
                    await (
                        await session.run("CREATE (:Cancelled) WITH 1 AS one " + ENDLESS)
                    ).consume()

            task = asyncio.create_task(write())
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            records, _, _ = await driver.execute_query(
                "CREATE (:After) WITH 1 AS one MATCH (n:Cancelled) RETURN count(n)"
            )
            assert records[0][0] == 0  # had it come to its end, the node would be there

    asyncio.run(run())


def test_async_sessions_side_by_side(server: ServerProcess) -> None:
    async def run() -> None:
        async with neo4j.AsyncGraphDatabase.driver(
            f"neo4j://127.0.0.1:{server.port}", auth=LOGIN
        ) as driver:

            async def rows(factor: int) -> list[int]:
                async with driver.session(fetch_size=50) as session:
                    result = await session.run(
                        "UNWIND range(1, 1000) AS x RETURN x * $f AS y", f=factor
                    )
                    return [record["y"] async for record in result]

            found = await asyncio.gather(*[rows(factor) for factor in range(20)])
            assert found == [[x * factor for x in range(1, 1001)] for factor in range(20)]

            async def add(tx: Any) -> Any:
                return await (await tx.run("CREATE (n:Async) RETURN n")).single()

            async with driver.session() as session:
                assert (await session.execute_write(add))["n"].labels == {"Async"}

    asyncio.run(run())


def test_a_big_result_takes_little_memory(driver: Any, server: ServerProcess) -> None:
    driver.execute_query("UNWIND range(1, 1000) AS x RETURN x")
    before = server.resident_bytes()
    most = count = last = 0
    with driver.session() as session:
        for record in session.run(
            "UNWIND range(1, $n) AS x RETURN x, 'row ' + toString(x) AS name, x * 1.5 AS score",
            n=MANY,
        ):
            count, last = count + 1, record["x"]
            if count % 50_000 == 0:
                most = max(most, server.resident_bytes())
        assert last == MANY
    assert count == MANY
    assert most - before < 32 * 1024**2


def test_a_client_that_stops_reading_takes_little_memory(server: ServerProcess) -> None:
    with Peer(server.port) as peer:
        peer.login()
        before = server.resident_bytes()
        peer.send(
            "RUN",
            "UNWIND range(1, 9000) AS x UNWIND range(1, 9000) AS y RETURN x, y, 'some more text in"
            " each row' AS text",
            {},
            {},
        )
        peer.send("PULL", {"n": -1})
        time.sleep(1)
        assert server.resident_bytes() - before < 32 * 1024**2


def test_a_big_parameter(driver: Any) -> None:
    rows = [{"id": at, "name": f"name {at}", "vector": [0.5] * 8} for at in range(20_000)]
    assert (
        single(
            driver,
            "UNWIND $rows AS row WITH row WHERE row.vector[0] > 0 RETURN count(row)",
            rows=rows,
        )
        == 20_000
    )
