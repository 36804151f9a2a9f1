"""The Bolt state machine, message by message, without sockets: responses, ignored messages, fatal
errors, rollbacks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.servers import codes
from doxa.servers.bolt.framing import Version
from doxa.servers.bolt.messages import ALLOWED_IN, REQUESTS, BoltState
from doxa.store import Identity
from tests.effort import calls_of
from tests.servers.bolt_fixtures import (
    ALL,
    BASIC,
    FAILURE,
    HELLO,
    IGNORED,
    OPEN,
    RECORD,
    SUCCESS,
    TAGS,
    GraphDatabase,
    Talk,
    conversed_with,
)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[GraphDatabase]:
    with conversed_with(tmp_path / "graph.db") as made:
        yield made


@pytest.fixture
def talk(database: GraphDatabase) -> Talk:
    return Talk(database).login()


def code(answer: tuple[int, Any]) -> str:
    tag, about = answer
    assert tag == FAILURE, answer
    found: str = about.get("neo4j_code", about.get("code"))
    return found


# Who


def test_hello_and_logon(database: GraphDatabase) -> None:
    talk = Talk(database)
    tag, about = talk.one("HELLO", HELLO)
    assert tag == SUCCESS
    assert about["server"].startswith("Neo4j/5.")
    assert about["connection_id"] == "bolt-0"
    assert talk.state() == "AUTHENTICATION"
    assert talk.one("LOGON", {"scheme": "bearer", "credentials": "token-1"}) == (SUCCESS, {})
    assert talk.state() == "READY"
    assert talk.one("LOGOFF") == (SUCCESS, {})
    assert talk.state() == "AUTHENTICATION"
    assert talk.one("RESET")[0] == SUCCESS
    assert talk.state() == "AUTHENTICATION"  # a RESET is not a login
    assert code(talk.run("RETURN 1")) == "Neo.ClientError.Request.Invalid"
    assert talk.it.done


@pytest.mark.parametrize("version", [Version(4, 4), Version(5, 0)])
def test_before_5_1_hello_logs_on(database: GraphDatabase, version: Version) -> None:
    talk = Talk(database, version=version)
    assert talk.one("HELLO", {**HELLO, **BASIC, "patch_bolt": ["utc"]})[1].get("patch_bolt") == (
        ["utc"] if version < (5, 0) else None
    )
    assert talk.state() == "READY"
    assert "code" in talk.run("RETURN")[1]


@pytest.mark.parametrize(
    "auth",
    [
        {**BASIC, "credentials": "wrong"},
        {**BASIC, "scheme": "kerberos"},
        {"scheme": "none"},
        {},
        {"scheme": "bearer", "credentials": "no"},
        {"scheme": "basic", "principal": 5, "credentials": "a-good-secret"},
        {"scheme": "basic", "principal": "ana"},
        {"scheme": ["basic"]},
    ],
)
def test_a_failed_login_ends_it(database: GraphDatabase, auth: dict[str, Any]) -> None:
    talk = Talk(database)
    talk.one("HELLO", HELLO)
    answer = talk.one("LOGON", auth)
    assert code(answer) == "Neo.ClientError.Security.Unauthorized"
    assert "secret" not in str(answer)
    assert talk.it.done
    assert talk.database.sessions == []


def test_without_an_authenticator_everybody_may(database: GraphDatabase) -> None:
    talk = Talk(database, users=None)
    talk.one("HELLO", HELLO)
    assert talk.one("LOGON", {"scheme": "none"})[0] == SUCCESS


def test_the_role_decides(database: GraphDatabase) -> None:
    talk = Talk(database)
    talk.one("HELLO", HELLO)
    talk.one("LOGON", {"scheme": "bearer", "credentials": "token-1"})
    talk.run("RETURN 1")
    assert database.sessions[-1].identity == ("bot", "agent")


# Statements by themselves


def test_a_result_comes_in_parts(talk: Talk) -> None:
    assert talk.run("UNWIND range(1, 5) AS x RETURN x, 'a' AS t")[1]["fields"] == ["x", "t"]
    assert talk.state() == "STREAMING"
    assert talk.ask("PULL", {"n": 2}) == [
        (RECORD, [1, "a"]),
        (RECORD, [2, "a"]),
        (SUCCESS, {"has_more": True}),
    ]
    assert talk.ask("DISCARD", {"n": 1}) == [(SUCCESS, {"has_more": True})]
    *rows, (tag, about) = talk.ask("PULL", ALL)
    assert [row[1][0] for row in rows] == [4, 5]
    assert (tag, about["type"], about["db"], talk.state()) == (SUCCESS, "r", "doxa", "READY")
    assert about["bookmark"] == "doxa:doxa:0"
    assert about["statuses"][0]["gql_status"] == "00000"


def test_a_part_that_ends_with_the_result_says_so(talk: Talk) -> None:
    talk.run("UNWIND range(1, 4) AS x RETURN x")
    assert talk.ask("PULL", {"n": 2})[-1][1] == {"has_more": True}
    assert "has_more" not in talk.ask("PULL", {"n": 2})[-1][1]
    assert talk.state() == "READY"


def test_a_write_tells_what_it_did(talk: Talk) -> None:
    talk.run("CREATE (:A {x: 1})-[:R]->(:B)")
    about = talk.ask("PULL", ALL)[-1][1]
    assert about["stats"] == {
        "nodes-created": 2,
        "relationships-created": 1,
        "properties-set": 1,
        "labels-added": 2,
        "contains-updates": True,
    }
    assert (about["type"], about["bookmark"]) == ("w", "doxa:doxa:1")
    assert about["statuses"][0]["gql_status"] == "00001"
    talk.run("MATCH (n:Nothing) RETURN n")
    assert talk.ask("PULL", ALL)[-1][1]["statuses"][0]["gql_status"] == "02000"


def test_metadata_is_known_to_the_statement(talk: Talk) -> None:
    talk.run("RETURN $_agent AS a, $x AS x", {"x": [1, None]}, tx_metadata={"agent": "kai"})
    assert talk.ask("PULL", ALL)[0] == (RECORD, ["kai", [1, None]])


def test_a_reader_may_not_write(talk: Talk) -> None:
    assert code(talk.run("CREATE (:A)", mode="r")) == "Neo.ClientError.Statement.AccessMode"
    talk.one("RESET")
    talk.run("MATCH (n) RETURN count(n)", mode="r")
    assert talk.ask("PULL", ALL)[0] == (RECORD, [0])


def test_databases_by_name(talk: Talk) -> None:
    for name in ("doxa", "DOXA", "neo4j", "system", None, "second"):
        talk.run("RETURN 1", db=name)
        assert talk.ask("PULL", ALL)[-1][1]["db"] == ("second" if name == "second" else "doxa")
    assert code(talk.run("CREATE (:A)", db="system")) == "Neo.ClientError.Statement.AccessMode"
    talk.one("RESET")
    answer = talk.run("RETURN 1", db="elsewhere")
    assert code(answer) == "Neo.ClientError.Database.DatabaseNotFound"
    assert talk.state() == "FAILED"
    talk.one("RESET")
    assert code(talk.run("RETURN 1", imp_user="root")) == "Neo.ClientError.Security.Forbidden"


# Transactions


def test_a_transaction_of_several_statements(talk: Talk) -> None:
    assert talk.one("BEGIN", {}) == (SUCCESS, {"db": "doxa"})
    assert talk.state() == "TX_READY"
    assert talk.run("CREATE (n:A) RETURN 1")[1]["qid"] == 0
    assert talk.run("MATCH (n:A) RETURN count(n)")[1]["qid"] == 1
    assert talk.state() == "TX_STREAMING"
    assert talk.ask("PULL", {"n": -1, "qid": 0})[0] == (RECORD, [1])
    assert talk.state() == "TX_STREAMING"
    *rows, (_, about) = talk.ask("PULL", ALL)
    assert rows == [(RECORD, [1])]
    assert "bookmark" not in about
    assert talk.state() == "TX_READY"
    assert talk.one("COMMIT") == (SUCCESS, {"bookmark": "doxa:doxa:1"})
    assert talk.state() == "READY"
    assert talk.database.count("A") == 1


def test_the_bookmark_of_a_write_needs_no_look_at_the_log(talk: Talk) -> None:
    told = talk.database.told
    change, read = "MATCH (n:A) SET n.x = ", "MATCH (n:A) RETURN n.x"
    for text, written in (("CREATE (:A {x: 1})", 1), (read, 0), (change + "1", 0)):
        talk.one("BEGIN", {})
        talk.run(text)
        talk.ask("PULL", ALL)
        assert talk.one("COMMIT") == (SUCCESS, {"bookmark": "doxa:doxa:1"})
        assert told[-1] == written
    for text, written in ((change + "2", 2), (read, 0)):
        talk.run(text)
        assert talk.ask("PULL", ALL)[-1][1]["bookmark"] == "doxa:doxa:2"
        assert told[-1] == written


def test_open_results_outlive_the_next_statement(talk: Talk) -> None:
    talk.one("BEGIN", {})
    talk.run("UNWIND range(1, 1000) AS x RETURN x")
    assert talk.ask("PULL", {"n": 2})[-1][1] == {"has_more": True}
    talk.run("UNWIND range(1, 1000) AS x RETURN -x")
    assert talk.ask("PULL", {"n": 1})[0] == (RECORD, [-1])
    assert talk.ask("PULL", {"n": 2, "qid": 0})[:2] == [(RECORD, [3]), (RECORD, [4])]
    assert len(talk.ask("PULL", {"n": -1, "qid": 0})) == 997
    assert len(talk.ask("PULL", {"n": -1, "qid": 1})) == 1000
    talk.one("ROLLBACK")


def test_what_is_rolled_back_is_gone(talk: Talk) -> None:
    talk.one("BEGIN", {})
    talk.run("CREATE (:A)")
    assert talk.one("ROLLBACK") == (SUCCESS, {})
    talk.one("BEGIN", {})
    talk.run("UNWIND range(1, 3) AS x CREATE (:A) RETURN x")
    assert talk.one("RESET")[0] == SUCCESS
    assert talk.state() == "READY"
    assert talk.database.count("A") == 0


def test_a_commit_drops_what_was_not_pulled(talk: Talk) -> None:
    """A commit takes as many calls after a million rows as after a hundred."""

    def commit(rows: int) -> int:
        talk.one("BEGIN", {"mode": "r"})
        talk.run(f"UNWIND range(1, {rows}) AS x RETURN x")
        return calls_of(lambda: talk.one("COMMIT"))

    first, few, many = commit(100), commit(100), commit(1_000_000)
    assert 0 < many <= few <= first
    assert talk.state() == "READY"


# Failures


def test_after_a_failure_all_is_ignored_until_reset(talk: Talk) -> None:
    talk.one("BEGIN", {})
    talk.run("CREATE (:A)")
    talk.ask("PULL", ALL)
    talk.run("UNWIND [1, 0] AS x RETURN 1 / x AS y")
    *_, failed = talk.ask("PULL", ALL)
    assert code(failed) == "Neo.ClientError.Statement.ArithmeticError"
    assert talk.state() == "FAILED"
    for name, *fields in (
        ("RUN", "RETURN 1", {}, {}),
        ("PULL", ALL),
        ("DISCARD", ALL),
        ("BEGIN", {}),
        ("COMMIT",),
        ("ROLLBACK",),
        ("LOGOFF",),
        ("ROUTE", {}, [], {}),
        ("TELEMETRY", 1),
    ):
        assert talk.one(name, *fields) == (IGNORED, None)
    assert talk.one("RESET")[0] == SUCCESS
    assert talk.database.count("A") == 0


def test_errors_tell_a_gql_status_since_5_7(database: GraphDatabase) -> None:
    talk = Talk(database).login()
    talk.run("UNWIND [0] AS x RETURN 1 / x")
    about = talk.ask("PULL", ALL)[-1][1]
    assert set(about) == {"neo4j_code", "message", "gql_status", "description", "diagnostic_record"}
    assert (about["gql_status"], about["diagnostic_record"]["_classification"]) == (
        "22012",
        "CLIENT_ERROR",
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("RETURN", "Statement.SyntaxError"),
        ("RETURN nope", "Statement.SyntaxError"),
        ("RETURN $x", "Statement.ParameterMissing"),
        ("RETURN 1 + date()", "Statement.TypeError"),
        ("RETURN date('x')", "Statement.ArgumentError"),
        ("CALL no.such()", "Procedure.ProcedureNotFound"),
        ("CREATE (a)-[:R]->(b) DELETE a", "Schema.ConstraintValidationFailed"),
        ("CREATE (a {x: {}})", "Statement.TypeError"),
    ],
)
def test_errors_have_the_codes_of_neo4j(talk: Talk, text: str, wanted: str) -> None:
    answer = talk.run(text)
    if answer[0] == SUCCESS:
        answer = talk.ask("PULL", ALL)[-1]
    assert code(answer) == f"Neo.ClientError.{wanted}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "CREATE INDEX ia FOR (n:A) ON (n.x)",
            "ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
        ),
        ("CREATE INDEX FOR (n:A) ON (n.x)", "ClientError.Schema.IndexAlreadyExists"),
        ("CREATE INDEX ib FOR (n:A) ON (n.x)", "ClientError.Schema.IndexAlreadyExists"),
        ("CREATE INDEX ia FOR (n:A) ON (n.y)", "ClientError.Schema.IndexWithNameAlreadyExists"),
        (
            "CREATE INDEX cb FOR (n:Q) ON (n.x)",
            "ClientError.Schema.ConstraintWithNameAlreadyExists",
        ),
        (
            "CREATE CONSTRAINT cb FOR (n:B) REQUIRE n.x IS UNIQUE",
            "ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
        ),
        (
            "CREATE CONSTRAINT cc FOR (n:B) REQUIRE n.x IS UNIQUE",
            "ClientError.Schema.ConstraintAlreadyExists",
        ),
        (
            "CREATE CONSTRAINT cb FOR (n:B) REQUIRE n.y IS UNIQUE",
            "ClientError.Schema.ConstraintWithNameAlreadyExists",
        ),
        (
            "CREATE CONSTRAINT ia FOR (n:A) REQUIRE n.z IS UNIQUE",
            "ClientError.Schema.IndexWithNameAlreadyExists",
        ),
        (
            "CREATE CONSTRAINT ia FOR (n:A) REQUIRE n.z IS NOT NULL",
            "ClientError.Schema.IndexWithNameAlreadyExists",
        ),
        ("DROP INDEX absent", "DatabaseError.Schema.IndexDropFailed"),
        ("DROP INDEX cb", "DatabaseError.Schema.IndexDropFailed"),
        ("DROP CONSTRAINT absent", "DatabaseError.Schema.ConstraintDropFailed"),
        ("DROP CONSTRAINT ia", "DatabaseError.Schema.ConstraintDropFailed"),
        (
            "CREATE CONSTRAINT cd FOR (n:D) REQUIRE n.x IS UNIQUE",
            "DatabaseError.Schema.ConstraintCreationFailed",
        ),
        ("CREATE (:B {x: 1})", "ClientError.Schema.ConstraintValidationFailed"),
    ],
)
def test_schema_commands_fail_with_the_codes_of_neo4j(talk: Talk, text: str, wanted: str) -> None:
    for before in (
        "CREATE INDEX ia FOR (n:A) ON (n.x)",
        "CREATE CONSTRAINT cb FOR (n:B) REQUIRE n.x IS UNIQUE",
        "CREATE (:B {x: 1}), (:D {x: 1}), (:D {x: 1})",
    ):
        assert talk.run(before)[0] == SUCCESS
        talk.ask("PULL", ALL)
    assert code(talk.run(text)) == f"Neo.{wanted}"


def test_what_needs_an_implicit_transaction_says_so_in_the_words_that_clients_look_for(
    talk: Talk,
) -> None:
    talk.one("BEGIN", {})
    answer = talk.run("CALL { CREATE (:X) } IN TRANSACTIONS")
    assert code(answer) == "Neo.DatabaseError.Transaction.TransactionStartFailed"
    assert "in an implicit transaction" in answer[1]["message"]
    talk.one("RESET")
    assert talk.run("CALL { CREATE (:X) } IN TRANSACTIONS")[0] == SUCCESS


def test_another_writer_in_between_is_worth_a_second_try(
    talk: Talk, database: GraphDatabase
) -> None:
    for attempt in range(
        2
    ):  # the first time it commits as it is: it only reads, as far as one knows
        talk.one("BEGIN", {})
        talk.run("MATCH (n:A) RETURN count(n)")
        talk.ask("PULL", ALL)
        if attempt == 0:
            talk.one("COMMIT")
    thread = threading.Thread(
        target=lambda: Talk(database).login().ask("RUN", "CREATE (:A)", {}, {})
    )
    thread.start()
    thread.join()
    assert code(talk.run("CREATE (:A)")) == "Neo.TransientError.Transaction.Outdated"


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("PULL", [ALL]),
        ("HELLO", [HELLO]),
        ("LOGON", [BASIC]),
        ("COMMIT", []),
        ("ROLLBACK", []),
        ("DISCARD", [ALL]),
    ],
)
def test_a_message_out_of_its_state_ends_it(talk: Talk, name: str, fields: list[Any]) -> None:
    assert code(talk.one(name, *fields)) == "Neo.ClientError.Request.Invalid"
    assert talk.it.done


@pytest.mark.parametrize(
    "fields",
    [[{}], [{"n": 0}], [{"n": -2}], [{"n": "1"}], [{"n": True}], [{"n": 1, "qid": 7}], [5]],
)
def test_a_pull_that_makes_no_sense_ends_it(talk: Talk, fields: list[Any]) -> None:
    talk.run("RETURN 1")
    assert code(talk.one("PULL", *fields)) == "Neo.ClientError.Request.Invalid"
    assert talk.it.done


def test_a_terminated_transaction_releases_its_lock_while_its_client_is_silent(
    database: GraphDatabase,
) -> None:
    bot, ana = Talk(database).login(), Talk(database).login()
    bot.one("BEGIN", {})
    bot.run("CREATE (:Held)")
    assert (bot.it.seconds_left() or 0) <= 1  # it wakes to look
    ana.run("SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS q, connectionId AS c")
    ids = {row[1][1]: row[1] for _, row in enumerate(ana.ask("PULL", ALL)[:-1])}
    found = ids["CREATE (:Held)"]
    assert found[2] == "bolt-0"
    ana.run("TERMINATE TRANSACTION $id", {"id": found[0]})
    ana.ask("PULL", ALL)
    bot.it.expire()
    assert ana.run("CREATE (:Free)")[0] == SUCCESS  # the writer's lock is free
    ana.ask("PULL", ALL)
    assert code(bot.run("RETURN 1")) == "Neo.ClientError.Transaction.Terminated"
    bot.one("RESET")
    assert (database.count("Held"), database.count("Free")) == (0, 1)


@pytest.mark.parametrize("mode", ["r", "w"])
@pytest.mark.parametrize("text", ["MATCH (a:A) RETURN a", "MATCH (a:A) RETURN a.x ORDER BY a.x"])
def test_a_terminated_statement_lets_its_snapshot_go_while_its_client_is_silent(
    database: GraphDatabase, text: str, mode: str
) -> None:
    bot, ana = Talk(database, connection_id="bolt-9").login(), Talk(database).login()
    ana.run("UNWIND range(1, 3000) AS x CREATE (:A {x: x})")
    ana.ask("PULL", ALL)
    bot.run(text, mode=mode)
    assert bot.ask("PULL", {"n": 1})[-1][1] == {"has_more": True}
    assert database.store.connection().in_transaction  # its snapshot: both use this thread
    ana.run("SHOW TRANSACTIONS YIELD transactionId AS id, connectionId AS c")
    (found,) = [row[1][0] for row in ana.ask("PULL", ALL)[:-1] if row[1][1] == "bolt-9"]
    bot.it.expire()  # looks in vain
    assert database.store.connection().in_transaction
    ana.run("TERMINATE TRANSACTION $id", {"id": found})
    ana.ask("PULL", ALL)
    bot.it.expire()
    assert not database.store.connection().in_transaction
    assert code(bot.one("PULL", ALL)) == "Neo.ClientError.Transaction.Terminated"
    bot.one("RESET")
    assert bot.run("RETURN 1", mode=mode)[0] == SUCCESS
    assert bot.ask("PULL", ALL)[-1][0] == SUCCESS


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xb0",
        b"\xb0\x99",
        b"\xb1\x10\x01",
        b"\xb3\x10",
        b"\xb0\x0f\x00",
        b"\x01\x02",
        b"\xb0\x10",
    ],
)
def test_bytes_that_are_no_message_end_it(talk: Talk, message: bytes) -> None:
    assert code(talk.bytes(message)[0]) == "Neo.ClientError.Request.InvalidFormat"
    assert talk.it.done


def test_a_parameter_that_cannot_be_is_an_error_of_the_statement(talk: Talk) -> None:
    date = b"\xb1\x44\xcb" + (2**62).to_bytes(8, "big")
    message = b"\xb3\x10\x88RETURN 1\xa1\x81x" + date + b"\xa0"
    assert code(talk.bytes(message)[0]) == "Neo.ClientError.Statement.ArgumentError"
    assert talk.state() == "FAILED"
    assert talk.bytes(message)[0] == (IGNORED, None)


def test_messages_of_newer_versions_are_unknown_to_older(database: GraphDatabase) -> None:
    talk = Talk(database, version=Version(5, 3)).login()
    assert code(talk.one("TELEMETRY", 1)) == "Neo.ClientError.Request.InvalidFormat"
    talk = Talk(database, version=Version(5, 0))
    talk.one("HELLO", {**HELLO, **BASIC})
    assert code(talk.one("LOGOFF")) == "Neo.ClientError.Request.InvalidFormat"


def test_an_unexpected_error_is_logged_and_not_shown(
    talk: Talk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(talk.database, "open_session", lambda *_: 1 / 0)
    answer = talk.run("RETURN 1")
    assert code(answer) == "Neo.DatabaseError.General.UnknownError"
    assert "division" not in answer[1]["message"]
    assert "ZeroDivisionError" in caplog.text


# Interruption, deadlines, ends


def test_what_is_before_a_reset_is_ignored(talk: Talk) -> None:
    talk.run("UNWIND range(1, 10) AS x RETURN x")
    talk.it.interrupt()
    assert talk.one("PULL", ALL) == (IGNORED, None)
    assert talk.run("CREATE (:A)") == (IGNORED, None)
    assert talk.one("RESET")[0] == SUCCESS
    assert talk.state() == "READY"
    assert talk.database.count("A") == 0


def test_two_resets_on_their_way(talk: Talk) -> None:
    talk.it.interrupt()
    talk.it.interrupt()
    assert talk.one("RESET")[0] == SUCCESS
    assert talk.run("RETURN 1") == (IGNORED, None)
    assert talk.one("RESET")[0] == SUCCESS
    assert talk.run("RETURN 1")[0] == SUCCESS


def test_a_silent_transaction_ends_at_its_deadline(talk: Talk) -> None:
    talk.one("BEGIN", {"tx_timeout": 30})
    talk.run("CREATE (:A)")
    left = talk.it.seconds_left()
    assert left is not None
    assert 0 < left <= 0.03
    time.sleep(0.05)
    talk.it.expire()
    assert talk.database.count("A") == 0  # the write lock is free again
    assert code(talk.one("COMMIT")) == "Neo.ClientError.Transaction.TransactionTimedOut"
    assert talk.one("RESET")[0] == SUCCESS
    assert talk.run("RETURN 1")[0] == SUCCESS


def test_a_long_statement_ends_at_its_deadline(talk: Talk) -> None:
    talk.run(
        "UNWIND range(1, 10000) AS x UNWIND range(1, 10000) AS y WITH x WHERE x < 0 RETURN x",
        tx_timeout=50,
    )
    assert code(talk.ask("PULL", ALL)[-1]) == "Neo.ClientError.Transaction.TransactionTimedOut"


def test_a_silent_client_without_login_is_let_go(database: GraphDatabase) -> None:
    talk = Talk(database, login_ms=10)
    talk.one("HELLO", HELLO)
    time.sleep(0.02)
    talk.it.expire()
    assert talk.it.done


def test_goodbye_leaves_nothing_open(talk: Talk) -> None:
    talk.one("BEGIN", {})
    talk.run("CREATE (:A)")
    assert talk.ask("GOODBYE") == []
    assert talk.it.done
    assert talk.database.count("A") == 0


def test_route_leads_to_itself(database: GraphDatabase) -> None:
    talk = Talk(database, address="memory.example:7687").login()
    table = talk.one("ROUTE", {}, [], {"db": "neo4j"})[1]["rt"]
    assert table["db"] == "neo4j"
    assert talk.one("ROUTE", {}, [], {})[1]["rt"]["db"] == "doxa"
    assert {server["role"]: server["addresses"] for server in table["servers"]} == {
        role: ["memory.example:7687"] for role in ("READ", "WRITE", "ROUTE")
    }
    assert talk.one("ROUTE", {"address": "seen:1"}, [], {})[1]["rt"]["servers"][0]["addresses"] == [
        "seen:1"
    ]
    assert (
        code(talk.one("ROUTE", {}, [], {"db": "nope"}))
        == "Neo.ClientError.Database.DatabaseNotFound"
    )


def test_every_request_is_handled_in_some_state() -> None:
    handled = {name for name, states in ALLOWED_IN.items() if states} | {"RESET", "GOODBYE"}
    assert handled == {request.name for request in REQUESTS.values()}
    assert {request.name: tag for tag, request in REQUESTS.items()} == TAGS


# The table of codes


def test_every_status_is_well_formed() -> None:
    tables = [codes._BY_DETAIL.values(), codes._BY_KIND.values(), codes._BY_CLASS.values()]
    statuses = [status for table in tables for status in table] + [
        value for value in vars(codes).values() if isinstance(value, codes.Status)
    ]
    for status in statuses:
        assert len(status.code.split(".")) == 4
        assert status.code.split(".")[1] in ("ClientError", "TransientError", "DatabaseError")
        assert len(status.gql) == 5


def test_every_class_of_ours_has_a_code() -> None:
    from doxa.base import errors

    classes = {
        value.code
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.DoxaError)
    }
    assert classes == set(codes._BY_CLASS)


# Any messages in any order

MAPS = st.sampled_from(
    [
        {},
        {"n": -1},
        {"n": 2},
        {"mode": "r"},
        {"db": "x"},
        {"qid": 3, "n": 1},
        {"tx_timeout": -1},
        BASIC,
    ]
)
MESSAGES = st.one_of(
    st.tuples(
        st.just("RUN"),
        st.sampled_from(["RETURN 1", "CREATE (:F)", "RETURN", "UNWIND range(1, 9) AS x RETURN x"]),
        MAPS,
        MAPS,
    ),
    st.tuples(st.sampled_from(["PULL", "DISCARD", "BEGIN", "HELLO", "LOGON"]), MAPS),
    st.tuples(st.sampled_from(["COMMIT", "ROLLBACK", "RESET", "LOGOFF"])),
    st.tuples(st.just("ROUTE"), MAPS, st.just([]), MAPS),
    st.tuples(st.just("TELEMETRY"), st.integers(0, 4)),
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphDatabase]:
    made = GraphDatabase(tmp_path_factory.mktemp("bolt") / "graph.db")
    yield made
    made.store.close()


@settings(max_examples=150, deadline=None)
@given(st.lists(MESSAGES, max_size=25), st.booleans())
def test_any_order_of_messages_gets_an_answer_each(
    shared: GraphDatabase, messages: list[tuple[Any, ...]], fresh: bool
) -> None:
    talk = Talk(shared) if fresh else Talk(shared).login()
    for name, *fields in messages:
        if talk.it.done:
            break
        *records, last = talk.ask(name, *fields)
        assert all(tag == RECORD for tag, _ in records)
        assert last[0] in (SUCCESS, FAILURE, IGNORED)
        assert last[0] != IGNORED or talk.it.state in (
            BoltState.FAILED,
            BoltState.INTERRUPTED,
        )
    talk.it.close()
    OPEN.clear()
    with shared.store.write(Identity(), op="free"):
        pass  # nothing keeps the lock


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=6))
def test_any_bytes_get_an_answer_or_the_end(shared: GraphDatabase, messages: list[bytes]) -> None:
    talk = Talk(shared).login()
    for message in messages:
        if not talk.it.done:
            talk.bytes(message)
    talk.it.close()


# What is kept from one message to the next


def test_a_session_goes_on_for_the_same_user_and_no_other(database: GraphDatabase) -> None:
    talk = Talk(database).login()

    def work(text: str = "RETURN 1", **extra: Any) -> None:
        assert talk.one("BEGIN", extra)[0] == SUCCESS
        assert talk.run(text)[0] == SUCCESS
        assert talk.ask("PULL", ALL)[-1][0] == SUCCESS
        assert talk.one("COMMIT")[0] == SUCCESS

    for _ in range(3):
        work()
        talk.run("CREATE (:Cat)")
        talk.ask("PULL", ALL)
    assert len(database.sessions) == 1 and database.count("Cat") == 3
    work(db="second")
    work(tx_metadata={"agent": "x"})
    assert len(database.sessions) == 3  # another database, and what says something of itself
    work()
    work()
    opened = len(database.sessions)
    talk.one("BEGIN", {})
    talk.run("RETURN $missing")
    talk.one("RESET")
    work()
    assert len(database.sessions) == opened + 1  # nothing of one that failed
    assert talk.one("LOGOFF") == (SUCCESS, {})
    assert talk.one("LOGON", {"scheme": "bearer", "credentials": "token-1"})[0] == SUCCESS
    work("CREATE (:Dog)")
    assert len(database.sessions) == opened + 2
    assert database.sessions[-1].identity == Identity("bot", "agent")
    with database.store.read() as snapshot:
        receipt = snapshot.last_receipt()
        assert receipt is not None and (receipt.actor, receipt.role) == ("bot", "agent")


def test_another_limit_holds_for_a_session_that_goes_on(database: GraphDatabase) -> None:
    talk = Talk(database).login()
    talk.run("RETURN 1", tx_timeout=7_000)
    talk.ask("PULL", ALL)
    assert database.sessions[-1].timeout_ms == 7_000
    talk.run("RETURN 1", tx_timeout=9_000)
    assert database.sessions[-1].timeout_ms == 9_000 and len(database.sessions) == 1
