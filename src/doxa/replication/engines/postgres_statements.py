"""Every statement that concerns a tenant. A test reads them: each compares or writes the tenant
first, and runs under row-level security. Values are named, and bound by the driver."""

from __future__ import annotations

# Begins every transaction: the wall, then the time that a statement may wait for a lock. All three
# end with the transaction, so that a pooler may hand the connection on.
BEGIN = (
    "SELECT set_config('role', %(role)s, true), set_config('doxa.tenant', %(tenant)s, true),"
    " set_config('lock_timeout', %(wait)s, true),"
    " set_config('idle_in_transaction_session_timeout', %(idle)s, true)"
)
HEAD = "SELECT tx, hash FROM doxa_log.tenant WHERE tenant = %(tenant)s"
_INFO = (
    "SELECT tenant, tx, hash, size, quota, moved_to, arriving, erased_tx FROM doxa_log.tenant"
    " WHERE tenant = %(tenant)s"
)
HOLD = _INFO + " FOR UPDATE"
# To append: the time for which another server keeps the tenant comes first.
TAKE = (
    "SELECT CASE WHEN kept_by IN (0, %(mine)s) OR moved_to <> '' THEN 0 ELSE extract(epoch FROM"
    " kept_until - clock_timestamp())::float8 END, " + HOLD.removeprefix("SELECT ")
)
WANT = (
    "UPDATE doxa_log.tenant SET wanted_until = clock_timestamp() + %(wanted_s)s * interval"
    " '1 second' WHERE tenant = %(tenant)s"
)
INFO = (
    "SELECT tenant, tx, hash, size, quota, moved_to, arriving, erased_tx, (SELECT"
    " coalesce(max(s.tx), 0) FROM doxa_log.snapshot s WHERE s.tenant = %(tenant)s AND s.part = 0)"
    " FROM doxa_log.tenant WHERE tenant = %(tenant)s"
)
CONFIGURE = (
    "UPDATE doxa_log.tenant SET quota = coalesce(%(quota)s::bigint, quota), moved_to ="
    " coalesce(%(moved_to)s::text, moved_to), arriving = coalesce(%(arriving)s::text, arriving)"
    " WHERE tenant = %(tenant)s"
)
CREATE = (
    "INSERT INTO doxa_log.tenant(tenant, tx, hash) VALUES(%(tenant)s, 0, %(hash)s)"
    " ON CONFLICT (tenant) DO NOTHING"
)
HASH_AT = "SELECT hash FROM doxa_log.transaction WHERE tenant = %(tenant)s AND tx = %(tx)s"
# Of the function `doxa_log.append`: compare-and-set. The row is written only if the head is where
# the writer says. Who names a token has no lock: the token fences what arrives late. Returns
# -1 if nothing was written, else the token under which the tenant is kept from here on, 0 for none.
APPEND_BODY = (
    "UPDATE doxa_log.tenant SET tx = in_tx, hash = in_hash, size = size + length(in_body), kept_by"
    " = CASE WHEN wanted_until < clock_timestamp() THEN in_keep ELSE 0 END, kept_until = CASE WHEN"
    " in_keep <> 0 AND wanted_until < clock_timestamp() THEN clock_timestamp() + in_keep_s *"
    " interval '1 second' ELSE '-infinity' END WHERE tenant = in_tenant AND tx = in_after AND hash"
    " = in_before AND moved_to = '' AND (quota = 0 OR size + length(in_body) <= quota OR in_erases)"
    " AND (arriving = '' OR arriving = in_arriving) AND (in_token = 0 OR kept_by = in_token)"
    " RETURNING kept_by INTO kept; IF NOT FOUND THEN RETURN -1; END IF;"
    " INSERT INTO doxa_log.transaction(tenant, tx, first_seq, last_seq, hash, body, answers)"
    " VALUES(in_tenant, in_tx, in_first, in_last, in_hash, in_body, in_answers); RETURN kept;"
)
APPEND = (
    "SELECT doxa_log.append(%(tenant)s, %(tx)s, %(hash)s, %(after)s, %(before)s, %(first_seq)s,"
    " %(last_seq)s, %(body)s, %(answers)s, %(erases)s, %(arriving)s, %(wait)s, %(token)s, %(keep)s,"
    " %(keep_s)s)"
)
KEEP = (
    "UPDATE doxa_log.tenant SET kept_until = clock_timestamp() + %(keep_s)s * interval '1 second'"
    " WHERE tenant = %(tenant)s AND kept_by = %(token)s"
)
# Before the outcome of an append is looked for: one that arrives late is refused.
FENCE = "UPDATE doxa_log.tenant SET kept_by = 0 WHERE tenant = %(tenant)s AND kept_by = %(token)s"
READ = (
    "SELECT body, answers FROM (SELECT tenant, tx, body, answers, sum(length(body)) OVER (ORDER BY"
    " tx) AS size, row_number() OVER (ORDER BY tx) AS place FROM doxa_log.transaction WHERE tenant"
    " = %(tenant)s AND tx > %(after)s AND tx <= %(after)s + 10000) found WHERE tenant ="
    " %(tenant)s AND (size <= %(limit)s OR place = 1) ORDER BY tx"
)
COVERING = (
    "SELECT tx, body FROM doxa_log.transaction WHERE tenant = %(tenant)s AND first_seq <= %(last)s"
    " AND last_seq >= %(first)s ORDER BY tx"
)
REPLACE = (
    "UPDATE doxa_log.transaction SET body = %(body)s WHERE tenant = %(tenant)s AND tx = %(tx)s"
)
CLEAR_ANSWERS = (
    "UPDATE doxa_log.transaction SET answers = NULL WHERE tenant = %(tenant)s AND answers IS NOT"
    " NULL"
)
ERASED = "UPDATE doxa_log.tenant SET erased_tx = %(tx)s WHERE tenant = %(tenant)s"
ERASED_AT = "SELECT erased_tx FROM doxa_log.tenant WHERE tenant = %(tenant)s"
DROP_SNAPSHOTS = "DELETE FROM doxa_log.snapshot WHERE tenant = %(tenant)s AND tx <> %(but)s"
DROP_SNAPSHOT = "DELETE FROM doxa_log.snapshot WHERE tenant = %(tenant)s AND tx = %(tx)s"
PUT_SNAPSHOT = (
    "INSERT INTO doxa_log.snapshot(tenant, tx, hash, part, data) VALUES(%(tenant)s, %(tx)s,"
    " %(hash)s, %(part)s, %(data)s)"
)
NEWEST_SNAPSHOT = (
    "SELECT tx, hash, (SELECT count(*) FROM doxa_log.snapshot p WHERE p.tenant = %(tenant)s AND"
    " p.tx = s.tx) FROM doxa_log.snapshot s WHERE tenant = %(tenant)s AND part = 0 ORDER BY tx DESC"
    " LIMIT 1"
)
SNAPSHOT_PART = (
    "SELECT data FROM doxa_log.snapshot WHERE tenant = %(tenant)s AND tx = %(tx)s AND part ="
    " %(part)s"
)
VECTORS = "SELECT key, data FROM doxa_log.vector WHERE tenant = %(tenant)s AND key = ANY(%(keys)s)"
# No erasure may run while vectors are put: it waits for the row of the tenant.
ERASED_BEFORE = ERASED_AT + " AND moved_to = '' FOR SHARE"
PUT_VECTORS = (
    "INSERT INTO doxa_log.vector(tenant, key, data, made) SELECT %(tenant)s, key, data,"
    " clock_timestamp() FROM unnest(%(keys)s::bytea[], %(data)s::bytea[]) AS given(key, data)"
    " ON CONFLICT (tenant, key) DO NOTHING"
)
# By then every replica that runs has them.
DROP_VECTORS = (
    "DELETE FROM doxa_log.vector WHERE tenant = %(tenant)s AND made < clock_timestamp() - interval"
    " '1 day'"
)
LEASE = "SELECT until FROM doxa_log.lease WHERE tenant = %(tenant)s AND name = %(name)s"
TAKE_LEASE = (
    "INSERT INTO doxa_log.lease(tenant, name, until) VALUES(%(tenant)s, %(name)s, %(until)s)"
    " ON CONFLICT (tenant, name) DO UPDATE SET until = excluded.until"
)
DROP_LEASE = "DELETE FROM doxa_log.lease WHERE tenant = %(tenant)s AND name = %(name)s"
# Of a tenant that has moved; the row of the tenant stays, and says where to.
DROP = tuple(
    f"DELETE FROM doxa_log.{table} WHERE tenant = %(tenant)s"
    for table in ("transaction", "snapshot", "lease", "replica", "vector")
)
RESET = (
    "UPDATE doxa_log.tenant SET tx = 0, hash = %(hash)s, size = 0, erased_tx = 0 WHERE tenant ="
    " %(tenant)s AND moved_to <> ''"
)
REPORT = (
    "INSERT INTO doxa_log.replica(tenant, name, tx, scrubbed_tx, time) VALUES(%(tenant)s, %(name)s,"
    " %(tx)s, %(scrubbed_tx)s, clock_timestamp()) ON CONFLICT (tenant, name) DO UPDATE SET tx ="
    " excluded.tx, scrubbed_tx = excluded.scrubbed_tx, time = excluded.time"
)
REPORTS = (
    "SELECT name, tx, scrubbed_tx, extract(epoch FROM clock_timestamp() - time)::float8 FROM"
    " doxa_log.replica WHERE tenant = %(tenant)s ORDER BY name"
)
WITHDRAW = "DELETE FROM doxa_log.replica WHERE tenant = %(tenant)s AND name = %(name)s"
