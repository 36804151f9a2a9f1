"""Persistence policies as schema: what the commands declare and refuse, which scores and windows
follow, and how they are explained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.base.errors import RoleError
from doxa.cypher.errors import QueryError
from tests.cypher.policy_corpus import EVERY, PAPER
from tests.query.policy_world import DAY, EPISODES, World, exactly

# The paper's figures


def test_the_curve_of_the_paper(world: World) -> None:
    world.run(EPISODES)
    world.run("CREATE (:Episode {i: 1})")
    with world.memory.store.read() as reader:
        born = reader.rows("SELECT born FROM node WHERE json_extract(labels, '$[0]') = 'Episode'")[
            0
        ][0]
    for days, score in ((7, 0.5), (14, 0.25), (21, 0.125), (23.25, 0.10003494), (24, 0.09287463)):
        exactly(world, born + int(days * DAY * 10**9))
        with world.memory.store.read() as reader:
            pass
        found = world.one("MATCH (n:Episode) RETURN decayScore(reveal(n))")
        assert found == pytest.approx(2 ** (-days / 7), abs=1e-9) and found == pytest.approx(
            score, abs=1e-5
        )
        assert bool(world.run("MATCH (n:Episode) RETURN n.i")) is (found >= 0.10)
    hidden = 7 * 3.321928094887362  # days until 2^(-t/7) = 0.1
    assert hidden == pytest.approx(23.2535, abs=1e-4)
    for days, seen in ((hidden - 1e-6, True), (hidden + 1e-6, False)):
        exactly(world, born + int(days * DAY * 10**9))
        assert bool(world.run("MATCH (n:Episode) RETURN n.i")) is seen


@pytest.mark.parametrize(("section", "text"), PAPER.items())
def test_the_commands_of_the_paper_run_as_they_stand(world: World, section: str, text: str) -> None:
    made = world.memory.run(text).counters["policies_added"]
    assert made == {"4.2.1": 4, "4.2.3": 1, "4.3": 1, "5.2": 3, "5.3": 2}[section]


@pytest.mark.parametrize("text", EVERY)
def test_every_form_is_carried_out_or_refused_with_its_reason(world: World, text: str) -> None:
    params = {
        "name": "p",
        "h": 60,
        "f": "step",
        "a": "CUSTOM",
        "p": "p",
        "t": 0.5,
        "m": 2,
        "c": 0.5,
        "q": 0.1,
        "v": 1,
    }
    for name in ("a", "p", "p q"):
        world.run(f"CREATE DECAY PROFILE `{name}` OPTIONS {{ halfLifeSeconds: 60 }}")
    for name in ("a", "p", "x", "y", "z", "a b"):
        world.run(f"CREATE PROMOTION PROFILE `{name}` OPTIONS {{ }}")
    world.run("CREATE PROMOTION POLICY p FOR (n:Q) APPLY { WHEN true APPLY PROFILE p }")
    world.run("CREATE (:A {x: 2})-[:T {x: 1}]->(:A:B:C), (:Q)")
    try:
        world.run(text, params)
    except QueryError as error:
        assert error.kind in ("ArgumentError", "ParameterMissing") and error.next_step, error
    world.run("MATCH (a)-[r]->(b) RETURN a, r, b", params)
    world.later(1)
    world.run("MATCH (n) RETURN decay(reveal(n)), policy(n)")


# What is refused, and where

REFUSED: tuple[tuple[str, int, int, str], ...] = (
    (
        "CREATE DECAY PROFILE b FOR (n:L) APPLY { DECAY PROFILE 'nope' }",
        1,
        56,
        "Unknown decay profile",
    ),
    ("CREATE DECAY PROFILE b FOR (n:L) APPLY { DECAY PROFILE 'wek' }", 1, 56, "wek"),
    (
        "CREATE PROMOTION POLICY p FOR (n:L) APPLY {\n  WHEN n.x > 1\n    APPLY PROFILE 'nope'\n}",
        2,
        3,
        "Unknown promotion profile 'nope'",
    ),
    ("CREATE DECAY PROFILE week OPTIONS { halfLifeSeconds: 1 }", 1, 1, "already"),
    ("CREATE DECAY PROFILE b OPTIONS { function: 'linear' }", 1, 1, "needs a half-life"),
    ("ALTER DECAY PROFILE nope SET OPTIONS { scoreFloor: 0.5 }", 1, 1, "Unknown decay profile"),
    ("ALTER DECAY PROFILE episodes SET OPTIONS { scoreFloor: 0.5 }", 1, 1, "bound to a target"),
    ("ALTER DECAY PROFILE week SET OPTIONS { scoreFrom: 'CUSTOM' }", 1, 1, "scoreFromProperty"),
    ("DROP DECAY PROFILE week", 1, 1, "used by episodes"),
    ("DROP PROMOTION POLICY nope", 1, 1, "Unknown promotion policy"),
    (
        "CREATE DECAY PROFILE x FOR (n:L) APPLY { n.key DECAY HALF LIFE 60 }",
        1,
        48,
        "part of an index",
    ),
)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"), REFUSED, ids=[text[:60] for text, *_ in REFUSED]
)
def test_what_would_do_nothing_is_refused_at_its_place(
    world: World, text: str, line: int, column: int, words: str
) -> None:
    world.run(EPISODES)
    world.run("CREATE INDEX FOR (n:L) ON (n.key)")
    before = world.memory.run("CALL doxa.policy.info()").records()
    with pytest.raises(QueryError) as caught:
        world.run(text)
    assert (caught.value.fields.get("line"), caught.value.fields.get("column")) == (line, column), (
        caught.value
    )
    assert words in caught.value.message and caught.value.next_step
    assert world.memory.run("CALL doxa.policy.info()").records() == before


def test_only_operators_declare_policies(world: World) -> None:
    with pytest.raises(RoleError):
        world.memory.session(role="agent").run(EPISODES)


def test_several_commands_are_one_transaction(world: World) -> None:
    with pytest.raises(QueryError):
        world.run(EPISODES + " CREATE DECAY PROFILE x FOR (n:X) APPLY { DECAY PROFILE 'nope' }")
    assert world.run("SHOW DECAY PROFILES") == []


def test_replacing_altering_and_dropping(world: World) -> None:
    world.run(EPISODES)
    world.run("CREATE (:Episode {i: 1})")
    world.run("CREATE DECAY PROFILE week IF NOT EXISTS OPTIONS { halfLifeSeconds: 1 }")
    world.later(30)
    assert world.run("MATCH (n:Episode) RETURN n.i") == []
    world.run("ALTER DECAY PROFILE week SET OPTIONS { halfLifeSeconds: 6048000 }")
    assert world.run("MATCH (n:Episode) RETURN n.i") == [{"n.i": 1}]
    world.run(
        "CREATE OR REPLACE DECAY PROFILE week OPTIONS { halfLifeSeconds: 60, visibilityThreshold:"
        " 0.5 }"
    )
    assert world.run("MATCH (n:Episode) RETURN n.i") == []
    world.run("ALTER DECAY PROFILE episodes DISABLE")
    assert world.run("MATCH (n:Episode) RETURN n.i") == [{"n.i": 1}]
    world.run("ALTER DECAY PROFILE episodes ENABLE")
    assert world.run("MATCH (n:Episode) RETURN n.i") == []
    world.run("DROP DECAY PROFILE episodes")
    world.run("DROP DECAY PROFILE week")
    world.run("DROP DECAY PROFILE IF EXISTS week")
    assert world.run("MATCH (n:Episode) RETURN n.i") == [{"n.i": 1}]
    assert world.run("SHOW DECAY PROFILES") == []


# Scores


def test_defaults_change_nothing(world: World) -> None:
    world.run(
        "CREATE PROMOTION PROFILE plain OPTIONS { } CREATE DECAY PROFILE day OPTIONS {"
        " halfLifeSeconds: 86400 }"
    )
    world.run("CREATE DECAY PROFILE b FOR (n:L) APPLY { DECAY PROFILE 'day' }")
    world.run("CREATE PROMOTION POLICY p FOR (n:L) APPLY { WHEN true APPLY PROFILE 'plain' }")
    world.run("CREATE (:L)")
    world.later(365)
    rows = world.run("MATCH (n:L) RETURN decay(n) AS d")
    assert (
        rows[0]["d"]["promotion"] == "plain"
        and rows[0]["d"]["score"] < 1e-50
        and rows[0]["d"]["visible"] is True
    )  # threshold 0 hides nothing


def test_floor_and_threshold_are_two_levers(world: World) -> None:
    world.run(
        "CREATE DECAY PROFILE b FOR (n:L) APPLY { DECAY HALF LIFE 60 DECAY FLOOR 0.05 DECAY"
        " VISIBILITY THRESHOLD 0.1 }"
    )
    world.run(
        "CREATE DECAY PROFILE c FOR (n:M) APPLY { DECAY HALF LIFE 60 DECAY FLOOR 0.1 DECAY"
        " VISIBILITY THRESHOLD 0.1 }"
    )
    world.run("CREATE (:L), (:M)")
    world.later(1)
    assert world.run("MATCH (n) WHERE n:L OR n:M RETURN labels(n) AS l, decayScore(n) AS s") == [
        {"l": ["M"], "s": 0.1}
    ]


def test_an_inverse_curve_grows_while_idle(world: World) -> None:
    world.run(
        "CREATE DECAY PROFILE idle OPTIONS { halfLifeSeconds: -86400, scoreFrom: 'LAST_ACCESSED',"
        " visibilityThreshold: 0.4 } CREATE DECAY PROFILE b FOR (n:L) APPLY { DECAY PROFILE"
        " 'idle' }"
    )
    world.run("CREATE (:L {i: 1})")
    assert world.run("MATCH (n:L) RETURN n.i") == []
    world.later(1)
    assert world.run("MATCH (n:L) RETURN n.i") == [{"n.i": 1}]
    world.memory.flush()
    assert world.run("MATCH (n:L) RETURN n.i") == []  # an access drops the score to 0
    assert world.one("MATCH (n:L) RETURN decayScore(reveal(n))") == pytest.approx(0, abs=1e-9)
    world.later(7)
    assert world.one("MATCH (n:L) RETURN decayScore(n)") == pytest.approx(1 - 2**-7, abs=1e-9)


def test_anchors(world: World) -> None:
    for anchor, label in (
        ("CREATED", "C"),
        ("VERSION", "V"),
        ("LAST_ACCESSED", "A"),
        ("CUSTOM", "U"),
    ):
        custom = ", scoreFromProperty: 'at'" if anchor == "CUSTOM" else ""
        world.run(
            f"CREATE DECAY PROFILE {label} OPTIONS {{ halfLifeSeconds: 86400, scoreFrom:"
            f" {anchor}{custom} }}"
        )
        world.run(
            f"CREATE DECAY PROFILE b{label} FOR (n:{label}) APPLY {{ DECAY PROFILE '{label}' }}"
        )
        world.run(
            f"CREATE DECAY PROFILE e{label} FOR ()-[r:{label}]-() APPLY {{ DECAY PROFILE"
            f" '{label}' }}"
        )
        world.run(f"CREATE (n:{label} {{i: 1}})-[:{label} {{i: 1}}]->(n)")
    world.later(1)
    for label in "CVAU":
        world.run(f"MATCH (n:{label})-[r:{label}]->() SET n.i = 2, r.i = 2")
        world.run(f"MATCH (n:{label})-[r:{label}]->() RETURN n.i, r.i")
    world.memory.flush()
    world.later(1)
    scores = {
        label: world.run(
            f"MATCH (n:{label})-[r:{label}]->() RETURN decayScore(n) AS n, decayScore(r) AS r"
        )[0]
        for label in "CVAU"
    }
    for label, wanted in (("C", 0.25), ("V", 0.5), ("A", 0.5), ("U", 0.25)):
        assert scores[label] == {
            "n": pytest.approx(wanted, abs=1e-6),
            "r": pytest.approx(wanted, abs=1e-6),
        }, label
    for value, wanted in (
        ("datetime($now) - duration('P3D')", 0.125),
        ("timestamp() - 3 * 86400000", 0.125),
        ("'no time'", 0.25),
        ("null", 0.25),
    ):
        world.run(f"MATCH (n:U) SET n.at = {value}", {"now": "2023-11-16T22:13:20Z"})
        assert world.one("MATCH (n:U) RETURN decayScore(n)") == pytest.approx(wanted, abs=1e-4), (
            value
        )


def test_what_does_not_decay_can_be_promoted_and_needs_no_binding(world: World) -> None:
    world.run(
        "CREATE PROMOTION PROFILE half OPTIONS { multiplier: 0.5 } CREATE DECAY PROFILE b FOR"
        " (n:Fact) APPLY { NO DECAY }"
    )
    for label in ("Fact", "Free"):
        world.run(
            f"CREATE PROMOTION POLICY p{label} FOR (n:{label}) APPLY {{ WHEN n.doubted APPLY"
            " PROFILE 'half' }"
        )
        world.run(f"CREATE (:{label} {{doubted: false}})")
        assert world.one(f"MATCH (n:{label}) RETURN decayScore(n)") == 1.0
        world.run(f"MATCH (n:{label}) SET n.doubted = true")
        assert world.one(f"MATCH (n:{label}) RETURN decayScore(n)") == 0.5


def test_the_highest_multiplier_then_floor_then_first_wins(world: World) -> None:
    floor = "multiplier: 2, scoreFloor: 0.5"
    for name, options in (
        ("a", "multiplier: 1"),
        ("b", "multiplier: 2"),
        ("c", floor),
        ("d", floor),
    ):
        world.run(f"CREATE PROMOTION PROFILE {name} OPTIONS {{ {options} }}")
    clauses = " ".join(f"WHEN n.x CONTAINS '{name}' APPLY PROFILE '{name}'" for name in "abcd")
    world.run(f"CREATE PROMOTION POLICY p FOR (n:L) APPLY {{ {clauses} }}")
    for given_, wanted in (
        ("a", "a"),
        ("ab", "b"),
        ("abc", "c"),
        ("abcd", "c"),
        ("ad", "d"),
        ("", None),
    ):
        assert world.run("CREATE (n:L {x: $x}) RETURN decay(n).promotion AS p", {"x": given_}) == [
            {"p": wanted}
        ]


def test_a_label_or_a_property_that_changes_changes_the_rule(world: World) -> None:
    world.run(EPISODES)
    world.run("CREATE (:Episode {i: 1}), (:Note {i: 2})")
    world.later(30)
    world.run("MATCH (n:Note) SET n:Episode")
    assert world.run("MATCH (n) WHERE n.i > 0 RETURN n.i") == []
    world.run("MATCH (n {i: 2}) WITH reveal(n) AS n REMOVE n:Episode")
    assert world.run("MATCH (n) WHERE n.i > 0 RETURN n.i") == [{"n.i": 2}]


def test_resolution_is_by_specificity_and_ties_are_told(world: World) -> None:
    for name, target in (
        ("w", "()"),
        ("a", "(n:A)"),
        ("b", "(n:B)"),
        ("ab", "(n:A:B)"),
        ("ew", "()-[r]-()"),
        ("e", "()-[r:E]->()"),
    ):
        world.run(f"CREATE DECAY PROFILE {name} FOR {target} APPLY {{ NO DECAY }}")
    resolve = (
        "CALL nornicdb.knowledgepolicy.resolve('', $labels, $type) YIELD ResolvedDecayProfileID AS"
        " r RETURN r"
    )
    cases = (
        ("A", "", "a"),
        ("B", "", "b"),
        ("A,B", "", "ab"),
        ("B, A, C", "", "ab"),
        ("C", "", "w"),
        ("", "E", "e"),
        ("", "F", "ew"),
    )
    for labels, kind, wanted in cases:
        assert world.one(resolve, {"labels": labels, "type": kind}) == wanted
    world.run("DROP DECAY PROFILE ab")
    world.run("CREATE (:A:B)")
    (row,) = world.run(
        "MATCH (n:A) CALL doxa.policy.explain(n) YIELD binding, chain, ties RETURN binding, chain,"
        " ties"
    )
    assert row["binding"] == "a" and row["ties"] == [
        "binding b is as specific as a, which was registered first"
    ]
    assert row["chain"] == ["binding a (:A)", "binding b (:B)", "binding w ()"]


def test_a_policy_that_is_shadowed_is_told(world: World) -> None:
    world.run(EPISODES)
    with world.memory.graph() as graph:
        text = "CREATE DECAY PROFILE late FOR (n:Episode) APPLY { NO DECAY }"
        result = graph.run(text)
        list(result)
        (notice,) = result.notices()
        assert (notice.severity, notice.offset) == ("WARNING", text.index("(n:Episode)"))
        assert (
            notice.description
            == "episodes is for the same target and was registered first: late has no effect while"
            " both are enabled."
        )
        other = graph.run("CREATE DECAY PROFILE other FOR (n:Other) APPLY { NO DECAY }")
        list(other)
        assert other.notices() == []
    world.run("CREATE (:Episode {i: 1})")
    assert world.one("MATCH (n:Episode) RETURN decay(n).policy") == "episodes"


# Properties


def test_a_property_that_has_faded_is_absent_and_survives_writes(world: World) -> None:
    world.run(
        "CREATE DECAY PROFILE b FOR (n:L) APPLY { DECAY HALF LIFE 864000 DECAY THRESHOLD 0.1\n"
        " n.gone DECAY HALF LIFE 60\n n.kept NO DECAY }"
    )
    world.run("CREATE (:L {gone: 'x', kept: 'y', other: 1})")
    world.later(1)
    (row,) = world.run("MATCH (n:L) RETURN n.gone AS g, keys(n) AS k, n {.*} AS m")
    assert row == {"g": None, "k": ["kept", "other"], "m": {"kept": "y", "other": 1}}
    assert world.run("MATCH (n:L) WHERE n.gone = 'x' RETURN n") == []
    world.run("MATCH (n:L) SET n.other = 2")
    assert world.one("MATCH (n:L) RETURN reveal(n).gone") == "x"
    assert (
        world.one("MATCH (n:L) RETURN decayScore(n, {property: 'gone'})")
        < 0.1
        < world.one("MATCH (n:L) RETURN decayScore(n)")
    )
    world.run("CREATE INDEX FOR (n:L) ON (n.gone)")  # from now on the property never fades
    assert world.one("MATCH (n:L) RETURN n.gone") == "x"
    assert world.one("MATCH (n:L {gone: 'x'}) RETURN n.other") == 2


def test_what_recall_reads_goes_when_its_text_fades(world: World) -> None:
    world.run(
        "CREATE DECAY PROFILE b FOR (n:Exchange) APPLY { NO DECAY DECAY THRESHOLD 0.2\n n.text"
        " DECAY HALF LIFE 86400 }"
    )
    world.memory.ingest(
        [{"speaker": "Ann", "text": "The harbour is closed today"}], thread="t", extract=False
    )
    assert [hit.text for hit in world.memory.recall("harbour").hits] == [
        "The harbour is closed today"
    ]
    world.later(5)
    assert world.memory.recall("harbour").hits == ()
    assert world.run("MATCH (x:Exchange) RETURN x.text AS t, x.speaker AS s")[0]["t"] is None


# Window and formula

NUMBERS = st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.5, 0.9, 1.0])


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    function=st.sampled_from(["exponential", "linear", "step", "none"]),
    half_life=st.sampled_from([1, 60, 86_400, -1, -60, -86_400]),
    anchor=st.sampled_from(["CREATED", "VERSION", "CUSTOM", "LAST_ACCESSED"]),
    levers=st.tuples(NUMBERS, NUMBERS),
    promoted=st.one_of(
        st.none(), st.tuples(st.sampled_from([0.0, 0.5, 1.0, 1.5, 4.0]), NUMBERS, NUMBERS)
    ),
    ages=st.lists(
        st.sampled_from([0, 1e-9, 1, 59, 60, 61, 3_600, DAY, 30 * DAY]), min_size=1, max_size=4
    ),
    edge=st.booleans(),
)
def test_what_is_visible_is_what_scores_enough(
    shared: World,
    function: str,
    half_life: int,
    anchor: str,
    levers: tuple[float, float],
    promoted: Any,
    ages: list[float],
    edge: bool,
) -> None:
    world = shared
    custom = ", scoreFromProperty: 'at'" if anchor == "CUSTOM" else ""
    world.run(
        f"CREATE OR REPLACE DECAY PROFILE p OPTIONS {{ halfLifeSeconds: {half_life}, function:"
        f" {function}, scoreFrom: {anchor}{custom}, scoreFloor: {levers[0]}, visibilityThreshold:"
        f" {levers[1]} }}"
    )
    what = "()-[n:X]-()" if edge else "(n:X)"
    world.run(f"CREATE OR REPLACE DECAY PROFILE b FOR {what} APPLY {{ DECAY PROFILE 'p' }}")
    if promoted is not None:
        options = f"multiplier: {promoted[0]}, scoreFloor: {promoted[1]}, scoreCap: {promoted[2]}"
        world.run(f"CREATE OR REPLACE PROMOTION PROFILE q OPTIONS {{ {options} }}")
        world.run(
            f"CREATE OR REPLACE PROMOTION POLICY r FOR {what} APPLY {{ WHEN n.i > 0 APPLY PROFILE"
            " 'q' }"
        )
    else:
        world.run("DROP PROMOTION POLICY IF EXISTS r")
    world.run("MATCH (n) WHERE n:X OR n:Y DETACH DELETE n")
    world.run("MATCH (n:X) WITH reveal(n) AS n DETACH DELETE n")
    world.run("MATCH (n:Y) WITH reveal(n) AS n DETACH DELETE n")
    pattern = (
        "(:Y)-[n:X {i: 1, at: timestamp()}]->(:Y)" if edge else "(n:X {i: 1, at: timestamp()})"
    )
    world.run(f"CREATE {pattern}")
    match = "MATCH ()-[n:X]->()" if edge else "MATCH (n:X)"
    for age in ages:
        world.clock.set(world.clock.now_ns() + round(age * 10**9))
        with world.memory.graph() as graph:
            graph.begin()
            seen = len(list(graph.run(f"{match} RETURN n.i"))) == 1
            score, told = next(iter(graph.run(f"{match} RETURN decayScore(reveal(n)), decay(n)")))
            graph.commit()
        assert seen is (score >= levers[1]) is told["visible"], (age, score)
        world.memory.flush()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("shared") / "m.db")
    yield made
    assert made.memory.check() == []
    made.memory.close()


# Telling why


def test_explaining(world: World) -> None:
    world.run(EPISODES)
    world.run("CREATE (:Episode {i: 1}), (:Free {i: 2})")
    columns = "visible, reason, binding, profile, visibleUntil, changesAt, suppressed"
    explain = (
        f"MATCH (n {{i: $i}}) CALL doxa.policy.explain(reveal(n)) YIELD {columns} RETURN {columns}"
    )
    (row,) = world.run(explain, {"i": 1})
    assert (
        row["visible"]
        and row["binding"] == "episodes"
        and row["profile"] == "week"
        and row["changesAt"] == row["visibleUntil"]
    )
    assert (
        row["visibleUntil"].startswith("2023-12-08T04:1")
        and "It will be hidden at" in row["reason"]
    )
    world.later(30)
    (row,) = world.run(explain, {"i": 1})
    assert (
        not row["visible"]
        and "below the threshold 0.1" in row["reason"]
        and row["changesAt"] is None
    )
    (row,) = world.run(explain, {"i": 2})
    assert row["visible"] and row["reason"] == "The node is visible: no policy is about it."
    world.run("MATCH (n:Free) CALL doxa.policy.suppress(n) YIELD id RETURN id")
    (row,) = world.run(explain, {"i": 2})
    assert not row["visible"] and row["suppressed"] and "suppressed by hand" in row["reason"]


def test_simulating_writes_nothing(world: World) -> None:
    world.run("UNWIND range(1, 20) AS i CREATE (:Episode {i: i})")
    world.later(20)
    before = world.memory.log(limit=1)[0].hash
    (row,) = world.run("CALL doxa.policy.simulate($ddl, duration('P10D'))", {"ddl": EPISODES})
    assert (
        row["scope"],
        row["names"],
        row["elements"],
        row["hiddenNow"],
        row["hiddenByHorizon"],
    ) == ("NODE", ["Episode"], 20, 0, 20)
    assert row["firstHiddenAt"].startswith("2023-12-08T04:1") and len(row["samples"]) == 10
    (row,) = world.run("CALL doxa.policy.simulate($ddl)", {"ddl": EPISODES})
    assert row["hiddenByHorizon"] == 0
    assert world.memory.log(limit=1)[0].hash == before and world.run("SHOW DECAY PROFILES") == []
    with pytest.raises(QueryError, match="line 1, column"):
        world.run(
            "CALL doxa.policy.simulate($ddl)",
            {"ddl": "CREATE DECAY PROFILE b FOR (n:X) APPLY { DECAY PROFILE 'nope' }"},
        )
    with pytest.raises(QueryError, match="Only policies"):
        world.run("CALL doxa.policy.simulate('MATCH (n) RETURN n')")
