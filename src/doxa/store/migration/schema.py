"""The tables of a doxa file and the named migrations that make them, so that a file of any age
opens or says why not.

State        node(id, labels, props, kref, since, born, vis_from, vis_until, fades, project)
node_label(label, node)
             edge(id, type, src, dst, props, since, born, vis_from, vis_until, fades, project)
             windows: window_writer.py; project: apply.py
Past         node_past(id, since, until, ...)  edge_past(id, since, until, ...)    closed versions,
half-open [since, until)
Log          log(seq, tx, op, element, payload_hash, hash)   log_payload(seq, salt, payload)
receipt(tx, time, actor, ..., hash)
Catalogue    catalogue(name, value)   search declarations, guards, indexes, constraints; every
change is logged
Indexes      entry(idx, key, element)   key orders as Cypher does (keys.py)      entry_past(idx,
key, element)   keys of closed versions
Search       doc(scope, doc, node, ...)   posting(scope, term, first, data)   posting_new(scope,
first, term, data)
             atom(scope, key, node)   what live nodes state (search_rows.py)
             vector(id, data)   vector_code(id, code)   and the same with _next, of a coming model
             (vector_tables.py)
Access       access(edge, element, data)   what is known of an element's use (access.py)
Bookkeeping  meta(key, value)   token(id, text)   migration(name, applied)   cursor(name, seq)
             idempotency_key(key, tx, expires, salt, request, answer)   (idempotency/keys.py)

props is JSONB; labels is a JSON array in code-point order. posting.data is a run of 5-byte records:
doc number (u32 LE), term count (u8). vector.data is f16 LE, vector_code.code four bits a number of
it (packing.py); meta embedder names the model of all in use. Times are integer ns UTC. Search
tables are derived from state and can be rebuilt; state can be rebuilt from the log.
"""

from __future__ import annotations

FORMAT = 12
APPLICATION_ID = 0x646F7861  # "doxa"

