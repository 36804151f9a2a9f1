"""Floor 3: what a belief is and how it changes: items, revisions, tags, edges, artifacts, bundles, and the operations on them."""

from doxa.belief.graph import (
    CURRENT,
    EXCHANGE_KIND,
    HAS_REVISION,
    TAG,
    build_revision,
    parse_target,
    read_any,
    read_as_of,
    read_at,
    read_exchange,
    read_revision,
    require,
    resolve,
    revisions_of,
    tag_moves,
    tagged_at,
)  # fmt: skip
from doxa.belief.kref import Kref, check_name, parse_kref, print_kref, slug
from doxa.belief.ledger import Ledger, declare, sealed
from doxa.belief.types import Bundle, Change, Draft, Exchange, Fact, Member, Place, Revision, Step, TagMove, Walk, check_draft, parse_fact
from doxa.belief.walks import impact, provenance, shortest_path, traverse
from doxa.belief.writes import draft_kref, ensure_place, place_of

__all__ = [
    "CURRENT", "EXCHANGE_KIND", "HAS_REVISION", "TAG", "Bundle", "Change", "Draft", "Exchange", "Fact", "Kref", "Ledger", "Member", "Place",
    "Revision", "Step", "TagMove", "Walk", "build_revision", "check_draft", "check_name", "declare", "draft_kref", "ensure_place", "impact",
    "parse_fact", "parse_kref", "parse_target", "place_of", "print_kref", "provenance", "read_any", "read_as_of", "read_at", "read_exchange",
    "read_revision", "require", "resolve", "revisions_of", "sealed", "shortest_path", "slug", "tag_moves", "tagged_at", "traverse",
]
