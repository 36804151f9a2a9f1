"""Windows of versions: instants whatever types say them, against a model; the procedures of
windows; the worked example of a superseded fact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.base.errors import ConstraintError
from doxa.base.temporal import NS, Date, DateTime, Duration, LocalDateTime, LocalTime, Time, at_zone
from doxa.base.temporal_text import parse_datetime
from doxa.cypher.errors import QueryError
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store, check, digest, replayed_digest
from tests.query.test_session import SEED_EXAMPLE

SCHEMA = "CREATE CONSTRAINT t FOR (v:V) REQUIRE (v.key, v.from, v.to) IS TEMPORAL NO OVERLAP"
DAY_S = 86_400


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GraphSession]:
    with (
        Store(tmp_path / "g.db") as store,
        GraphSession(store, QueryEngine(), Identity("t", "operator")) as made,
    ):
        yield made
        made.close()
        assert check(store) == []


def add(session: GraphSession, start: Any, end: Any = None, key: Any = "a") -> None:
    session.run(
        "CREATE (:V {key: $key, from: $from, to: $to})", {"key": key, "from": start, "to": end}
    )


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [
        (
            ("datetime('2022-01-01T00:00Z')", "datetime('2023-01-01T00:00Z')"),
            ("1654041600000000000", "null"),
            False,
        ),
        (
            ("'2022-01-01T10:00:00+05:00'", "'2022-01-01T11:00:00+05:00'"),
            ("'2022-01-01T05:30:00Z'", "'2022-01-01T05:45:00Z'"),
            False,
        ),
        (
            ("'2022-01-01T10:00:00+05:00'", "'2022-01-01T11:00:00+05:00'"),
            ("'2022-01-01T06:00:00Z'", "'2022-01-01T06:45:00Z'"),
            True,
        ),
        (
            ("date('2020-01-01')", "date('2021-01-01')"),
            ("datetime('2022-01-01T00:00Z')", "null"),
            True,
        ),
        (("date('2020-01-01')", "null"), ("datetime('2022-01-01T00:00Z')", "null"), False),
        (("localdatetime('2020-01-01')", "'2021'"), ("'2021-01-01'", "null"), True),
    ],
)
def test_ends_of_different_types(
    session: GraphSession, first: tuple[str, str], second: tuple[str, str], fits: bool
) -> None:
    for one, other in ((first, second), (second, first)):
        session.run("MATCH (n) DETACH DELETE n")
        if not session.run("SHOW CONSTRAINTS").records():
            session.run(SCHEMA)
        session.run(f"CREATE (:V {{key: 1, from: {one[0]}, to: {one[1]}}})")
        text = f"CREATE (:V {{key: 1.0, from: {other[0]}, to: {other[1]}}})"
        if fits:
            session.run(text)
        else:
            with pytest.raises(ConstraintError):
                session.run(text)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("zzz", None),
        (True, None),
        (1.5, None),
        (Date(0), "rubbish"),
        (Date(0), Time(0, 0)),
        (Date(0), True),
        (Date(18_262), "2019-01-01"),
        (Date(0), "1970-01-01T00:00Z"),
        (Duration(0, 1, 0, 0), None),
        (LocalTime(0), None),
        ([Date(0)], None),
    ],
)
def test_what_is_no_time_or_ends_too_soon_is_refused(
    session: GraphSession, start: Any, end: Any
) -> None:
    session.run(SCHEMA)
    with pytest.raises(ConstraintError):
        add(session, start, end)
    session.run("DROP CONSTRAINT t")
    add(session, start, end)
    with pytest.raises(ConstraintError):
        session.run(SCHEMA)


def test_the_index_of_windows_is_shown_and_leads_nowhere_else(session: GraphSession) -> None:
    session.run(SCHEMA)
    add(session, Date(1), Date(2))
    shown = session.run("SHOW RANGE INDEXES YIELD name, type, properties").records()
    assert shown == [{"name": "t", "type": "RANGE", "properties": ["key", "from", "to"]}]
    text = (
        "MATCH (v:V) WHERE v.key = 'a' AND v.from = date('1970-01-02') AND v.to ="
        " date('1970-01-03') RETURN count(v)"
    )
    assert session.run(text).single() == 1
    assert digest(session.store) == replayed_digest(session.store)
    with session.store.write(Identity("t", "operator"), op="damage") as tx:
        tx._db.execute("UPDATE entry SET key = CAST(key || x'00' AS BLOB)")
    assert check(session.store)
    with session.store.write(Identity("t", "operator"), op="repair") as tx:
        tx._db.execute("UPDATE entry SET key = CAST(substr(key, 1, length(key) - 1) AS BLOB)")


def said(instant_s: int, form: int) -> Any:
    """The same instant in one of the ways to say it; not every way can."""
    at = at_zone(instant_s, 0, 3_600 * (form % 5 - 2))
    forms: list[Any] = [
        instant_s * NS,
        DateTime(instant_s, 0, 0),
        at,
        LocalDateTime(instant_s, 0),
        str(at),
        str(LocalDateTime(instant_s, 0)),
        at_zone(instant_s, 0, "Asia/Kolkata"),
    ]
    if instant_s % DAY_S == 0:
        forms += [Date(instant_s // DAY_S), str(Date(instant_s // DAY_S))]
    return forms[form % len(forms)]


POINTS = st.sampled_from(
    [
        day * DAY_S + rest
        for day in (-400_000, -3, 0, 1, 2, 30, 400_000_000)
        for rest in (0, 0, 1, 19_800, DAY_S - 1)
    ]
)
NO_TIMES = st.sampled_from(
    ["zzz", True, 2.5, Time(0, 0), Duration(0, 1, 0, 0), "10:00", b"x", ["1970-01-01"]]
)
SAID = st.builds(
    lambda at, form: (at, said(at, form) if abs(at) < 2**33 else said(at, form % 4 + 1)),
    POINTS,
    st.integers(0, 200),
)
ENDS = st.one_of(SAID, SAID, SAID, st.just((None, None)), st.tuples(st.none(), NO_TIMES))


@settings(max_examples=60, deadline=None)
@given(
    windows=st.lists(st.tuples(st.sampled_from(["a", 1]), ENDS, ENDS), max_size=10),
    asked=st.lists(SAID, min_size=1, max_size=4),
)
def test_windows_agree_with_a_model_of_instants(
    tmp_path_factory: pytest.TempPathFactory, windows: list[Any], asked: list[Any]
) -> None:
    kept: dict[int, tuple[Any, int, int | None]] = {}
    with (
        Store(tmp_path_factory.mktemp("w") / "g.db") as store,
        GraphSession(store, QueryEngine(), Identity("t", "operator")) as session,
    ):
        session.run(SCHEMA)
        for number, (key, (low, start), (high, end)) in enumerate(windows):
            fits = (
                low is not None
                and (end is None or (high is not None and low < high))
                and not any(
                    key == k and (high is None or s < high) and (e is None or low < e)
                    for k, s, e in kept.values()
                )
            )
            given = {"i": number, "k": key, "s": start, "e": end}
            try:
                assert (
                    session.run(
                        "CALL db.temporal.assertNoOverlap('V', 'key', 'from', 'to', $k, $s, $e)",
                        given,
                    ).single()
                    and fits
                )
            except QueryError:
                assert not fits
            try:
                session.run("CREATE (:V {i: $i, key: $k, from: $s, to: $e})", given)
                assert fits, (start, end)
                kept[number] = (key, low, high)
            except ConstraintError:
                assert not fits, (start, end)
        for at, moment in asked:
            held = {
                i for i, (_, low, high) in kept.items() if low <= at and (high is None or at < high)
            }
            rows = session.run("AS OF VALID TIME $t MATCH (v:V) RETURN v.i", {"t": moment})
            assert {row[0] for row in rows} == held
            for key in ("a", 1):
                rows = session.run(
                    "CALL db.temporal.asOf('V', 'key', $k, 'from', 'to', $t) YIELD node RETURN"
                    " node.i",
                    {"k": key, "t": moment},
                )
                assert [row[0] for row in rows] == [i for i in held if kept[i][0] == key]
        assert check(store) == []


def wins(session: GraphSession, moment: str, *more: Any) -> list[Any]:
    extra = "".join(f", ${i}" for i in range(len(more)))
    text = (
        f"CALL db.temporal.asOf('F', 'k', 'x', 'f', 't', {moment}{extra}) YIELD node RETURN node.v"
    )
    return [row[0] for row in session.run(text, {str(i): value for i, value in enumerate(more)})]


@pytest.mark.parametrize(
    "schema",
    [
        None,
        "CREATE INDEX FOR (n:F) ON (n.k)",
        "CREATE CONSTRAINT FOR (n:F) REQUIRE (n.k, n.f, n.t) IS TEMPORAL NO OVERLAP",
    ],
)
def test_the_procedures_of_windows_with_and_without_an_index(
    session: GraphSession, schema: str | None
) -> None:
    if schema:
        session.run(schema)
    session.run(
        "CREATE (:F {k: 'x', v: 1, f: date('2020-01-01')}), (:F {k: 'y', v: 9, f:"
        " date('2020-01-01')}), (:G {k: 'x', v: 8, f: 0})"
    )
    with session.store.read() as snapshot:
        first = snapshot.last_receipt()
    assert first is not None
    session.run(
        "MATCH (n:F {v: 1}) SET n.t = '2021-01-01T00:00:00+01:00' CREATE (:F {k: 'x', v: 2, f:"
        " datetime('2021-06-01T00:00Z'), t: '2022'})"
    )
    session.run("MATCH (n:F {v: 2}) SET n.seen = true")
    assert wins(session, "date('2020-05-05')") == [1]
    assert wins(session, "'2020-12-31T22:59:59Z'") == [1]
    assert wins(session, "'2020-12-31T23:00:00Z'") == []
    assert wins(session, "1635000000000000000") == [2]
    assert wins(session, "date('2019-01-01')") == wins(session, "date('2022-01-01')") == []
    assert (
        wins(session, "date('2021-07-01')", first.time)
        == wins(session, "date('2021-07-01')", None, first.tx)
        == [1]
    )
    assert wins(session, "date('2021-07-01')", "2999-01-01", first.tx) == [1]
    assert wins(session, "date('2021-07-01')", "1999-01-01", first.tx) == []
    assert wins(session, "date('2021-07-01')", None, None) == [2]
    with pytest.raises(QueryError):
        wins(session, "date('2021-07-01')", None, 999)
    free = (
        "CALL db.temporal.assertNoOverlap('F', 'k', 'f', 't', 'x', {low}, {high}{more}) YIELD ok"
        " RETURN ok"
    )
    for low, high, more in (
        ("date('2021-01-01')", "'2021-05-31T23:59Z'", ""),
        ("date('2022-01-01')", "null", ""),
        ("0", "date('2020-01-01')", ""),
        ("date('1990-01-01')", "null", ", '1999-01-01'"),
    ):
        assert session.run(free.format(low=low, high=high, more=more)).single() is True
    for low, high, more in (
        ("date('2021-01-01')", "'2021-06-01T00:01Z'", ""),
        ("date('2020-06-01')", "null", ""),
        ("0", "null", ""),
        ("1", "1", ""),
        ("date('2022-01-01')", "null", f", null, {first.tx}"),
        ("'soon'", "null", ""),
        ("null", "null", ""),
    ):
        with pytest.raises(QueryError):
            session.run(free.format(low=low, high=high, more=more)).single()


def test_a_fact_superseded_by_a_later_one_without_any_constraint(session: GraphSession) -> None:
    for text in SEED_EXAMPLE:
        session.run(text)
    valid = "MATCH (v:FactVersion) RETURN v.value"
    assert (
        session.run(
            "MATCH (:FactKey {id: 'method:lora:quality_ratio'})-[:CURRENT]->(v) RETURN v.value"
        ).single()
        == "97% at 0.08%"
    )
    assert session.run(f"AS OF VALID TIME date('2024-03-01') {valid}").single() == "95% at 0.1%"
    assert session.run(f"AS OF VALID TIME date('2024-07-20') {valid}").single() == "97% at 0.08%"
    assert session.run(f"AS OF VALID TIME date('2023-01-01') {valid}").records() == []
    session.run("MATCH (v:FactVersion) SET v.a = v.validFrom")
    session.run(
        "CREATE CONSTRAINT own FOR (v:FactVersion) REQUIRE (v.source, v.a, v.b) IS TEMPORAL NO"
        " OVERLAP"
    )
    assert (
        len(session.run(f"AS OF VALID TIME date('2024-08-01') {valid}").records()) == 2
    )  # the window that the constraint names


def test_years_far_away(session: GraphSession) -> None:
    session.run(SCHEMA)
    far = parse_datetime("+900000000-01-01T00:00:00.000000001Z")
    add(session, Date(0), far)
    text = "AS OF VALID TIME $t MATCH (v:V) RETURN count(v)"
    assert session.run(text, {"t": "+900000000-01-01"}).single() == 1
    assert session.run(text, {"t": far}).single() == 0
    add(session, far)


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a'b", "a.b", "$date", "ä b", "a\nb", "a[0]"])
def test_properties_of_any_name(session: GraphSession, name: str) -> None:
    session.run(
        f"CREATE CONSTRAINT FOR (v:V) REQUIRE (v.k, v.`{name}`, v.`{name} to`) IS TEMPORAL NO"
        " OVERLAP"
    )
    for start, end in (
        (5, 7),
        (Date(1), "1970-01-04"),
        (DateTime(20 * DAY_S, 1, 0), LocalDateTime(30 * DAY_S, 0)),
    ):
        session.run(
            "CREATE (v:V {k: 1}) SET v[$from] = $start, v[$to] = $end",
            {"from": name, "to": name + " to", "start": start, "end": end},
        )
    for moment, found in (
        (4, 0),
        (5, 1),
        (7, 0),
        (Date(1), 1),
        (Date(3), 0),
        (20 * DAY_S * NS, 0),
        (20 * DAY_S * NS + 1, 1),
        (Date(30), 0),
    ):
        assert (
            session.run("AS OF VALID TIME $t MATCH (v:V) RETURN count(v)", {"t": moment}).single()
            == found
        ), moment
