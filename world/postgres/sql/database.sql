-- The schema and its version, settings of sessions and transactions, and the processes of the server.

-- name: has_schema
-- Whether the schema is there.
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)

-- name: create_schema
-- The schema is there.
CREATE SCHEMA IF NOT EXISTS {schema}

-- name: create_version
-- The table of versions is there.
CREATE TABLE IF NOT EXISTS {schema}.versions (
  version    integer PRIMARY KEY,
  name       text        NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)

-- name: lock_version
-- One process at a time changes the schema; the others wait until the end of its transaction. Readers do not.
LOCK TABLE {schema}.versions IN EXCLUSIVE MODE

-- name: read_version
-- The newest step that was made, 0 where there is none.
SELECT coalesce(max(version), 0) FROM {schema}.versions

-- name: note_version
-- A step was made.
INSERT INTO {schema}.versions (version, name) VALUES ($1, $2)

-- name: has_version
-- Whether the schema has a table of versions.
SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'versions')

-- name: drop_schema
-- All runs, and all else.
DROP SCHEMA {schema} CASCADE

-- name: set_session
-- How this session's statements are planned: row by row through indexes, on one core, without a compiler; and that each sees what was committed before
-- it, whatever the role's default. Texts and rows are as statements expect them, too: where rows would be hidden, a statement fails. A plan is made once a session: for arrays of one or two a plan for their values always looks cheaper, and making it costs
-- ten times what the statement does. Not for use behind a pooler.
SELECT set_config(name, 'off', false) FROM unnest('{enable_seqscan,enable_bitmapscan,enable_hashjoin,enable_mergejoin,jit,row_security,transform_null_equals}'::text[]) name
UNION ALL SELECT set_config('array_nulls', 'on', false)
UNION ALL SELECT set_config('IntervalStyle', 'postgres', false)
UNION ALL SELECT set_config('bytea_output', 'hex', false)
UNION ALL SELECT set_config('max_parallel_workers_per_gather', '0', false)
UNION ALL SELECT set_config('default_transaction_isolation', 'read committed', false)
UNION ALL SELECT set_config('plan_cache_mode', 'force_generic_plan', false)

-- name: who_answers
-- Which process of the server answers, how it isolates transactions that do not say, its time, and how many connections it lets this role have here: the least of its own
-- limit, the database's and the role's (the last two are not a superuser's); the database's encoding, and of which tables of the schema ($1) it hides rows from this role.
SELECT pg_backend_pid(), current_setting('default_transaction_isolation'), clock_timestamp(), least(
  current_setting('max_connections')::integer,
  CASE WHEN r.rolsuper OR r.rolconnlimit < 0 THEN NULL ELSE r.rolconnlimit END,
  CASE WHEN r.rolsuper OR d.datconnlimit < 0 THEN NULL ELSE d.datconnlimit END),
  current_setting('server_encoding'),
  coalesce((SELECT string_agg(c.relname, ', ' ORDER BY c.relname) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1::text AND c.relkind = 'r' AND c.relrowsecurity AND row_security_active(c.oid)), '')
FROM pg_catalog.pg_roles r, pg_catalog.pg_database d WHERE r.rolname = current_user AND d.datname = current_database()

-- name: set_lock_timeout
-- How long a statement of this transaction waits for the locks of others.
SELECT set_config('lock_timeout', $1::text, true)

-- name: keep_lock_timeout
-- How long statements of this session wait for the locks of others. Not for use behind a pooler.
SELECT set_config('lock_timeout', $1::text, false)

-- name: interpreted
-- This transaction's statements are not compiled.
SELECT set_config('jit', 'off', true)

-- name: set_patience
-- How long this transaction waits for a lock. A stranger may hold one: whoever comes next tries again.
SELECT set_config('lock_timeout', '3s', true)

-- name: set_claiming
-- How long the transaction of a claim waits for a lock, and, where it gives runs alone ($1), that nobody waits for the disk. A crash of the server may
-- undo such a claim, and then its worker believes what nobody else does: that it owns the run. It writes nothing by that: its first commit, whatever it
-- is, locks the queue row and fails unless owner and claim are what it believes; and what is durable then has the claim before it in the server's log. No body
-- starts before that commit, so none starts twice. A lease that such a claim renewed counts as not renewed: the next one renews it again.
-- A task's claim is the start of its body: it waits for the disk.
SELECT set_config('lock_timeout', '3s', true),
  set_config('synchronous_commit', CASE WHEN $1::boolean THEN 'off' ELSE current_setting('synchronous_commit') END, true)

-- name: database_time
-- The database's clock.
SELECT clock_timestamp()

-- name: not_writable
-- Whether the server takes no writes, or the session's owner wants none, whatever this transaction says.
SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'

-- name: note_backend
-- Which process of the server writes on a lane of workers. By key.
UPDATE {schema}.lanes SET pid = $3::integer WHERE worker = ANY($1::bigint[]) AND lane = $2::smallint

-- name: backend_start
-- When this process of the server began: its number may be used again.
SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()

-- name: end_backend
-- Ends a process of the server, and tells whether it is there still.
SELECT coalesce(bool_or(pg_terminate_backend(pid)), false) FROM pg_stat_activity WHERE pid = $1::integer AND backend_start = $2::timestamptz

-- name: end_stalled
-- Ends the transactions for which burials ($1: their statements) wait, and which themselves wait for their clients for longer than that.
SELECT pg_terminate_backend(b.pid)
FROM pg_stat_activity a CROSS JOIN LATERAL unnest(pg_blocking_pids(a.pid)) u(pid) JOIN pg_stat_activity b ON b.pid = u.pid
WHERE a.datname = current_database() AND a.wait_event_type = 'Lock' AND left(a.query, 500) IN (SELECT left(s, 500) FROM unnest($1::text[]) s)
  AND b.wait_event_type = 'Client' AND b.state_change < clock_timestamp() - $2::bigint * interval '1 microsecond'

-- name: who_holds
-- Whom a backend waits for. What this role may not see of them is not told.
SELECT coalesce(string_agg(format('backend %s (%s), %s since %s', a.pid, coalesce(nullif(a.application_name, ''), 'no name'),
  coalesce(a.state, 'in a transaction'), coalesce(to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), 'an unknown time')), '; ' ORDER BY a.pid), '')
FROM pg_catalog.pg_stat_activity a WHERE a.pid = ANY(pg_blocking_pids($1::integer))

-- name: limit_locks
-- How long statements wait for the locks of others, and from here on for $1 at most, in this transaction; and whether one was begun for the body
-- of a step: see beginStep.
SELECT b.before, set_config('lock_timeout', CASE WHEN b.before::interval > '0' AND b.before::interval < $1::text::interval THEN b.before ELSE $1::text END, true), coalesce(current_setting('stepwell.body', true), '') = 'on'
FROM (SELECT current_setting('lock_timeout') AS before OFFSET 0) b

-- name: limit_owner
-- How long statements wait for the locks of others, in the transaction of a step's body, and whether it is the one that was begun for that: see beginStep.
SELECT set_config('lock_timeout', $1::text, true), coalesce(current_setting('stepwell.body', true), '') = 'on'

-- name: notify
-- News of a transaction of an application's own: PostgreSQL tells when it is committed.
SELECT pg_notify($1::text, $2::text)

-- name: send_news
-- Tells other processes. It may be lost with the server, and so waits for no disk.
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2), clock_timestamp()
