"""The columns of the rows that procedures yield, by what the verb returns."""

from __future__ import annotations

_TEXT, _NUMBER, _FLAG, _MAPS = "STRING", "INTEGER", "BOOLEAN", "LIST OF MAP"

CHANGE = (
    ("action", _TEXT),
    ("kref", _TEXT),
    ("previous", _TEXT),
    ("reason", _TEXT),
    ("losses", _MAPS),
    ("conflict", _TEXT),
    ("unsupported", _MAPS),
    ("supported", _MAPS),
    ("change", _NUMBER),
    ("receipt", _TEXT),
)
HIT = (
    ("kref", _TEXT),
    ("text", _TEXT),
    ("score", "FLOAT"),
    ("status", _TEXT),
    ("trust", _TEXT),
    ("why", _TEXT),
    ("node", "NODE"),
)
WALK = (("kref", _TEXT), ("depth", _NUMBER), ("edge", _TEXT), ("via", _TEXT))
WALK_CUT = (*WALK, ("cut", _TEXT))
IMPACT = (*WALK, ("falls", _FLAG), ("cut", _TEXT))
EXPLANATION = (("section", _TEXT), ("kref", _TEXT), ("says", _TEXT), ("how", _TEXT))
MATCH = (
    ("kref", _TEXT),
    ("score", "FLOAT"),
    ("relation", _TEXT),
    ("fact", "LIST OF ANY"),
    ("reasons", "LIST OF STRING"),
    ("verdict", _TEXT),
)
CONFLICT = (
    ("kref", _TEXT),
    ("challenger", _TEXT),
    ("text", _TEXT),
    ("trust", _TEXT),
    ("held", _MAPS),
    ("decision", _TEXT),
)
AUDIT = (
    ("kind", _TEXT),
    ("count", _NUMBER),
    ("of", _NUMBER),
    ("share", "FLOAT"),
    ("examined", _NUMBER),
    ("findings", _MAPS),
)
LISTING = (("kref", _TEXT), ("type", _TEXT), ("text", _TEXT), ("status", _TEXT))
REVISION = (
    ("kref", _TEXT),
    ("revision", _NUMBER),
    ("text", _TEXT),
    ("status", _TEXT),
    ("time", _TEXT),
)
RULES = (("rules", "MAP"),)
FORGOTTEN = (
    ("done", _FLAG),
    ("mode", _TEXT),
    ("count", _NUMBER),
    ("krefs", "LIST OF STRING"),
    ("token", _TEXT),
    ("changes", "LIST OF INTEGER"),
    ("note", _TEXT),
)
INGESTED = (
    ("added", _NUMBER),
    ("known", _NUMBER),
    ("candidates", _NUMBER),
    ("redacted", _NUMBER),
    ("threads", "LIST OF STRING"),
    ("changes", "LIST OF INTEGER"),
    ("untrusted", _NUMBER),
)
STORED_UNIT = (
    ("action", _TEXT),
    ("kref", _TEXT),
    ("stored", _FLAG),
    ("artifacts", "LIST OF STRING"),
    ("edges", "LIST OF STRING"),
    ("bundles", "LIST OF STRING"),
    ("tags", "LIST OF STRING"),
    ("known", _MAPS),
    ("warnings", "LIST OF STRING"),
    ("losses", _MAPS),
    ("conflict", _TEXT),
    ("change", _NUMBER),
    ("receipt", _TEXT),
)
EXECUTION = (
    ("kref", _TEXT),
    ("task", _TEXT),
    ("outcome", _TEXT),
    ("steps", "LIST OF STRING"),
    ("tools", "LIST OF STRING"),
    ("exit_code", _NUMBER),
    ("duration_ms", _NUMBER),
    ("cost", "FLOAT"),
    ("time", _TEXT),
    ("likeness", "FLOAT"),
)
RESPONSE = (
    ("kref", _TEXT),
    ("thread", _TEXT),
    ("stored", _FLAG),
    ("sources", "LIST OF STRING"),
    ("change", _NUMBER),
    ("receipt", _TEXT),
)
SURVEY = (("survey", "MAP"),)
LEASE, PACKET = (("lease", "MAP"),), (("packet", "MAP"),)
STANDING, SCAFFOLD = (("standing", "MAP"),), (("scaffold", "MAP"),)
ELIGIBILITY = (
    ("kref", _TEXT),
    ("consumer", _TEXT),
    ("allowed", _FLAG),
    ("reasons", "LIST OF STRING"),
)
EDGES = (
    ("source", _TEXT),
    ("target", _TEXT),
    ("type", _TEXT),
    ("score", "FLOAT"),
    ("why", _TEXT),
    ("by", _TEXT),
    ("applied", _FLAG),
    ("change", _NUMBER),
)
CHAT = (
    ("session", _TEXT),
    ("id", _TEXT),
    ("role", _TEXT),
    ("text", _TEXT),
    ("time", _TEXT),
    ("consolidated", _FLAG),
    ("metadata", "MAP"),
)
CHAT_SUMMARY = (
    ("session", _TEXT),
    ("context", _TEXT),
    ("user", _TEXT),
    ("messages", _NUMBER),
    ("pending", _NUMBER),
    ("dropped", _NUMBER),
    ("since", _TEXT),
    ("until", _TEXT),
)
RECEIPT = (
    ("change", _NUMBER),
    ("time", _TEXT),
    ("actor", _TEXT),
    ("role", _TEXT),
    ("op", _TEXT),
    ("receipt", _TEXT),
)
EVENT = (
    ("id", _TEXT),
    ("seq", _NUMBER),
    ("change", _NUMBER),
    ("name", _TEXT),
    ("time", _TEXT),
    ("actor", _TEXT),
    ("role", _TEXT),
    ("op", _TEXT),
    ("kref", _TEXT),
    ("project", _TEXT),
    ("labels", "LIST OF STRING"),
    ("previous", _TEXT),
    ("event", "MAP"),
)
ENTITY = (
    ("kref", _TEXT),
    ("name", _TEXT),
    ("kind", _TEXT),
    ("trust", _TEXT),
    ("aliases", "LIST OF STRING"),
    ("mentions", _NUMBER),
    ("first", _TEXT),
    ("last", _TEXT),
)
ENTITY_PAGE = (("part", _TEXT), ("kref", _TEXT), ("name", _TEXT), ("says", _TEXT))
RESOLUTION = (("decision", _TEXT), ("kref", _TEXT), ("score", "FLOAT"), ("why", _TEXT))
RECORDED = (
    ("sources", _NUMBER),
    ("mentions", _NUMBER),
    ("entities", _NUMBER),
    ("pending", _NUMBER),
    ("changes", "LIST OF INTEGER"),
)
PENDING = (
    ("kref", _TEXT),
    ("name", _TEXT),
    ("kind", _TEXT),
    ("state", _TEXT),
    ("reason", _TEXT),
    ("sources", "LIST OF STRING"),
    ("candidates", _MAPS),
    ("answer", _TEXT),
)
PATTERN = (
    ("path", _TEXT),
    ("reached", _NUMBER),
    ("used", _NUMBER),
    ("yield", "FLOAT"),
    ("coverage", "FLOAT"),
    ("overlap", "FLOAT"),
)
WAITING = (
    ("thread", _TEXT),
    ("session", _TEXT),
    ("part", _NUMBER),
    ("producer", _TEXT),
    ("attempts", _NUMBER),
    ("due", _TEXT),
    ("error", _TEXT),
)
TASK = (
    ("kref", _TEXT),
    ("kind", _TEXT),
    ("text", _TEXT),
    ("who", _TEXT),
    ("due", _TEXT),
    ("state", _TEXT),
    ("sources", "LIST OF STRING"),
)
RUN = (
    ("kref", _TEXT),
    ("job", _TEXT),
    ("state", _TEXT),
    ("touched", _NUMBER),
    ("changed", _NUMBER),
    ("model", _TEXT),
    ("report", _TEXT),
)
PROPOSAL = (
    ("kref", _TEXT),
    ("run", _TEXT),
    ("kind", _TEXT),
    ("state", _TEXT),
    ("reason", _TEXT),
    ("about", "LIST OF STRING"),
    ("said", _TEXT),
)
APPLIED = (("proposal", _TEXT), ("state", _TEXT), ("change", _NUMBER), ("said", _TEXT))
UNDONE = (("run", _TEXT), ("changes", "LIST OF INTEGER"), ("change", _NUMBER))
RECORD = (
    ("kref", _TEXT),
    ("type", _TEXT),
    ("agent", _TEXT),
    ("state", _TEXT),
    ("text", _TEXT),
    ("data", "MAP"),
    ("notes", "MAP"),
    ("hash", _TEXT),
    ("time", _TEXT),
    ("said", _TEXT),
)
CRYSTALLISE_PLAN = (
    ("candidate", _TEXT),
    ("text", _TEXT),
    ("file", _TEXT),
    ("hash", _TEXT),
    ("ready", _FLAG),
    ("gates", _MAPS),
)
AGENT_IDENTITY = (
    ("file", _TEXT),
    ("text", _TEXT),
    ("candidate", _TEXT),
    ("item", _TEXT),
    ("approved_by", _TEXT),
    ("digest", _TEXT),
)
