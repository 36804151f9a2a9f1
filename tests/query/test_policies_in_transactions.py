"""What a transaction, a batch or a later statement sees of scores and suppressions."""

from __future__ import annotations

import pytest

from doxa.base.errors import ConflictError
from tests.query.policy_world import EPISODES, World


def test_one_score_for_a_whole_transaction(world: World) -> None:
    world.run(EPISODES)
    world.run("CREATE (:Episode {i: 1})")
    with world.memory.graph() as graph:
        graph.begin()
        first = graph.run("MATCH (n:Episode) RETURN decayScore(n)").single()
        world.later(40)
        assert graph.run("MATCH (n:Episode) RETURN decayScore(n)").single() == first
        graph.commit()
    assert world.run("MATCH (n:Episode) RETURN n") == []


def test_a_transaction_keeps_its_score_when_it_begins_to_write(world: World) -> None:
    world.run(EPISODES)
    world.run("CREATE (:Episode {i: 1})")
    world.later(23)
    with world.memory.graph() as graph:
        graph.begin()
        first = graph.run("MATCH (n:Episode) RETURN decayScore(n)").single()
        world.later(5)
        graph.run("CREATE (:Note)")
        assert graph.run("MATCH (n:Episode) RETURN decayScore(n)").single() == first
        graph.commit()
    assert world.run("MATCH (n:Episode) RETURN n") == []


def test_a_suppression_can_be_undone_and_accesses_cannot(world: World) -> None:
    world.run(EPISODES)
    world.run("CREATE (:Episode {i: 1})")
    world.run("MATCH (n:Episode) CALL doxa.policy.suppress(n) YIELD id RETURN id")
    assert world.run("MATCH (n:Episode) RETURN n") == []
    world.memory.undo(world.memory.log(limit=1)[0].tx)
    assert len(world.run("MATCH (n:Episode) RETURN n")) == 1
    world.memory.flush()
    with pytest.raises(ConflictError, match="notes accesses"):
        world.memory.undo(world.memory.log(limit=1)[0].tx)


def test_policies_hold_at_once_within_a_transaction(world: World) -> None:
    world.run("CREATE (:C {i: 1})")
    world.later(1)
    with world.memory.graph() as graph:
        graph.begin()
        graph.run(
            "CREATE DECAY PROFILE d FOR (n:C) APPLY { DECAY HALF LIFE 60 DECAY THRESHOLD 0.5 }"
        )
        assert list(graph.run("MATCH (n:C) RETURN n.i")) == []
        graph.run("CREATE (:C {i: 2})")
        assert [row[0] for row in graph.run("MATCH (n:C) RETURN n.i")] == [2]
        graph.commit()
    assert world.run("MATCH (n:C) RETURN n.i") == [{"n.i": 2}]


def test_the_first_suppression_holds_for_the_rest_of_its_query(world: World) -> None:
    world.run("UNWIND range(1, 3) AS i CREATE (:C {i: i})")
    rows = world.run(
        "MATCH (n:C) CALL doxa.policy.suppress(n) YIELD id WITH count(*) AS k OPTIONAL MATCH (n:C)"
        " RETURN k, count(n) AS left"
    )
    assert rows == [{"k": 3, "left": 0}]


def test_one_score_over_the_batches_of_a_query(world: World) -> None:
    world.run(EPISODES)
    world.run("UNWIND range(1, 6) AS i CREATE (:Episode {i: i})")
    rows = world.run(
        "MATCH (n:Episode) CALL (n) { SET n.seen = 1 RETURN decayScore(n) AS s } IN TRANSACTIONS OF"
        " 2 ROWS RETURN DISTINCT s"
    )
    assert len(rows) == 1


def test_reveal_is_about_the_variables_of_its_branch(world: World) -> None:
    world.run("CREATE DECAY PROFILE d FOR (n:C) APPLY { DECAY HALF LIFE 60 DECAY THRESHOLD 0.5 }")
    world.run("CREATE (a:A {i: 1})-[:R]->(:C {secret: 'x', i: 2}), (a)-[:R]->(:B {i: 3})")
    world.later(1)
    for text, wanted in (
        (
            "MATCH (n:C) RETURN n.secret AS s UNION ALL MATCH (n:A) RETURN reveal(n).i AS s",
            [{"s": 1}],
        ),
        (
            "CALL { MATCH (n:C) RETURN count(n) AS s } MATCH (n:A) RETURN s, reveal(n).i AS i",
            [{"s": 0, "i": 1}],
        ),
        ("MATCH (a:A)-[rs*1..2]->(b) RETURN size(reveal(rs)) AS s, b.i AS i", [{"s": 1, "i": 3}]),
        ("MATCH (n:C) CALL (n) { RETURN reveal(n).secret AS s } RETURN s", [{"s": "x"}]),
        ("MATCH p = shortestPath((a:A)-[*]->(b:C)) RETURN reveal(b).i AS i", [{"i": 2}]),
        ("MATCH (a:A)-[*1..2]->(b) RETURN reveal(b).i AS i ORDER BY i", [{"i": 2}, {"i": 3}]),
    ):
        assert world.run(text) == wanted, text


def test_scores_of_words_are_as_if_the_hidden_were_not_there(world: World) -> None:
    world.run("CREATE FULLTEXT INDEX ft FOR (n:N|F) ON EACH [n.t]")
    world.run("CREATE (:N {i: 1, t: 'green tea'}), (:N {i: 2, t: 'green coffee'})")
    ask = (
        "CALL db.index.fulltext.queryNodes('ft', 'green coffee') YIELD node, score RETURN node.i AS"
        " i, score"
    )
    before = world.run(ask)
    world.run("UNWIND range(1, 20) AS i CREATE (:F {t: 'green green coffee'})")
    world.run("MATCH (f:F) CALL doxa.policy.suppress(f) YIELD id RETURN id")
    assert world.run(ask) == before


def test_history_leaves_out_what_is_hidden(world: World) -> None:
    world.memory.remember("Bob owns a cat", name="cat")
    kref = world.memory.recall("cat").hits[0].kref
    world.run(
        "MATCH (r:Revision {kref: $k}) CALL doxa.policy.suppress(r) YIELD id RETURN id", {"k": kref}
    )
    assert world.memory.history(kref).revisions == ()
    assert [one.summary for one in world.memory.history(kref, reveal=True).revisions] == [
        "Bob owns a cat"
    ]


def test_undoing_a_deletion_keeps_what_was_hidden_by_hand_hidden(world: World) -> None:
    world.run("CREATE (:S {i: 1})-[:R]->(:S {i: 2})")
    world.run("MATCH (n:S {i: 1}) CALL doxa.policy.suppress(n) YIELD id RETURN id")
    world.run("MATCH (n:S {i: 1}) WITH reveal(n) AS n DETACH DELETE n")
    world.memory.undo(world.memory.log(limit=1)[0].tx)
    assert world.run("MATCH (n:S) RETURN n.i") == [{"n.i": 2}]
    assert len(world.run("MATCH (n:S) RETURN reveal(n).i")) == 2
