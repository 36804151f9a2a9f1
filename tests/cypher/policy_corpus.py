"""Texts of the policy grammar: the commands that the paper "Persistence Semantics" (NornicDB, 2026)
shows, by section, and one of every form."""

from __future__ import annotations

DECAY_PROFILES = """\
-- Decay bundle: reusable parameters, no target, inert on its own.
CREATE DECAY PROFILE memory_episode_params OPTIONS {
  halfLifeSeconds: 604800,
  function: 'exponential',
  scoreFrom: 'VERSION',
  visibilityThreshold: 0.10
}

-- Decay binding: targeted application of a bundle to a label.
CREATE DECAY PROFILE memory_episode_retention
FOR (n:MemoryEpisode)
APPLY {
  DECAY PROFILE 'memory_episode_params'
  DECAY VISIBILITY THRESHOLD 0.10
}

-- Knowledge and Wisdom use no-decay bindings; supersession or
-- revision is modeled through graph structure, not time decay.
CREATE DECAY PROFILE knowledge_fact_retention
FOR (n:KnowledgeFact)
APPLY { NO DECAY }

CREATE DECAY PROFILE wisdom_directive_retention
FOR (n:WisdomDirective)
APPLY { NO DECAY }
"""

PROMOTION_POLICY = """\
CREATE PROMOTION POLICY session_record_tiering
FOR (n:SessionRecord)
APPLY {
  ON ACCESS {
    SET n.accessCount = coalesce(n.accessCount, 0) + 1
    SET n.lastAccessedAt = timestamp()
  }

  WHEN n.accessCount >= 3
    APPLY PROFILE 'reinforced_tier'

  WHEN n.accessCount >= 5 AND n.sourceAgreement >= 0.95
    APPLY PROFILE 'canonical_tier'
}
"""

SESSION_GATE = """\
ON ACCESS {
  -- Only count new sessions. Same session = same observation.
  WITH KALMAN SET n.crossSessionRate =
    CASE WHEN n._lastSessionId <> $_session
      THEN coalesce(n.crossSessionRate, 0) + 1
      ELSE n.crossSessionRate
    END
  SET n._lastSessionId = $_session
}
"""

REINFORCED_EPISODE = """\
CREATE DECAY PROFILE memory_episode_params OPTIONS {
  halfLifeSeconds: 604800,
  function: 'exponential',
  scoreFrom: 'LAST_ACCESSED',
  visibilityThreshold: 0.10
}

CREATE DECAY PROFILE memory_retention
FOR (n:MemoryEpisode)
APPLY {
  DECAY PROFILE 'memory_episode_params'
  DECAY VISIBILITY THRESHOLD 0.10
}

CREATE PROMOTION POLICY memory_reinforcement
FOR (n:MemoryEpisode)
APPLY {
  ON ACCESS {
    SET n.accessCount = coalesce(n.accessCount, 0) + 1
    SET n.lastAccessedAt = timestamp()

    WITH KALMAN{q: 0.05, r: 50.0} SET n.confidenceScore = $evaluatedConfidence
  }

  WHEN n.accessCount >= 3
    APPLY PROFILE 'reinforced'

  WHEN n.accessCount >= 5 AND n.confidenceScore >= 0.8
    APPLY PROFILE 'high_confidence'
}
"""

WISDOM = """\
CREATE DECAY PROFILE wisdom_retention
FOR (n:WisdomDirective)
APPLY { NO DECAY }

CREATE PROMOTION POLICY wisdom_stability
FOR (n:WisdomDirective)
APPLY {
  ON ACCESS {
    SET n.evaluationCount = coalesce(n.evaluationCount, 0) + 1

    -- Cross-session evidence: gated by session, then Kalman-smoothed
    WITH KALMAN SET n.crossSessionSupport =
      CASE WHEN n._lastSessionId <> $_session
        THEN coalesce(n.crossSessionSupport, 0) + 1
        ELSE n.crossSessionSupport
      END
    SET n._lastSessionId = $_session

    -- LLM confidence: noisy behavioral signal, Kalman-smoothed
    WITH KALMAN{q: 0.05, r: 50.0} SET n.confidenceScore = $evaluatedConfidence
  }

  WHEN n.crossSessionSupport >= 5 AND n.confidenceScore >= 0.75
    APPLY PROFILE 'established_wisdom'

  WHEN n.crossSessionSupport >= 3
    APPLY PROFILE 'provisional_wisdom'
}
"""

