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
HOLD = "SELECT tx, hash FROM doxa_log.tenant WHERE tenant = %(tenant)s FOR UPDATE"
CREATE = (
    "INSERT INTO doxa_log.tenant(tenant, tx, hash) VALUES(%(tenant)s, 0, %(hash)s)"
    " ON CONFLICT (tenant) DO NOTHING"
)
HASH_AT = "SELECT hash FROM doxa_log.transaction WHERE tenant = %(tenant)s AND tx = %(tx)s"
# Compare-and-set: the row is written only if the head moved, from the hash that it had.
APPEND = (
    "WITH moved AS (UPDATE doxa_log.tenant SET tx = %(tx)s, hash = %(hash)s, size = size +"
    " %(size)s WHERE tenant = %(tenant)s AND tx = %(after)s AND hash = %(before)s RETURNING tenant)"
    " INSERT INTO doxa_log.transaction(tenant, tx, first_seq, last_seq, hash, body, answers)"
    " SELECT moved.tenant, %(tx)s, %(first_seq)s, %(last_seq)s, %(hash)s, %(body)s, %(answers)s"
    " FROM moved"
)
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
DROP_SNAPSHOTS = "DELETE FROM doxa_log.snapshot WHERE tenant = %(tenant)s"
PUT_SNAPSHOT = (
    "INSERT INTO doxa_log.snapshot(tenant, tx, hash, data) VALUES(%(tenant)s, %(tx)s, %(hash)s,"
    " %(data)s)"
)
NEWEST_SNAPSHOT = (
    "SELECT tx, hash, data FROM doxa_log.snapshot WHERE tenant = %(tenant)s ORDER BY tx DESC"
    " LIMIT 1"
)
LEASE = "SELECT until FROM doxa_log.lease WHERE tenant = %(tenant)s AND name = %(name)s"
TAKE_LEASE = (
    "INSERT INTO doxa_log.lease(tenant, name, until) VALUES(%(tenant)s, %(name)s, %(until)s)"
    " ON CONFLICT (tenant, name) DO UPDATE SET until = excluded.until"
)
DROP_LEASE = "DELETE FROM doxa_log.lease WHERE tenant = %(tenant)s AND name = %(name)s"
