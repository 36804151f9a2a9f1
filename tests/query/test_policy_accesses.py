"""ON ACCESS, counts and sources: which accesses are noted, and what follows from them."""

from __future__ import annotations

import threading

import pytest

from doxa.base.errors import ConstraintError
from doxa.cypher.errors import QueryError
from tests.query.policy_world import EPISODES, World

REINFORCED = """
CREATE PROMOTION POLICY memory_reinforcement FOR (n:Episode) APPLY {
  ON ACCESS {
    SET n.accessCount = coalesce(n.accessCount, 0) + 1
    SET n.lastAccessedAt = timestamp()
    WITH KALMAN{q: 0.05, r: 50.0} SET n.confidenceScore = $evaluatedConfidence
  }
  WHEN n.accessCount >= 3 APPLY PROFILE 'reinforced'
  WHEN n.accessCount >= 5 AND n.confidenceScore >= 0.8 APPLY PROFILE 'high_confidence'
}"""


def test_on_access_runs_for_each_access_with_its_own_parameters(world: World) -> None:
    world.run(EPISODES)
    world.run(REINFORCED)
    world.run("CREATE (:Episode {i: 1})")
    for value in (0.5, 0.5, None, 0.6):
        world.run(
            "MATCH (n:Episode) RETURN n.i, $evaluatedConfidence", {"evaluatedConfidence": value}
        )
    world.memory.flush()
    (row,) = world.run(
        "MATCH (n:Episode) RETURN policy(n) AS p, decay(n).promotion AS promotion, properties(n) AS"
        " props"
    )
    assert (
        row["p"]["accessCount"] == 4
        and row["p"]["kalmanFilters"]["confidenceScore"]["filter"]["n"] == 3
    )
    assert (
        row["p"]["lastError"] is None
        and row["promotion"] == "reinforced"
        and row["props"] == {"i": 1}
    )


def test_repetition_is_no_evidence(world: World) -> None:
    world.run("""CREATE PROMOTION POLICY wisdom FOR (n:W) APPLY {
          ON ACCESS {
            SET n.support = CASE WHEN n._lastSessionId <> $_session
              THEN coalesce(n.support, 0) + 1 ELSE n.support END
            SET n._lastSessionId = $_session
          }
          WHEN n.support >= 2 APPLY PROFILE 'established_wisdom'
        }""")
    world.run("CREATE (:W)")
    for session, count, support in (
        ("a", 50, 1),
        ("b", 1, 2),
        (None, 5, 2),
        ("b", 3, 2),
        ("a", 1, 3),
    ):
        for _ in range(count):
            world.run("MATCH (n:W) RETURN n", **({"session": session} if session else {}))
        world.memory.flush()
        assert world.one("MATCH (n:W) RETURN policy(n).support") == support, session
    found = world.one("MATCH (n:W) RETURN policy(n)")
    assert found["sessionSupport"] == 2  # distinguished in any order
    assert "agentSupport" not in found


def test_support_is_counted_by_agent_and_source_too(world: World) -> None:
    world.run(
        "CREATE PROMOTION POLICY p FOR (n:W) APPLY { WHEN n.agentSupport >= 2 AND n.sourceSupport"
        " >= 3 APPLY PROFILE 'reinforced' }"
    )
    world.run("CREATE (:W)")
    for agent, source in (("x", "1"), ("x", "2"), ("x", "3"), ("y", "3")):
        world.run("MATCH (n:W) RETURN n", agent=agent, source=source)
        world.memory.flush()
        assert world.one("MATCH (n:W) RETURN decay(n).promotion IS NOT NULL") is (agent == "y")


def test_a_failing_set_is_told_and_stops_nothing(world: World) -> None:
    world.run(
        "CREATE PROMOTION POLICY p FOR (n:W) APPLY { ON ACCESS { SET n.bad = 1 / n.zero SET"
        " n.accessCount = 'x' SET n.good = 1 } }"
    )
    world.run("CREATE (:W {zero: 0})")
    world.run("MATCH (n:W) RETURN n")
    world.memory.flush()
    found = world.one("MATCH (n:W) RETURN policy(n)")
    assert (
        found["good"] == 1 and "bad" not in found and "accessCount is a count" in found["lastError"]
    )


def test_hidden_elements_gather_no_accesses(world: World) -> None:
    world.run(EPISODES)
    world.run("CREATE (:Episode {i: 1})")
    world.later(30)
    world.run("MATCH (n:Episode) RETURN reveal(n)")
    world.run("MATCH (n:Episode) RETURN n")
    assert world.memory.flush() == 0