_FIRST = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE migration(name TEXT PRIMARY KEY, applied INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE catalogue(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE token(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

CREATE TABLE node(
  id INTEGER PRIMARY KEY, labels TEXT NOT NULL, props BLOB NOT NULL,
  since INTEGER NOT NULL, born INTEGER NOT NULL,
  vis_from INTEGER NOT NULL DEFAULT 0, vis_until INTEGER NOT NULL DEFAULT 9223372036854775807,
  kref TEXT GENERATED ALWAYS AS (props ->> '$.kref') VIRTUAL);
CREATE UNIQUE INDEX node_kref ON node(kref) WHERE kref IS NOT NULL;
CREATE TABLE node_label(label TEXT NOT NULL, node INTEGER NOT NULL,
  PRIMARY KEY(label, node)) WITHOUT ROWID;
CREATE TABLE edge(
  id INTEGER PRIMARY KEY, type TEXT NOT NULL, src INTEGER NOT NULL, dst INTEGER NOT NULL,
  props BLOB NOT NULL,
  since INTEGER NOT NULL, born INTEGER NOT NULL,
  vis_from INTEGER NOT NULL DEFAULT 0, vis_until INTEGER NOT NULL DEFAULT 9223372036854775807);
CREATE INDEX edge_out ON edge(src, type, dst, vis_from, vis_until);
CREATE INDEX edge_in ON edge(dst, type, src, vis_from, vis_until);
CREATE TABLE node_past(
  id INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL, labels TEXT NOT NULL,
  props BLOB NOT NULL,
  born INTEGER NOT NULL, kref TEXT GENERATED ALWAYS AS (props ->> '$.kref') VIRTUAL,
  PRIMARY KEY(id, since)) WITHOUT ROWID;
CREATE INDEX node_past_kref ON node_past(kref, since) WHERE kref IS NOT NULL;
CREATE TABLE edge_past(
  id INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL, type TEXT NOT NULL,
  src INTEGER NOT NULL, dst INTEGER NOT NULL,
  props BLOB NOT NULL, born INTEGER NOT NULL, PRIMARY KEY(id, since)) WITHOUT ROWID;
CREATE INDEX edge_past_out ON edge_past(src, type);
CREATE INDEX edge_past_in ON edge_past(dst, type);

CREATE TABLE log(
  seq INTEGER PRIMARY KEY, tx INTEGER NOT NULL, op TEXT NOT NULL, element INTEGER NOT NULL,
  payload_hash BLOB NOT NULL, hash BLOB NOT NULL);
CREATE TABLE log_payload(seq INTEGER PRIMARY KEY, salt BLOB NOT NULL, payload BLOB NOT NULL);
CREATE TABLE receipt(
  tx INTEGER PRIMARY KEY, time INTEGER NOT NULL, actor TEXT NOT NULL, role TEXT NOT NULL,
  op TEXT NOT NULL, note TEXT NOT NULL,
  first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, last_node INTEGER NOT NULL,
  last_edge INTEGER NOT NULL,
  head BLOB NOT NULL, hash BLOB NOT NULL);
CREATE TRIGGER log_is_append_only BEFORE UPDATE ON log
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER log_is_kept BEFORE DELETE ON log
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;

CREATE TABLE doc(
  scope INTEGER NOT NULL, doc INTEGER NOT NULL, node INTEGER NOT NULL UNIQUE,
  live INTEGER NOT NULL, kind INTEGER NOT NULL,
  space INTEGER NOT NULL, speaker INTEGER NOT NULL, thread INTEGER NOT NULL, time INTEGER NOT NULL,
  valid_from INTEGER NOT NULL, valid_until INTEGER NOT NULL,
  trust INTEGER NOT NULL, prev INTEGER NOT NULL, length INTEGER NOT NULL, vectors INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  vis_from INTEGER NOT NULL DEFAULT 0, vis_until INTEGER NOT NULL DEFAULT 9223372036854775807,
  changed INTEGER NOT NULL, PRIMARY KEY(scope, doc)) WITHOUT ROWID;
CREATE INDEX doc_changed ON doc(scope, changed);
CREATE INDEX doc_unembedded ON doc(scope, doc) WHERE vectors = 0;
CREATE TABLE posting(scope INTEGER NOT NULL, term TEXT NOT NULL, first INTEGER NOT NULL,
  data BLOB NOT NULL, PRIMARY KEY(scope, term, first))
  WITHOUT ROWID;
CREATE TABLE posting_new(scope INTEGER NOT NULL, first INTEGER NOT NULL, term TEXT NOT NULL,
  data BLOB NOT NULL, PRIMARY KEY(scope, first, term))
  WITHOUT ROWID;
CREATE TABLE vector(scope INTEGER NOT NULL, doc INTEGER NOT NULL, part INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY(scope, doc, part)) WITHOUT ROWID;
CREATE TABLE vector_code(scope INTEGER NOT NULL, doc INTEGER NOT NULL, part INTEGER NOT NULL,
  code BLOB NOT NULL,
  PRIMARY KEY(scope, doc, part)) WITHOUT ROWID;
CREATE TABLE access(node INTEGER PRIMARY KEY, count INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE cursor(name TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES('change', 0);
"""

# A migration is a name and its SQL, applied in order inside one transaction. Names are never reused
# or reordered.
_INDEXES = """
CREATE TABLE entry(idx INTEGER NOT NULL, key BLOB NOT NULL, element INTEGER NOT NULL,
  PRIMARY KEY(idx, key, element)) WITHOUT ROWID;
"""

_PAST_ENTRIES = """
CREATE TABLE entry_past(idx INTEGER NOT NULL, key BLOB NOT NULL, element INTEGER NOT NULL,
  PRIMARY KEY(idx, key, element)) WITHOUT ROWID;
CREATE INDEX node_past_until ON node_past(until);
CREATE INDEX edge_past_until ON edge_past(until);
"""

_ACCESS = """
DROP TABLE access;
CREATE TABLE access(edge INTEGER NOT NULL, element INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY(edge, element)) WITHOUT ROWID;
ALTER TABLE node ADD COLUMN fades BLOB;
ALTER TABLE edge ADD COLUMN fades BLOB;
"""

_ATOMS = """
CREATE TABLE atom(scope INTEGER NOT NULL, key TEXT NOT NULL, node INTEGER NOT NULL,
  PRIMARY KEY(scope, key, node)) WITHOUT ROWID;
CREATE INDEX atom_node ON atom(node);
"""

# Before this format a job could write the vectors of a text that was erased while the job embedded
# it: they go, and the bytes with them.
_VECTORS_NEXT = """
CREATE TABLE vector_next(scope INTEGER NOT NULL, doc INTEGER NOT NULL, part INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY(scope, doc, part)) WITHOUT ROWID;
CREATE TABLE vector_code_next(scope INTEGER NOT NULL, doc INTEGER NOT NULL, part INTEGER NOT NULL,
  code BLOB NOT NULL,
  PRIMARY KEY(scope, doc, part)) WITHOUT ROWID;
CREATE TABLE vector_next_due(scope INTEGER NOT NULL, doc INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(scope, doc)) WITHOUT ROWID;
CREATE INDEX doc_given_up ON doc(scope, doc) WHERE vectors < 0;
DELETE FROM vector_code WHERE (scope, doc) IN (SELECT scope, doc FROM doc WHERE node < 0);
DELETE FROM vector WHERE (scope, doc) IN (SELECT scope, doc FROM doc WHERE node < 0);
INSERT OR IGNORE INTO meta SELECT 'scrub', 1 WHERE changes() > 0;
"""

# Vectors lay in the order of a composite key, whose tree keeps rows in its inner pages too: each
# had room for five, so that nearly every step of a search for a row was a page to read. Under one
# number a row is three steps away. A code was the signs of a vector; now it tells more. What no row
# of doc has is left behind.
_ONE_SET = """
ALTER TABLE vector_next RENAME TO vector_former;
CREATE TABLE vector_next(id INTEGER PRIMARY KEY, data BLOB NOT NULL,
  scope INTEGER AS (id >> 37), doc INTEGER AS (id >> 7 & 1073741823), part INTEGER AS (id & 127));
INSERT INTO vector_next(id, data) SELECT (v.scope << 30 | v.doc) << 7 | v.part, v.data
  FROM vector_former v JOIN doc d USING(scope, doc)
  WHERE v.scope < 1 << 26 AND v.doc < 1 << 30 AND typeof(v.part) = 'integer'
  AND v.part BETWEEN 0 AND 127
  ORDER BY v.scope, v.doc, v.part;
DROP TABLE vector_former;
DROP TABLE vector_code_next;
CREATE TABLE vector_code_next(id INTEGER PRIMARY KEY, code BLOB NOT NULL,
  scope INTEGER AS (id >> 37), doc INTEGER AS (id >> 7 & 1073741823), part INTEGER AS (id & 127));
"""
_VECTORS_NUMBERED = _ONE_SET + _ONE_SET.replace("_next", "")

# A node lies in the project that its address names, or in that of the session that made it; an edge
# in that of both its ends. Sessions that are bound to projects read by it (scope/views.py).
_PROJECT_OF = "substr(kref, 8, instr(replace(substr(kref, 8), '?', '/') || '/', '/') - 1)"
_PROJECTS = f"""
ALTER TABLE node ADD COLUMN project TEXT;
ALTER TABLE edge ADD COLUMN project TEXT;
ALTER TABLE node_past ADD COLUMN project TEXT;
ALTER TABLE edge_past ADD COLUMN project TEXT;
UPDATE node SET project = {_PROJECT_OF} WHERE substr(kref, 1, 7) = 'kref://';
UPDATE node_past SET project = {_PROJECT_OF} WHERE substr(kref, 1, 7) = 'kref://';
CREATE TEMP TABLE lies(node INTEGER PRIMARY KEY, project TEXT);
INSERT INTO lies SELECT id, project FROM node WHERE project IS NOT NULL;
INSERT OR IGNORE INTO lies SELECT id, project FROM node_past WHERE project IS NOT NULL;
UPDATE edge SET project = (SELECT s.project FROM lies s JOIN lies d ON d.project = s.project
  WHERE s.node = edge.src AND d.node = edge.dst);
UPDATE edge_past SET project = (SELECT s.project FROM lies s JOIN lies d ON d.project = s.project
  WHERE s.node = edge_past.src AND d.node = edge_past.dst);
DROP TABLE lies;
"""

# What a job concludes is trusted less than what rules read in a turn: the ranks above it move up.
_INFERRED = """
UPDATE doc SET trust = CASE (SELECT props ->> '$.trust' FROM node WHERE id = doc.node)
  WHEN 'inferred' THEN 1 WHEN 'candidate' THEN 2 WHEN 'verified' THEN 4 ELSE 3 END
  WHERE node > 0 AND (trust > 0
    OR (SELECT props ->> '$.trust' FROM node WHERE id = doc.node) = 'inferred');
"""

_IDEMPOTENCY_KEYS = """
CREATE TABLE idempotency_key(key BLOB PRIMARY KEY, tx INTEGER NOT NULL, expires INTEGER NOT NULL,
  salt BLOB, request BLOB, answer BLOB);
CREATE INDEX idempotency_key_expires ON idempotency_key(expires);
"""

# Rows and codes once more, BLOCK_ROWS rows in one (indexing/blocks.py). Triggers and not calls let
# go of what they hold: a process of the version before may have the file open.
_BLOCK_OF = "(old.scope * 1048576 + old.doc / 1024)"
_BLOCKS = f"""
CREATE TABLE doc_block(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE vector_code_block(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE block_state(id INTEGER PRIMARY KEY, change INTEGER NOT NULL,
  vector_set INTEGER NOT NULL);
CREATE TRIGGER doc_vectors_change AFTER UPDATE OF vectors ON doc
  BEGIN DELETE FROM vector_code_block WHERE id = {_BLOCK_OF}; END;
CREATE TRIGGER doc_text_goes AFTER UPDATE OF node ON doc
  BEGIN DELETE FROM vector_code_block WHERE id = {_BLOCK_OF};
  DELETE FROM doc_block WHERE id = {_BLOCK_OF}; END;
"""

PAST_ENTRIES = "0003-past-entries"  # the store fills the table from the past that there is
VECTORS_NUMBERED = "0007-vectors-numbered"  # the store makes codes of the vectors that there are
TRUST_OF_TURNS = "0010-trust-of-turns"  # the store labels the rows of turns that have no label
MIGRATIONS: tuple[tuple[str, str], ...] = (
    ("0001-first", _FIRST),
    ("0002-indexes", _INDEXES),
    (PAST_ENTRIES, _PAST_ENTRIES),
    ("0004-access", _ACCESS),
    ("0005-atoms", _ATOMS),
    ("0006-vectors-next", _VECTORS_NEXT),
    (VECTORS_NUMBERED, _VECTORS_NUMBERED),
    ("0008-projects", _PROJECTS),
    ("0009-inferred", _INFERRED),
    (TRUST_OF_TURNS, ""),
    ("0011-idempotency-keys", _IDEMPOTENCY_KEYS),
    ("0012-blocks", _BLOCKS),
)
