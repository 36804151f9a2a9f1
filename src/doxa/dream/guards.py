"""What no dream ends: asked when a finding is made, and again when it is applied.

    protected       a tag approved, published, verified or crystallised; what an operator verified;
                    what is on legal hold
    kept by key     a framework put it under a key, by which it will ask for it
    too young       stated less than so many days ago
    depended on     a current belief depends on it

The laws of background work (belief/background/laws.py) hold besides, at the commit.
"""

from __future__ import annotations

from doxa.belief.background.sources import Sources
from doxa.belief.graph import CURRENT, PROTECTED_TAGS, SUPPORT_EDGES, TAG, item_of
from doxa.store import Node, Reader

_KEY = "adapter_path"  # where adapters/documents.py keeps the key of a document
_DAY_NS = 86_400_000_000_000


def why_kept(reader: Reader, revision: Node, *, age_days: float) -> str:
    """Return why a belief must not be ended by a run; empty if it may be."""
    item = item_of(reader, revision.id)
    tags = [str(edge.props.get("name")) for edge in reader.edges_out(item.id, TAG)]
    protecting = sorted(set(tags) & set(PROTECTED_TAGS))
    if protecting:
        return f"it is tagged {protecting[0]}"
    if revision.props.get("trust") == "verified":
        return "an operator verified it"
    if _KEY in revision.props:
        return "a framework keeps it under a key"
    if Sources(reader).is_held(revision) or Sources(reader).is_held(item):
        return "it is on legal hold"
    for kind in SUPPORT_EDGES:
        for edge in reader.edges_in(revision.id, kind):
            if reader.edges_in(edge.src, CURRENT):
                return "a current belief depends on it"
    age = (reader.now - revision.born) / _DAY_NS
    if age < age_days:
        return f"it is younger than {age_days:g} days"
    return ""


def is_only_young(why: str) -> bool:
    """Return whether time alone lifts what keeps a belief."""
    return why.startswith("it is younger")
