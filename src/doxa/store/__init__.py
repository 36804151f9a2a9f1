"""Floor 2: tables, migrations, transactions, snapshots, history, log, receipts, search rows, check. The only room that writes."""

from doxa.store.constraint import Constraints
from doxa.store.engine import Interrupted
from doxa.store.index import Indexes, IndexRule
from doxa.store.keys import after_key, key_of, rank_of
from doxa.store.reader import Reader, int64_array
from doxa.store.rows import Edge, LogEntry, Node, Receipt
from doxa.store.search import TRUST_DEFAULT, TRUSTS, SearchRule, attributes_of, text_of
from doxa.store.store import Store
from doxa.store.transaction import Identity, Transaction
from doxa.store.verify import LogProof, check, digest, replayed_digest, verify_log

__all__ = [
    "TRUSTS", "TRUST_DEFAULT", "Constraints", "Edge", "Identity", "IndexRule", "Indexes", "Interrupted", "LogEntry", "LogProof", "Node",
    "Reader", "Receipt", "SearchRule", "Store", "Transaction",
    "after_key", "attributes_of", "check", "digest", "int64_array", "key_of", "rank_of", "replayed_digest", "text_of", "verify_log",
]