def test_notes_of_accesses_do_not_disturb_a_transaction(world: World) -> None:
    world.run(EPISODES)
    world.run("CREATE (:Episode {i: 1})")
    with world.memory.graph() as graph:
        graph.begin()
        list(graph.run("MATCH (n:Episode) RETURN n"))
        graph.commit()  # from now on it reads before it has the writer's turn
        world.memory.flush()
        graph.begin()
        list(graph.run("MATCH (n:Episode) RETURN n"))
        world.run("MATCH (n:Episode) RETURN n")
        flushed: list[int] = []
        thread = threading.Thread(target=lambda: flushed.append(world.memory.flush()))
        thread.start()
        thread.join()
        assert flushed == [1]
        graph.run("MATCH (n:Episode) SET n.i = 2")
        graph.commit()
    assert world.one("MATCH (n:Episode) RETURN n.i") == 2


def test_an_erasure_takes_the_metadata_with_it(world: World) -> None:
    world.run(
        "CREATE PROMOTION POLICY p FOR (n:Exchange) APPLY { ON ACCESS { SET n.asked = $question } }"
    )
    world.memory.ingest(
        [{"speaker": "Ann", "text": "My address is 7 Harbour Street"}], thread="t", extract=False
    )
    hit = world.memory.recall("address").hits[0]
    world.run("MATCH (x:Exchange) RETURN x.text, $question", {"question": "zanzibar-marker"})
    world.memory.flush()
    assert world.one("MATCH (x:Exchange) RETURN policy(x).asked") == "zanzibar-marker"
    world.memory.forget(hit.kref, erase=True)
    with world.memory.store.read() as reader:
        assert reader.rows("SELECT * FROM access WHERE json(data) LIKE '%zanzibar%'") == []
        assert not [1 for entry in reader.log(limit=10_000) if "zanzibar" in str(entry.payload)]


def test_what_a_failed_statement_made_leaves_no_access_behind(world: World) -> None:
    world.run("CREATE DECAY PROFILE b FOR (n:Note) APPLY { NO DECAY }")
    world.run("CREATE CONSTRAINT FOR (n:U) REQUIRE n.i IS UNIQUE")
    world.run("CREATE (:U:Note {i: 1})")
    with pytest.raises(ConstraintError):
        world.run("MATCH (m:Note {i: 1}) CREATE (n:U:Note {i: 1}) RETURN n, m")
    with pytest.raises(QueryError):
        world.run("MATCH (m:Note {i: 1}) CREATE (n:Note {i: 3}) RETURN n, m.i, 1 / (m.i - 1)")
    world.run("CREATE (:Note {i: 9})")
    world.memory.flush()
    assert world.one("MATCH (n:Note {i: 9}) RETURN policy(n).accessCount") == 0


def test_a_source_is_told_by_who_asks_and_not_by_the_statement(world: World) -> None:
    world.run("CREATE DECAY PROFILE b FOR (n:Note) APPLY { NO DECAY }")
    world.run("CREATE (:Note)")
    world.run("MATCH (n:Note) RETURN n", {"_source": "x", "_session": "y"})
    world.memory.flush()
    assert (
        world.one("MATCH (n:Note) RETURN [k IN keys(policy(n)) WHERE k ENDS WITH 'Support']") == []
    )


# What expressions meet


def test_lists_in_policies(world: World) -> None:
    world.run(
        "CREATE PROMOTION POLICY p FOR (n:H) APPLY { ON ACCESS { SET n.tagged = any(t IN n.tags"
        " WHERE t = $t) SET n.sum = reduce(s = 0, x IN n.xs | s + x) } WHEN any(t IN n.tags WHERE t"
        " = 'x') AND size([t IN n.tags WHERE t <> 'y']) = 1 APPLY PROFILE 'high_confidence' }"
    )
    world.run("CREATE (:H {tags: ['x', 'y'], xs: [1, 2, 3]}), (:H {tags: ['y']})")
    world.run("MATCH (n:H) RETURN n, $t", {"t": "y"})
    world.memory.flush()
    rows = world.run(
        "MATCH (n:H) RETURN decay(n).promotion AS p, policy(n).tagged AS t, policy(n).sum AS s"
        " ORDER BY p"
    )
    assert rows == [{"p": "high_confidence", "t": True, "s": 6}, {"p": None, "t": True, "s": None}]


