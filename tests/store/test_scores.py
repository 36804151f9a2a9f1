"""The scores of many nodes at once are those of each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.base.clock import FakeClock

START = 1_700_000_000_000_000_000
POLICIES = """
CREATE DECAY PROFILE made OPTIONS {
  halfLifeSeconds: 86400, function: 'exponential', visibilityThreshold: 0.0
}
CREATE DECAY PROFILE changed OPTIONS {
  halfLifeSeconds: 86400, function: 'linear', visibilityThreshold: 0.0, scoreFrom: 'VERSION'
}
CREATE DECAY PROFILE timed OPTIONS {
  halfLifeSeconds: 86400, function: 'exponential', visibilityThreshold: 0.0, scoreFrom: 'CUSTOM',
  scoreFromProperty: 'time'
}
CREATE DECAY PROFILE other OPTIONS {
  halfLifeSeconds: 86400, function: 'exponential', visibilityThreshold: 0.0, scoreFrom: 'CUSTOM',
  scoreFromProperty: 'at'
}
CREATE PROMOTION PROFILE often OPTIONS { multiplier: 1.5, scoreFloor: 0.4, scoreCap: 1.0 }
CREATE DECAY PROFILE of_made FOR (n:Made) APPLY { DECAY PROFILE 'made' }
CREATE DECAY PROFILE of_changed FOR (n:Changed) APPLY { DECAY PROFILE 'changed' }
CREATE DECAY PROFILE of_timed FOR (n:Timed) APPLY { DECAY PROFILE 'timed' }
CREATE DECAY PROFILE of_other FOR (n:Other) APPLY { DECAY PROFILE 'other' }
CREATE DECAY PROFILE of_used FOR (n:Used) APPLY { DECAY PROFILE 'made' }
CREATE PROMOTION POLICY of_use FOR (n:Used) APPLY { WHEN n.rank >= 2 APPLY PROFILE 'often' }
CREATE PROMOTION POLICY noted FOR (n:Timed) APPLY { ON ACCESS { SET n.time = 1690000000000 } }
"""
NODES = """
CREATE (:Made), (:Changed {i: 1}), (:Plain),
  (:Timed {time: 1699000000000}), (:Timed {time: date('2023-10-01')}), (:Timed {time: 'never'}),
  (:Timed {time: '2023-11-01T00:00:00Z'}), (:Timed {time: [1]}), (:Timed {time: 1e300}), (:Timed),
  (:Timed {time: 2000000000000}), (:Timed {time: datetime('2023-11-02T10:00:00+02:00')}),
  (:Other {at: 1699900000000}), (:Other), (:Used {rank: 1}), (:Used {rank: 2}), (:Made:Plain)
"""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    clock = FakeClock(START)
    with doxa.open(
        tmp_path / "m.db", role="operator", embedder=None, background=False, clock=clock
    ) as found:
        with found.session(role="operator").graph() as graph:
            for text in (POLICIES, NODES):
                graph.run(text).records()
            clock.advance(days=1)
            graph.run("MATCH (n:Changed) SET n.i = 2").records()
            clock.advance(days=1 / 3)
            graph.run("MATCH (n:Timed) RETURN n").records()
        found.flush()
        yield found


def test_the_scores_of_many_nodes_are_those_of_each(memory: doxa.Memory) -> None:
    with memory.store.read() as reader:
        ids = [identity for (identity,) in reader.rows("SELECT id FROM node ORDER BY id")]
        evaluator = reader.declared().evaluator
        judged = {}
        for identity in ids:
            found = reader.subject(identity, edge=False)
            assert found is not None
            judged[identity] = evaluator.standing(*found, reader.scored_at).score
        assert reader.scores_of([*ids, 10**9]) == judged
        assert len({round(score, 6) for score in judged.values()}) > 6, "the world tells nothing"


def test_a_node_whose_time_was_set_by_an_access_is_judged_by_it(memory: doxa.Memory) -> None:
    with memory.store.read() as reader:
        (without,) = reader.rows(
            "SELECT n.id FROM node n JOIN node_label l ON l.node = n.id"
            " WHERE l.label = 'Timed' AND n.props ->> '$.time' IS NULL"
        )[0]
        set_by_access = reader.scores_of([without])[without]
    assert set_by_access < 0.01, "ages count from July 2023"


def test_no_nodes_have_no_scores(memory: doxa.Memory) -> None:
    with memory.store.read() as reader:
        assert reader.scores_of([]) == {}
