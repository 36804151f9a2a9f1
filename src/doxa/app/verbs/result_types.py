"""The types that verbs return, by the names that the verb table gives: for interfaces that describe
results to programs. Packages above belief are imported when their type is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

_BELIEF = "doxa.belief"
_WHERE = {
    "ArtifactFile": "doxa.ingestion.units.files",
    "MemoryAudit": "doxa.audit.types",
    "Spend": "doxa.models.meter",
    **dict.fromkeys(
        ("Bundle", "Change", "Conflict", "Exchange", "Explanation", "Listing", "Place"), _BELIEF
    ),
    **dict.fromkeys(("Revision", "Walk"), _BELIEF),
    **dict.fromkeys(("Chat", "ChatAdded", "ChatSummary"), "doxa.working"),
    "AssembledContext": "doxa.agent.context.pipeline",
    "Attachment": "doxa.agent.attachments.receipts",
    "Record": "doxa.agent.records.types",
    "DiscoveredEdges": "doxa.ingestion.units.edges",
    "EntityInfo": "doxa.entities.types",
    "EntityPage": "doxa.entities.types",
    "Resolution": "doxa.entities.types",
    "Recorded": "doxa.entities.recording",
    "PendingMention": "doxa.entities.types",
    "PathYield": "doxa.entities.patterns",
    "ClaimPreview": "doxa.agent.claims.claims",
    "ClaimReport": "doxa.agent.claims.reporting",
    "RestartInfo": "doxa.agent.gate.continuing",
    "Consolidated": "doxa.consolidation.consolidate",
    "Pending": "doxa.consolidation.queue",
    "Task": "doxa.consolidation.tasks",
    "Metabolised": "doxa.agent.growth.metabolism",
    "TurnSignals": "doxa.agent.signals.log",
    "Contemplated": "doxa.agent.growth.contemplation",
    "CrystallisePlan": "doxa.agent.growth.crystallising",
    "CrystalliseApproval": "doxa.agent.growth.crystallising",
    "Crystallised": "doxa.agent.growth.crystallising",
    "AgentIdentity": "doxa.agent.growth.identity",
    "IdentityFile": "doxa.agent.growth.files",
    "ExportedIdentity": "doxa.agent.growth.files",
    "ImportedIdentity": "doxa.agent.growth.files",
    "DreamReport": "doxa.dream.report",
    "Shift": "doxa.dream.nightshift",
    "RunInfo": "doxa.jobs.runs",
    "JobProposal": "doxa.jobs.proposals",
    "Applied": "doxa.jobs.applying",
    "Undone": "doxa.jobs.undoing",
    "Dropped": "doxa.store.retention.dropping",
    "ErasureProof": "doxa.maintenance.erasure_proof",
    "Execution": "doxa.ingestion.units.executions",
    "Event": "doxa.events.event",
    "EventCursor": "doxa.store.stream.cursors",
    "ExportedNotes": "doxa.transfer.vault.write",
    "Extracted": "doxa.ingestion.extraction",
    "Forgotten": "doxa.maintenance.forget",
    "Growth": "doxa.app.care.growth",
    "HealthCheck": "doxa.maintenance.doctor",
    "History": "doxa.app.session",
    "Hit": "doxa.recall",
    "Imported": "doxa.transfer.types",
    "Ingested": "doxa.ingestion.ingest",
    "Loaded": "doxa.transfer.load",
    "LegalHold": "doxa.maintenance.holds",
    "LogProof": "doxa.store",
    "MatchResult": "doxa.ingestion.match",
    "Quota": "doxa.store.scope.quota",
    "Recall": "doxa.recall",
    "Receipt": "doxa.store",
    "Reembedding": "doxa.maintenance.embedding",
    "Spending": "doxa.models.spending",
    "StoredResponse": "doxa.ingestion.units.responses",
    "StoredUnit": "doxa.ingestion.units.unit",
    "Survey": "doxa.maintenance.survey",
    "Remembered": "doxa.ingestion.remember",
    **dict.fromkeys(
        ("ArchiveProof", "ArchiveRebuilt", "ArchiveWritten"), "doxa.agent.continuity.archive"
    ),
    **dict.fromkeys(("ExchangePair", "SessionInfo"), "doxa.agent.continuity.exchanges"),
    **dict.fromkeys(("HandoffView", "SessionOpened"), "doxa.agent.continuity.view"),
    "HandoffWritten": "doxa.agent.continuity.handoff",
    "HookLoad": "doxa.agent.continuity.metrics",
    **dict.fromkeys(("KnowledgeEntry", "KnowledgeIndexed"), "doxa.agent.continuity.knowledge"),
    "TopicInfo": "doxa.agent.continuity.topics",
    "Decision": "doxa.agent.spine.ledger",
    "LeaseInfo": "doxa.agent.spine.ledger",
    "Eligibility": "doxa.agent.spine.consumers",
    "Standing": "doxa.agent.standing.standing",
    "StandingUpdate": "doxa.agent.standing.standing",
    "Scaffold": "doxa.agent.evolution.scaffolds",
    "Refined": "doxa.agent.evolution.refiner",
    "ResearchBundle": "doxa.agent.evolution.bundles",
}
_BUILT_IN: dict[str, Any] = {
    "None": type(None),
    "Path": str,
    "bool": bool,
    "int": int,
    "str": str,
    "dict[str, object]": dict[str, Any],
}


@cache
def result_types(name: str) -> tuple[Any, ...]:
    """Return the types that a verb's `result` names, such as "Revision | Exchange"; none for one
    that is not known here. `list[T]` is `list` of a type."""
    if name in _BUILT_IN:
        return (_BUILT_IN[name],)
    if name.startswith("list["):
        inner = result_types(name[5:-1])
        return (list[inner[0]],) if inner else ()  # type: ignore[valid-type]
    found: list[Any] = []
    for part in name.split(" | "):
        if part in _BUILT_IN:
            found.append(_BUILT_IN[part])
        elif part in _WHERE:
            found.append(getattr(import_module(_WHERE[part]), part))
        else:
            return ()
    return tuple(found)