GATED = f"CREATE PROMOTION POLICY gated FOR (n:WisdomDirective) APPLY {{\n{SESSION_GATE}}}"
PAPER = {
    "4.2.1": DECAY_PROFILES,
    "4.2.3": PROMOTION_POLICY,
    "4.3": GATED,
    "5.2": REINFORCED_EPISODE,
    "5.3": WISDOM,
}
SHOWN = ("SHOW DECAY PROFILES;", "SHOW PROMOTION PROFILES;", "SHOW PROMOTION POLICIES;")  # 4.4

BUNDLES = (
    "CREATE DECAY PROFILE p OPTIONS {}",
    "CREATE OR REPLACE DECAY PROFILE p OPTIONS {halfLifeSeconds: -86400, function: 'linear'}",
    "CREATE DECAY PROFILE IF NOT EXISTS p OPTIONS {function: 'step', halfLifeSeconds: 0.5}",
    "CREATE DECAY PROFILE p IF NOT EXISTS OPTIONS {function: 'none', halfLifeSeconds: 0}",
    (
        "CREATE DECAY PROFILE `a b` OPTIONS {scoreFrom: 'CUSTOM', scoreFromProperty: 'seen', scope:"
        " 'PROPERTY'}"
    ),
    "CREATE DECAY PROFILE 'a b' OPTIONS {decayEnabled: false, enabled: true}",
    'CREATE DECAY PROFILE "it\'s" OPTIONS {scoreFloor: 1, visibilityThreshold: 0}',
    (
        "CREATE DECAY PROFILE $name OPTIONS {halfLifeSeconds: $h, function: $f, scoreFrom: $a,"
        " scoreFromProperty: $p, visibilityThreshold: $t}"
    ),
    (
        "CREATE DECAY PROFILE a.b OPTIONS {halfLifeSeconds: 7 * 24 * 3600; function = linear\n"
        " scoreFrom: created scope = edge}"
    ),
    "create decay profile OPTIONS options {HALFLIFESECONDS: +1e3, Function: EXPONENTIAL,}",
)
BINDINGS = (
    "CREATE DECAY PROFILE b FOR () APPLY { NO DECAY }",
    "CREATE DECAY PROFILE b FOR (n) APPLY { DECAY HALF LIFE 60 }",
    (
        "CREATE OR REPLACE DECAY PROFILE b FOR (n:A:B) APPLY { DECAY PROFILE p, DECAY FLOOR 0.1;"
        " DECAY THRESHOLD 0.2 }"
    ),
    (
        "CREATE DECAY PROFILE b FOR (n:A&B&C) APPLY { DECAY PROFILE $p DECAY HALF LIFE $h DECAY"
        " FLOOR $f DECAY VISIBILITY $t }"
    ),
    (
        "CREATE DECAY PROFILE b FOR (:A) APPLY { DECAY HALF LIFE -60.5 DECAY VISIBILITY THRESHOLD"
        " +.5 }"
    ),
    (
        "CREATE DECAY PROFILE b IF NOT EXISTS FOR ()-[r:KNOWS]-() APPLY { NO DECAY; DECAY FLOOR"
        " 0.5; DECAY VISIBILITY 0.5 }"
    ),
    (
        "CREATE DECAY PROFILE b FOR ()-[r:KNOWS]->() APPLY { r.a NO DECAY r.b DECAY HALF LIFE 5"
        " DECAY FLOOR 0.1, r.c DECAY PROFILE 'p' }"
    ),
    "CREATE DECAY PROFILE b FOR ()<-[r]-() APPLY { r.`a b` NO DECAY }",
    "CREATE DECAY PROFILE b FOR ()-[]-() APPLY { NO DECAY }",
    "CREATE DECAY PROFILE b FOR ()--() APPLY { NO DECAY }",
    (
        "CREATE DECAY PROFILE b FOR (decay:Decay) APPLY { decay.no NO DECAY decay.decay DECAY HALF"
        " LIFE 1\n DECAY HALF LIFE 2 }"
    ),
    (
        "CREATE DECAY PROFILE b FOR (n:A) APPLY {\n  n.x DECAY HALF LIFE 5\n  n.x DECAY FLOOR 0.1\n"
        "  DECAY HALF LIFE 9 /* \n */ }"
    ),
)
PROFILES = (
    "CREATE PROMOTION PROFILE p OPTIONS {}",
    (
        "CREATE OR REPLACE PROMOTION PROFILE p OPTIONS { multiplier: 1.25, scoreFloor: 0.8,"
        " scoreCap: 1.0, scope: 'NODE', enabled: TRUE }"
    ),
    "CREATE PROMOTION PROFILE IF NOT EXISTS $p OPTIONS { multiplier = 0 scorecap = $c }",
)
POLICIES = (
    "CREATE PROMOTION POLICY p FOR (n:A) APPLY { WHEN n.x > 1 APPLY PROFILE a }",
    "CREATE OR REPLACE PROMOTION POLICY p FOR (n) APPLY { ON ACCESS { SET n.x = 1 } }",
    (
        "CREATE PROMOTION POLICY p IF NOT EXISTS FOR ()-[r:T]-() APPLY { WHEN r.x IS NOT NULL APPLY"
        " PROFILE $p; ON ACCESS { SET r.x = 1; SET r.y = 2 } }"
    ),
    (
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { ON ACCESS { WITH KALMAN {} SET n.x = $v, n.y ="
        " n.x * 2, SET n.z = 1, WITH KALMAN SET n.w = 1.5 } }"
    ),
    (
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { ON ACCESS { WITH KALMAN {Q: $q varianceScale:"
        " 10; WINDOWSIZE = 32} SET n.x = n.y } }"
    ),
    (
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { WHEN n:B AND any(x IN n.tags WHERE x STARTS"
        " WITH 'a') APPLY PROFILE 'x' WHEN true APPLY PROFILE y }"
    ),
    (
        "CREATE PROMOTION POLICY p FOR (n:A) APPLY { WHEN n.at < timestamp() - 1000 OR date() >"
        " n.end APPLY PROFILE `a b`, WHEN n.x APPLY PROFILE z }"
    ),
    (
        "CREATE PROMOTION POLICY p FOR (set:A) APPLY { ON ACCESS { SET set.a = 1, set.b = [set IN"
        " set.c | set + 1] } }"
    ),
    "CREATE PROMOTION POLICY p FOR () APPLY { WHEN 1 < 2 APPLY PROFILE x }",
)
CHANGES = (
    "ALTER DECAY PROFILE p SET OPTIONS { halfLifeSeconds: 5, scoreFromProperty: 'x' }",
    "ALTER DECAY PROFILE 'p q' ENABLE",
    "ALTER PROMOTION PROFILE p SET OPTIONS { multiplier: $m }",
    "ALTER PROMOTION PROFILE $p DISABLE",
    "ALTER PROMOTION POLICY p SET OPTIONS { enabled: false }",
    "ALTER PROMOTION POLICY p DISABLE;",
    "DROP DECAY PROFILE p",
    "DROP DECAY PROFILE IF EXISTS 'p'",
    "DROP PROMOTION PROFILE p IF EXISTS",
    "DROP PROMOTION POLICY $p",
    "DROP DECAY PROFILE if",
)
TOGETHER = (
    (
        "DROP DECAY PROFILE a DROP PROMOTION POLICY b;; ALTER DECAY PROFILE c ENABLE CREATE"
        " PROMOTION PROFILE d OPTIONS {};"
    ),
    (
        "CREATE DECAY PROFILE a OPTIONS {} -- it's `this`\n CREATE DECAY PROFILE b FOR (n) APPLY {"
        ' NO DECAY } // and "that\n'
    ),
)
SHOWS = (
    "SHOW DECAY PROFILE",
    "SHOW PROMOTION POLICY WHERE enabled",
    "SHOW PROMOTION PROFILES YIELD name, enabled WHERE enabled RETURN name",
    "show decay profiles YIELD * -- all of them",
)
EVERY = (*PAPER.values(), *BUNDLES, *BINDINGS, *PROFILES, *POLICIES, *CHANGES, *TOGETHER)
