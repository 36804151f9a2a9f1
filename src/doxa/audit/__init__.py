"""What is wrong with what a memory holds: junk, duplicates, what is stale, echoes of memory's own
output, and conclusions that their sources do not support."""

from doxa.audit.audit import MemoryAudit, audit
from doxa.audit.types import AuditFinding, AuditShare

__all__ = ["AuditFinding", "AuditShare", "MemoryAudit", "audit"]
