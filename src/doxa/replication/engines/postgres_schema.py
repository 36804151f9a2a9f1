"""The tables of a shared log in PostgreSQL, and the migrations that make them.

    tenant(tenant, tx, hash, size, erased_tx, quota, moved_to, arriving, kept_by, kept_until,
           wanted_until)                  the head: who holds a tenant has its row, or keeps it
    transaction(tenant, tx, first_seq, last_seq, hash, body, answers)
    snapshot(tenant, tx, hash, part, data)                in parts, the newest one
    lease(tenant, name, until)
    replica(tenant, name, tx, scrubbed_tx, time)          what each reported
    vector(tenant, key, data, made)                       of texts, by model and hash
    migration(number, name)                               of the schema, not of a tenant

All lie in the schema `doxa_log`. The tenant is the first column of every key, so that a distributed
PostgreSQL can shard by it. Statements about one tenant run as the role `doxa_log_tenant`, which
row-level security confines to the rows of the tenant that the transaction has set.
"""

from __future__ import annotations

from doxa.replication.engines.postgres_statements import APPEND_BODY

ROLE = "doxa_log_tenant"

_FIRST = f"""
CREATE TABLE doxa_log.tenant(
  tenant text COLLATE "C" NOT NULL PRIMARY KEY,
  tx bigint NOT NULL, hash bytea NOT NULL, size bigint NOT NULL DEFAULT 0,
  erased_tx bigint NOT NULL DEFAULT 0);
CREATE TABLE doxa_log.transaction(
  tenant text COLLATE "C" NOT NULL, tx bigint NOT NULL,
  first_seq bigint NOT NULL, last_seq bigint NOT NULL,
  hash bytea NOT NULL, body bytea NOT NULL, answers bytea,
  PRIMARY KEY(tenant, tx));
ALTER TABLE doxa_log.transaction ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX transaction_answers ON doxa_log.transaction(tenant, tx) WHERE answers IS NOT NULL;
CREATE TABLE doxa_log.snapshot(
  tenant text COLLATE "C" NOT NULL, tx bigint NOT NULL, hash bytea NOT NULL, data bytea NOT NULL,
  PRIMARY KEY(tenant, tx));
ALTER TABLE doxa_log.snapshot ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE doxa_log.lease(
  tenant text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, until bigint NOT NULL,
  PRIMARY KEY(tenant, name));
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}') THEN
    CREATE ROLE {ROLE} NOLOGIN NOBYPASSRLS;
  END IF;
END $$;
GRANT {ROLE} TO CURRENT_USER;
GRANT USAGE ON SCHEMA doxa_log TO {ROLE};
GRANT SELECT, INSERT, UPDATE ON doxa_log.tenant, doxa_log.transaction TO {ROLE};
GRANT SELECT, INSERT, UPDATE, DELETE ON doxa_log.snapshot, doxa_log.lease TO {ROLE};
"""

_WALLS = "".join(
    f"ALTER TABLE doxa_log.{table} ENABLE ROW LEVEL SECURITY;\n"
    f"CREATE POLICY one_tenant ON doxa_log.{table} TO {ROLE}\n"
    "  USING (tenant = current_setting('doxa.tenant', true))\n"
    "  WITH CHECK (tenant = current_setting('doxa.tenant', true));\n"
    for table in ("tenant", "transaction", "snapshot", "lease")
)

_FLEET = f"""
ALTER TABLE doxa_log.tenant
  ADD COLUMN quota bigint NOT NULL DEFAULT 0, ADD COLUMN moved_to text NOT NULL DEFAULT '',
  ADD COLUMN arriving text NOT NULL DEFAULT '';
ALTER TABLE doxa_log.snapshot ADD COLUMN part integer NOT NULL DEFAULT 0;
ALTER TABLE doxa_log.snapshot DROP CONSTRAINT snapshot_pkey, ADD PRIMARY KEY(tenant, tx, part);
CREATE TABLE doxa_log.replica(
  tenant text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, tx bigint NOT NULL,
  scrubbed_tx bigint NOT NULL, time timestamptz NOT NULL,
  PRIMARY KEY(tenant, name));
GRANT SELECT, INSERT, UPDATE, DELETE ON doxa_log.replica TO {ROLE};
ALTER TABLE doxa_log.replica ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON doxa_log.replica TO {ROLE}
  USING (tenant = current_setting('doxa.tenant', true))
  WITH CHECK (tenant = current_setting('doxa.tenant', true));
"""

# A function, so that a session plans the two statements once and not at each append.
_KEPT = f"""
ALTER TABLE doxa_log.tenant
  ADD COLUMN kept_by bigint NOT NULL DEFAULT 0,
  ADD COLUMN kept_until timestamptz NOT NULL DEFAULT '-infinity',
  ADD COLUMN wanted_until timestamptz NOT NULL DEFAULT '-infinity';
CREATE FUNCTION doxa_log.append(
  in_tenant text, in_tx bigint, in_hash bytea, in_after bigint, in_before bytea, in_first bigint,
  in_last bigint, in_body bytea, in_answers bytea, in_erases boolean, in_arriving text,
  in_wait text, in_token bigint, in_keep bigint, in_keep_s float8) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE kept bigint;
BEGIN
  PERFORM set_config('role', '{ROLE}', true), set_config('doxa.tenant', in_tenant, true),
    set_config('lock_timeout', in_wait, true);
  {APPEND_BODY}
END $$;
"""

_VECTORS = f"""
CREATE TABLE doxa_log.vector(
  tenant text COLLATE "C" NOT NULL, key bytea NOT NULL, data bytea NOT NULL,
  made timestamptz NOT NULL,
  PRIMARY KEY(tenant, key));
ALTER TABLE doxa_log.vector ALTER COLUMN data SET STORAGE EXTERNAL;
GRANT SELECT, INSERT, DELETE ON doxa_log.vector TO {ROLE};
ALTER TABLE doxa_log.vector ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON doxa_log.vector TO {ROLE}
  USING (tenant = current_setting('doxa.tenant', true))
  WITH CHECK (tenant = current_setting('doxa.tenant', true));
-- An erasure by any server takes all of them along, also by one that knows of no vectors.
CREATE FUNCTION doxa_log.forget_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM doxa_log.vector WHERE tenant = NEW.tenant;
  RETURN NULL;
END $$;
CREATE TRIGGER forget_vectors AFTER UPDATE OF erased_tx ON doxa_log.tenant
  FOR EACH ROW WHEN (NEW.erased_tx <> OLD.erased_tx) EXECUTE FUNCTION doxa_log.forget_vectors();
"""

# Applied in order, each once, in one transaction under an advisory lock. Names are never reused.
MIGRATIONS: tuple[tuple[str, str], ...] = (
    ("first", _FIRST),
    ("walls", _WALLS),
    ("fleet", _FLEET),
    ("kept", _KEPT),
    ("vectors", _VECTORS),
)
LOCK = 0x646F7861  # of the advisory lock
PREPARE = """
CREATE SCHEMA IF NOT EXISTS doxa_log;
CREATE TABLE IF NOT EXISTS doxa_log.migration(number integer PRIMARY KEY, name text NOT NULL);
"""
