"""Floor 3: what a belief is and how it changes: items, revisions, tags, edges, artifacts, bundles, and the operations on them."""

from doxa.belief.conflicts import list_conflicts
from doxa.belief.explain import Explanation, explain
from doxa.belief.graph import (
    CURRENT,
    EXCHANGE_KIND,
    HAS_REVISION,
    TAG,
    build_revision,
    facts_of,
    item_of,
    parse_target,
    read_any,
    read_as_of,
    read_at,
    read_exchange,
    read_revision,
    require,
    resolve,
    revisions_of,
    status_of,
    tag_moves,
    tagged_at,
)  # fmt: skip
from doxa.belief.kref import Kref, check_name, parse_kref, print_kref, slug
from doxa.belief.laws import laws_of
from doxa.belief.ledger import Ledger, declare, sealed
from doxa.belief.types import (
    Bundle,
    Change,
    Conflict,
    Draft,
    Exchange,
    Fact,
    Fallen,
    Lost,
    Member,
    Place,
    Revision,
    Step,
    TagMove,
    Walk,
    check_draft,
    parse_fact,
)
from doxa.belief.walks import impact, provenance, shortest_path, traverse
from doxa.belief.writes import draft_kref, ensure_place, place_of

__all__ = [
    "CURRENT", "EXCHANGE_KIND", "HAS_REVISION", "TAG", "Bundle", "Change", "Conflict", "Draft", "Exchange", "Explanation", "Fact", "Fallen", "Kref",
    "Ledger", "Lost", "Member", "Place", "Revision", "Step", "TagMove", "Walk", "build_revision", "check_draft", "check_name", "declare",
    "draft_kref", "ensure_place", "explain", "facts_of", "impact", "item_of", "laws_of", "list_conflicts", "parse_fact", "parse_kref",
    "parse_target", "place_of", "print_kref", "provenance", "read_any", "read_as_of", "read_at", "read_exchange", "read_revision", "require",
    "resolve", "revisions_of", "sealed", "shortest_path", "slug", "status_of", "tag_moves", "tagged_at", "traverse",
]
