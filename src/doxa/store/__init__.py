"""Tables, migrations, transactions, snapshots, history, log, receipts, search rows, check. The only
package that writes."""

from doxa.store.constraint import Constraints
from doxa.store.declared import SUPPRESSING
from doxa.store.dump.load import Loader, Times
from doxa.store.dump.versions import (
    EdgeVersion,
    NodeVersion,
    access_records,
    edge_versions,
    is_empty,
    last_ids,
    latest_time,
    node_versions,
)
from doxa.store.file.damage import damage_reported
from doxa.store.file.engine import Interrupted
from doxa.store.image.adjacency import ResidentEdges
from doxa.store.image.columns import CODES, NUMBERS, Codes, LabelColumns, Numbers, WantedColumn
from doxa.store.image.images import ImageView
from doxa.store.index import Indexes, IndexRule
from doxa.store.indexing.blocks import (
    DOC_COLUMNS,
    blocks_of_gone,
    code_blocks,
    doc_blocks,
    unpack_rows,
)
from doxa.store.indexing.keys import after_key, key_of, rank_of
from doxa.store.indexing.packing import (
    code_levels,
    code_products,
    code_signs,
    code_vectors,
    codes_of,
    pack_part,
    unpack_codes,
    unpack_parts,
    unpack_vectors,
    wrong_length,
)
from doxa.store.indexing.products import pair_products, row_products
from doxa.store.indexing.search_rows import (
    attributes_of,
    rule_of,
)
from doxa.store.indexing.search_texts import SearchRule, added_statements, entries_of, text_of
from doxa.store.indexing.trust import TRUST_DEFAULT, TRUSTS, UNTRUSTED, trust_of
from doxa.store.indexing.vector_tables import FIELDS_FROM, INDEXED_PARTS, PARTS, vector_id
from doxa.store.intake.secrets import without_secrets
from doxa.store.proof.addresses import AddressProblem
from doxa.store.proof.verify import LogProof, check, digest, replayed_digest, verify_log
from doxa.store.reader import Reader
from doxa.store.rows import RUN_KREF, RUN_MODEL, Edge, Identity, LogEntry, Node, Receipt
from doxa.store.sql_values import int64_array
from doxa.store.store import Store
from doxa.store.transaction import Transaction
from doxa.store.visibility.access import (
    Access,
    AccessData,
    AccessRecord,
    IdColumns,
    checked_access,
)
from doxa.store.visibility.evaluator import (
    DYNAMIC,
    Condition,
    Expressions,
    PolicyEvaluator,
    PolicyStatus,
    Subject,
    Value,
)
from doxa.store.visibility.visible_now import VisibilityFilter

__all__ = [
    "CODES",
    "DOC_COLUMNS",
    "DYNAMIC",
    "FIELDS_FROM",
    "INDEXED_PARTS",
    "NUMBERS",
    "PARTS",
    "RUN_KREF",
    "RUN_MODEL",
    "SUPPRESSING",
    "TRUSTS",
    "TRUST_DEFAULT",
    "UNTRUSTED",
    "Access",
    "AccessData",
    "AccessRecord",
    "AddressProblem",
    "Codes",
    "Condition",
    "Constraints",
    "Edge",
    "EdgeVersion",
    "Expressions",
    "IdColumns",
    "Identity",
    "ImageView",
    "IndexRule",
    "Indexes",
    "Interrupted",
    "LabelColumns",
    "Loader",
    "LogEntry",
    "LogProof",
    "Node",
    "NodeVersion",
    "Numbers",
    "PolicyEvaluator",
    "PolicyStatus",
    "Reader",
    "Receipt",
    "ResidentEdges",
    "SearchRule",
    "Store",
    "Subject",
    "Times",
    "Transaction",
    "Value",
    "VisibilityFilter",
    "WantedColumn",
    "access_records",
    "added_statements",
    "after_key",
    "attributes_of",
    "blocks_of_gone",
    "check",
    "checked_access",
    "code_blocks",
    "code_levels",
    "code_products",
    "code_signs",
    "code_vectors",
    "codes_of",
    "damage_reported",
    "digest",
    "doc_blocks",
    "edge_versions",
    "entries_of",
    "int64_array",
    "is_empty",
    "key_of",
    "last_ids",
    "latest_time",
    "node_versions",
    "pack_part",
    "pair_products",
    "rank_of",
    "replayed_digest",
    "row_products",
    "rule_of",
    "text_of",
    "trust_of",
    "unpack_codes",
    "unpack_parts",
    "unpack_rows",
    "unpack_vectors",
    "vector_id",
    "verify_log",
    "without_secrets",
    "wrong_length",
]
