"""The declarations that a new file gets, and the standard policies of decay after Ebbinghaus and
Roynard; what commands ask of policies.

Facts persist, episodes fade within weeks unless they are used, directives are promoted by evidence
from several sessions. A history that was imported from a file is an archive that the user chose to
keep: it loses weight over half a year and is never hidden. The policies are schema like any other:
an operator may alter or drop them. A file that holds anything already is left as it is.

Sources: the paper "Persistence Semantics" (NornicDB, 2026), section 4.4.1; M. Roynard, "The Missing
Knowledge Layer in Cognitive Architectures for AI Agents" (arXiv:2604.11364), whose four layers
these are.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from doxa.base.errors import ConstraintError
from doxa.belief import declare
from doxa.store import Identity, Store

if TYPE_CHECKING:
    from doxa.query.engine import QueryEngine

STANDARD_POLICIES = """
CREATE DECAY PROFILE knowledge_fact_retention OPTIONS { function: 'none' }
CREATE DECAY PROFILE memory_episode_retention OPTIONS {
  halfLifeSeconds: 604800, function: 'exponential', scoreFrom: 'VERSION', visibilityThreshold: 0.10
}
CREATE DECAY PROFILE exchange_retention OPTIONS {
  halfLifeSeconds: 604800, function: 'exponential', scoreFrom: 'LAST_ACCESSED',
  visibilityThreshold: 0.10
}
CREATE DECAY PROFILE imported_retention OPTIONS {
  halfLifeSeconds: 15552000, function: 'exponential', scoreFrom: 'LAST_ACCESSED',
  scoreFloor: 0.10, visibilityThreshold: 0.10
}
CREATE DECAY PROFILE session_summary OPTIONS {
  halfLifeSeconds: 1209600, function: 'exponential', scoreFloor: 0.10, visibilityThreshold: 0.10
}
CREATE DECAY PROFILE wisdom_directive_retention OPTIONS { function: 'none' }
CREATE DECAY PROFILE evidence_decay OPTIONS {
  halfLifeSeconds: 2592000, function: 'exponential', scoreFrom: 'CREATED', visibilityThreshold: 0.10
}

CREATE DECAY PROFILE knowledge_fact FOR (n:KnowledgeFact) APPLY {
  DECAY PROFILE 'knowledge_fact_retention'
}
CREATE DECAY PROFILE belief FOR (n:Revision) APPLY { DECAY PROFILE 'knowledge_fact_retention' }
CREATE DECAY PROFILE memory_episode FOR (n:MemoryEpisode) APPLY {
  DECAY PROFILE 'memory_episode_retention'
  n.tenantId NO DECAY
  n.agentId NO DECAY
  n.sessionId NO DECAY
  n.system_created_at NO DECAY
  n.system_expired_at NO DECAY
  n.valid_from NO DECAY
  n.valid_to NO DECAY
  n.summary DECAY PROFILE 'session_summary'
  n.ephemeralContext DECAY HALF LIFE 86400
}
CREATE DECAY PROFILE exchange FOR (n:Exchange) APPLY { DECAY PROFILE 'exchange_retention' }
CREATE DECAY PROFILE imported_exchange FOR (n:Exchange:Imported) APPLY {
  DECAY PROFILE 'imported_retention'
}
CREATE DECAY PROFILE wisdom_directive FOR (n:WisdomDirective) APPLY {
  DECAY PROFILE 'wisdom_directive_retention'
}
CREATE DECAY PROFILE evidence FOR ()-[r:EVIDENCES]-() APPLY {
  DECAY PROFILE 'evidence_decay'
  r.sourceId NO DECAY
}
CREATE DECAY PROFILE supersedes FOR ()-[r:SUPERSEDES]-() APPLY { NO DECAY }
CREATE DECAY PROFILE consolidates_to FOR ()-[r:CONSOLIDATES_TO]-() APPLY { NO DECAY }
CREATE DECAY PROFILE revises FOR ()-[r:REVISES]-() APPLY { NO DECAY }
CREATE DECAY PROFILE derived_from FOR ()-[r:DERIVED_FROM]-() APPLY { NO DECAY }

