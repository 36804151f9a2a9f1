"""The table of built-in procedures. Other packages add theirs to the same registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from doxa.cypher.semantics.signatures import ProcedureSignature
from doxa.query.procedures.apoc import register_apoc
from doxa.query.procedures.fulltext_search import fulltext
from doxa.query.procedures.graph_schema import (
    components,
    edge_type_properties,
    labels,
    node_type_properties,
    property_keys,
    relationship_types,
)
from doxa.query.procedures.policy_procedures import register_policies
from doxa.query.procedures.registry import RegisteredProcedure, Registry
from doxa.query.procedures.show import register_shows
from doxa.query.procedures.show_transactions import info
from doxa.query.procedures.temporal_windows import as_of, assert_no_overlap
from doxa.query.procedures.transaction_log import diff, entries, entries_by_tx
from doxa.query.procedures.vector_search import set_vector, vectors
from doxa.query.procedures.virtual_schema import visualization


def _signature(
    text: str, description: str, *, optional: int = 0, writes: bool = False
) -> ProcedureSignature:
    """name(arg :: TYPE, …) :: (column :: TYPE, …)."""
    name, _, rest = text.partition("(")
    args, _, results = rest.partition(")")
    return ProcedureSignature(
        name.strip(),
        _fields(args),
        _fields(results.partition("(")[2].rstrip(") ")),
        writes,
        optional,
        description,
    )


def _fields(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [part.split("::") for part in text.split(",") if part.strip()]
    return tuple((name.strip(), kind.strip()) for name, kind in pairs)


_TABLE: tuple[tuple[str, str, Callable[..., Any], int], ...] = (
    (
        (
            "db.index.fulltext.queryNodes(indexName :: STRING, queryString :: STRING, options ::"
            " MAP) :: (node :: NODE, score :: FLOAT)"
        ),
        "Find nodes by a full-text index.",
        lambda run, name, query, options=None: fulltext(run, name, query, options, edge=False),
        1,
    ),
    (
        (
            "db.index.fulltext.queryRelationships(indexName :: STRING, queryString :: STRING,"
            " options :: MAP) :: (relationship :: RELATIONSHIP, score :: FLOAT)"
        ),
        "Find relationships by a full-text index.",
        lambda run, name, query, options=None: fulltext(run, name, query, options, edge=True),
        1,
    ),
    (
        (
            "db.index.vector.queryNodes(indexName :: STRING, numberOfNearestNeighbours :: INTEGER,"
            " query :: LIST) :: (node :: NODE, score :: FLOAT)"
        ),
        "Find the nearest nodes by a vector index.",
        lambda run, name, most, query: vectors(run, name, most, query, edge=False),
        0,
    ),
    (
        (
            "db.index.vector.queryRelationships(indexName :: STRING, numberOfNearestNeighbours ::"
            " INTEGER, query :: LIST) :: (relationship :: RELATIONSHIP, score :: FLOAT)"
        ),
        "Find the nearest relationships by a vector index.",
        lambda run, name, most, query: vectors(run, name, most, query, edge=True),
        0,
    ),
    ("db.labels() :: (label :: STRING)", "All labels in use.", labels, 0),
    (
        "db.relationshipTypes() :: (relationshipType :: STRING)",
        "All relationship types in use.",
        relationship_types,
        0,
    ),
    (
        "db.propertyKeys() :: (propertyKey :: STRING)",
        "All property names in use.",
        property_keys,
        0,
    ),
    (
        (
            "db.schema.nodeTypeProperties() :: (nodeType :: STRING, nodeLabels :: LIST,"
            " propertyName :: STRING, propertyTypes :: LIST, mandatory :: BOOLEAN)"
        ),
        "The properties of each set of labels.",
        node_type_properties,
        0,
    ),
    (
        (
            "db.schema.relTypeProperties() :: (relType :: STRING, propertyName :: STRING,"
            " propertyTypes :: LIST, mandatory :: BOOLEAN)"
        ),
        "The properties of each relationship type.",
        edge_type_properties,
        0,
    ),
    (
        "db.schema.visualization() :: (nodes :: LIST, relationships :: LIST)",
        "Labels and the types between them, as a graph that is not stored.",
        visualization,
        0,
    ),
    (
        "db.info() :: (id :: STRING, name :: STRING, creationDate :: STRING)",
        "An id of the file, its name, and when it was first written to.",
        info,
        0,
    ),
    (
        "dbms.components() :: (name :: STRING, versions :: LIST, edition :: STRING)",
        "What drivers ask to know whom they talk to.",
        components,
        0,
    ),
    (
        "db.ping() :: (success :: BOOLEAN)",
        "Whether the database answers.",
        lambda run: [(True,)],
        0,
    ),
    (
        "db.awaitIndexes(timeOutSeconds :: INTEGER) ::",
        "Returns at once: indexes are ready when their creation returns.",
        lambda run, *_: [],
        1,
    ),
    (
        (
            "db.temporal.asOf(label :: STRING, keyProperty :: STRING, keyValue :: ANY, fromProperty"
            " :: STRING, toProperty :: STRING, asOf :: ANY, systemTime :: ANY, systemSequence ::"
            " INTEGER) :: (node :: NODE)"
        ),
        "The version of a key that was valid at a time.",
        as_of,
        2,
    ),
    (
        (
            "db.temporal.assertNoOverlap(label :: STRING, keyProperty :: STRING, fromProperty ::"
            " STRING, toProperty :: STRING, keyValue :: ANY, newFrom :: ANY, newTo :: ANY,"
            " systemTime :: ANY, systemSequence :: INTEGER) :: (ok :: BOOLEAN)"
        ),
        "Fails if a window would overlap one that is there.",
        assert_no_overlap,
        2,
    ),
    (
        (
            "db.txlog.entries(fromSequence :: INTEGER, toSequence :: INTEGER) :: (sequence ::"
            " INTEGER, operation :: STRING, timestamp :: STRING, tx_id :: STRING, database ::"
            " STRING, data :: STRING)"
        ),
        "Entries of the log, at most 10,000.",
        entries,
        1,
    ),
    (
        (
            "db.txlog.byTxId(txId :: ANY, max :: INTEGER) :: (sequence :: INTEGER, operation ::"
            " STRING, timestamp :: STRING, tx_id :: STRING, database :: STRING, data :: STRING)"
        ),
        "The log entries of one transaction.",
        entries_by_tx,
        1,
    ),
    (
        (
            "doxa.diff(t1 :: ANY, t2 :: ANY) :: (change :: STRING, entity :: STRING, id :: INTEGER,"
            " before :: MAP, after :: MAP)"
        ),
        "What changed between two system times.",
        diff,
        0,
    ),
)
_WRITING: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (
        "db.create.setNodeVectorProperty(node :: NODE, key :: STRING, vector :: LIST) ::",
        "Set a property of a node to a vector.",
        set_vector,
    ),
    (
        (
            "db.create.setRelationshipVectorProperty(relationship :: RELATIONSHIP, key :: STRING,"
            " vector :: LIST) ::"
        ),
        "Set a property of a relationship to a vector.",
        set_vector,
    ),
)


def builtin(registry: Registry) -> Registry:
    """Add the built-in procedures to a registry and return it."""
    for text, description, write in _WRITING:
        registry.add(RegisteredProcedure(_signature(text, description, writes=True), write))
    for text, description, call, optional in _TABLE:
        registry.add(RegisteredProcedure(_signature(text, description, optional=optional), call))
    register_shows(registry)
    register_policies(registry)
    register_apoc(registry)
    return registry