@pytest.mark.parametrize(
    "setter",
    [
        "SET n.x = size(range(0, 9223372036854775807))",
        "WITH KALMAN {varianceScale: 1e-320} SET n.x = $z",
        "SET n.x = n.i.y.z",
    ],
)
def test_one_bad_expression_harms_nobody_else(world: World, setter: str) -> None:
    world.run(f"CREATE PROMOTION POLICY bad FOR (n:Bad) APPLY {{ ON ACCESS {{ {setter} }} }}")
    world.run("CREATE DECAY PROFILE g FOR (n:Good) APPLY { NO DECAY }")
    world.run("CREATE (:Bad {i: 1}), (:Good)")
    for z in (0.5, 0.6, 0.7):
        world.run("MATCH (n) WHERE n:Bad OR n:Good RETURN n, $z", {"z": z})
    world.memory.flush()
    assert world.one("MATCH (n:Good) RETURN policy(n).accessCount") == 3
    assert world.one("MATCH (n:Bad) RETURN policy(n).accessCount") == 3


def test_huge_values_do_not_break_a_filter(world: World) -> None:
    world.run(
        "CREATE PROMOTION POLICY k FOR (n:K) APPLY { ON ACCESS { WITH KALMAN SET n.k = $z } }"
    )
    world.run("CREATE (:K)")
    for z in (0.6, 1e80, 1e300, -1e49, 1e49, *[0.6] * 30):
        world.run("MATCH (n:K) RETURN n, $z", {"z": z})
    world.memory.flush()
    found = world.one("MATCH (n:K) RETURN policy(n).kalmanFilters.k.filter")
    assert found["n"] == 33 and all(
        value == value and abs(value) != float("inf") for value in found.values()
    )


def test_ten_thousand_elements_are_noted_however_many_rows_name_them(world: World) -> None:
    world.run("CREATE DECAY PROFILE d FOR (n:E) APPLY { NO DECAY }")
    world.run("UNWIND [1, 2] AS i CREATE (:E {i: i})")
    world.run(
        "MATCH (e:E) WITH e ORDER BY e.i UNWIND CASE e.i WHEN 1 THEN range(1, 120001) ELSE [1] END"
        " AS k RETURN e.i"
    )
    world.memory.flush()
    assert [
        row["c"] for row in world.run("MATCH (e:E) RETURN policy(e).accessCount AS c ORDER BY e.i")
    ] == [1, 1]


def test_what_is_said_again_counts_and_what_hides_it_is_told(world: World) -> None:
    world.run(
        "CREATE DECAY PROFILE r OPTIONS { halfLifeSeconds: 60, scoreFrom: LAST_ACCESSED,"
        " visibilityThreshold: 0.5 }"
    )
    for label in ("Revision", "Exchange"):
        world.run(f"CREATE DECAY PROFILE b{label} FOR (n:{label}) APPLY {{ DECAY PROFILE r }}")
    memory = world.memory
    memory.remember("Bob owns a cat", name="cat")
    memory.ingest(
        [{"speaker": "Ann", "text": "The harbour is closed", "id": "1"}], thread="t", extract=False
    )
    world.later(1)
    assert memory.recall("cat harbour").hits == ()
    assert (
        "a persistence policy hides it" in memory.remember("Bob owns a cat", name="cat").warnings[0]
    )
    assert (
        memory.ingest(
            [{"speaker": "Ann", "text": "The harbour is closed", "id": "1"}],
            thread="t",
            extract=False,
        ).known
        == 1
    )
    memory.flush()
    assert {hit.text for hit in memory.recall("cat harbour").hits} == {
        "Bob owns a cat",
        "The harbour is closed",
    }


def test_many_policies_are_made_in_a_moment_and_who_supports_is_logged_once(world: World) -> None:
    pair = (
        "CREATE DECAY PROFILE p{0} OPTIONS {{ halfLifeSeconds: {0} }} CREATE DECAY PROFILE b{0} FOR"
        " (n:L{0}) APPLY {{ DECAY PROFILE p{0} }}"
    )
    world.run(" ".join(pair.format(i) for i in range(1, 151)))
    world.run("CREATE (:L1 {i: 1})")
    for i in range(200):
        world.run("MATCH (n:L1) RETURN n", session=f"s{i}")
    world.memory.flush()
    world.run("MATCH (n:L1) RETURN n", session="s0")
    world.memory.flush()
    with world.memory.store.read() as reader:
        sizes = [
            len(str(entry.payload))
            for entry in reader.log(limit=10_000)
            if entry.op == "node.access"
        ]
    assert sizes[0] > 2_000 > 300 > sizes[1]
    assert world.one("MATCH (n:L1) RETURN policy(n).sessionSupport") == 200