CREATE PROMOTION PROFILE memory_reinforced OPTIONS { multiplier: 1.25 }
CREATE PROMOTION PROFILE consolidation_candidate OPTIONS { multiplier: 1.5, scoreFloor: 0.8 }
CREATE PROMOTION PROFILE wisdom_provisional OPTIONS { multiplier: 1.0 }
CREATE PROMOTION PROFILE wisdom_established OPTIONS { multiplier: 1.0, scoreFloor: 0.5 }
CREATE PROMOTION PROFILE wisdom_canonical OPTIONS { multiplier: 1.0, scoreFloor: 0.9 }
CREATE PROMOTION PROFILE reinforced_evidence OPTIONS { multiplier: 1.2, scope: 'EDGE' }

CREATE PROMOTION POLICY memory_episode_consolidation FOR (n:MemoryEpisode) APPLY {
  ON ACCESS {
    SET n.accessCount = coalesce(n.accessCount, 0) + 1
    SET n.lastAccessedAt = timestamp()
  }
  WHEN n.accessCount >= 3 APPLY PROFILE 'memory_reinforced'
  WHEN n.accessCount >= 5 AND n.sourceAgreement >= 0.80 APPLY PROFILE 'consolidation_candidate'
}
CREATE PROMOTION POLICY exchange_consolidation FOR (n:Exchange) APPLY {
  WHEN n.sessionSupport >= 3 APPLY PROFILE 'memory_reinforced'
  WHEN n.sessionSupport >= 5 AND n.agentSupport >= 2 APPLY PROFILE 'consolidation_candidate'
}
CREATE PROMOTION POLICY wisdom_directive_stability FOR (n:WisdomDirective) APPLY {
  ON ACCESS {
    SET n.evaluationCount = coalesce(n.evaluationCount, 0) + 1
    SET n.crossSessionSupport =
      CASE WHEN n._lastSessionId <> $_session
        THEN coalesce(n.crossSessionSupport, 0) + 1
        ELSE n.crossSessionSupport
      END
    SET n._lastSessionId = $_session
  }
  WHEN coalesce(n.evidenceCount, 0) < 3 APPLY PROFILE 'wisdom_provisional'
  WHEN n.evidenceCount >= 3 AND n.contradictionRate < 0.20 APPLY PROFILE 'wisdom_established'
  WHEN n.evidenceCount >= 10 AND n.contradictionRate < 0.05 AND n.crossSessionSupport >= 3
    APPLY PROFILE 'wisdom_canonical'
}
CREATE PROMOTION POLICY directive_stability FOR (n:Revision) APPLY {
  WHEN n.kind = 'directive' AND n.sessionSupport >= 3 APPLY PROFILE 'wisdom_established'
  WHEN n.kind = 'directive' AND n.sessionSupport >= 10 AND n.agentSupport >= 2
    APPLY PROFILE 'wisdom_canonical'
}
CREATE PROMOTION POLICY evidence_traversal_tiering FOR ()-[r:EVIDENCES]-() APPLY {
  WHEN r.traversalCount >= 5 APPLY PROFILE 'reinforced_evidence'
}
"""


def initialise_file(store: Store, *, bootstrap: bool) -> None:
    """Declare what beliefs need; with `bootstrap`, give a new file the standard policies too."""
    new = False
    if bootstrap and not store.read_only:
        with store.read() as snapshot:
            new = snapshot.last_receipt() is None
    declare(store)
    if new:
        with store.read() as snapshot:
            held = snapshot.catalogue_all("policy:")
        if not held:
            with suppress(ConstraintError):  # another process was first
                install(store, Identity("doxa", "system"))


def install(store: Store, identity: Identity) -> int:
    """Declare the standard policies in a file that has none; returns how many. Raises
    ConstraintError where there are some, RoleError for agents."""
    from doxa.cypher.parser import parse
    from doxa.query.schema.policy_commands import run_policy

    body = parse(STANDARD_POLICIES).body
    with store.write(identity, op="policies") as tx:
        if tx.catalogue_all("policy:"):
            raise ConstraintError(
                "This file has persistence policies already.",
                next_step="Create what is missing by name.",
            )
        return run_policy(body, tx, lambda expression: getattr(expression, "value", None)).get(  # type: ignore[arg-type]
            "policies_added", 0
        )


def has_only_policy_commands(queries: QueryEngine, script: str) -> bool:
    """Return whether a script consists of policy commands."""
    from doxa.query.schema.policy_commands import POLICY_COMMANDS

    return isinstance(queries.prepare(script).statement.body, POLICY_COMMANDS)
