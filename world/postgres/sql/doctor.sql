-- What `stepwell doctor` looks at.

-- name: doctor_settings
-- Settings of the server that matter, its version, and how many of its connections are in use.
SELECT name, setting FROM pg_catalog.pg_settings
WHERE name IN ('server_version', 'fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'max_connections', 'transaction_timeout')
UNION ALL SELECT 'connections', count(*)::text FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'

-- name: doctor_indexes
-- The indexes of the schema, and whether each can be used.
SELECT c.relname::text, i.indisvalid
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1

-- name: doctor_tables
-- The tables of the schema: rows that live and that are dead, bytes with indexes, and whether autovacuum may look at each.
SELECT s.relname::text, s.n_live_tup, s.n_dead_tup, pg_catalog.pg_total_relation_size(s.relid),
       NOT coalesce('autovacuum_enabled=false' = ANY (c.reloptions), false), s.last_autovacuum
FROM pg_catalog.pg_stat_all_tables s JOIN pg_catalog.pg_class c ON c.oid = s.relid
WHERE s.schemaname = $1 ORDER BY s.relname

-- name: doctor_snapshots
-- What keeps dead rows from being removed, oldest first: transactions, also prepared ones, and replication slots. Times are null where this role
-- may not see them.
SELECT kind, who, since, rows FROM (
  SELECT 'transaction' AS kind, format('backend %s of %s (%s, %s)', pid, usename, coalesce(nullif(application_name, ''), 'no name'), state) AS who,
         xact_start AS since, greatest(age(backend_xmin), age(backend_xid))::bigint AS rows
  FROM pg_catalog.pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
  UNION ALL
  SELECT 'prepared transaction', format('%L of %s', gid, owner), prepared, age(transaction)::bigint
  FROM pg_catalog.pg_prepared_xacts WHERE database = current_database()
  UNION ALL
  SELECT 'replication slot', slot_name::text, NULL, greatest(age(xmin), age(catalog_xmin))::bigint
  FROM pg_catalog.pg_replication_slots WHERE xmin IS NOT NULL OR catalog_xmin IS NOT NULL) held
ORDER BY since NULLS LAST, rows DESC LIMIT 1

-- name: doctor_wraparound
-- How many transactions ago the database was frozen last; at 2 billion it stops.
SELECT age(datfrozenxid)::bigint FROM pg_catalog.pg_database WHERE datname = current_database()

-- name: doctor_waiting
-- Runs that have been due for a minute and that nobody claimed, by workflow and version: how many, since when, and whether a worker has registered
-- them. At most 10,000 of each. Index queue_ready.
SELECT c.workflow, c.version, d.n, d.since, EXISTS (
         SELECT FROM {schema}.workers w WHERE {alive}
         AND {schema}.readable(w.classes)::jsonb @> jsonb_build_array(jsonb_build_object('workflow', c.workflow, 'version', c.version)))
FROM {schema}.classes c CROSS JOIN LATERAL (
  SELECT count(*) AS n, min(ready_at) AS since FROM (
    SELECT q.ready_at FROM {schema}.queue q
    WHERE q.class = c.key AND q.priority = ANY ('{0,1,2,3}') AND q.ready_at < clock_timestamp() - interval '1 minute' LIMIT 10000) r) d
WHERE d.n > 0 ORDER BY d.since

-- name: doctor_unowned
-- Runs and tasks whose owner is not among the workers, and runs that nobody has and nobody is given, although they are due at a time: how many, and a run. All of
-- the queue, on purpose; index tasks_held.
SELECT count(*), coalesce(min((SELECT r.id FROM {schema}.runs r WHERE r.key = lost.run)), ''), count(*) FILTER (WHERE lost.nobody) FROM (
  SELECT q.run, false AS nobody FROM {schema}.queue q WHERE q.owner IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = q.owner)
  UNION ALL SELECT t.run, false FROM {schema}.tasks t WHERE t.worker IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = t.worker)
  UNION ALL SELECT q.run, true FROM {schema}.queue q WHERE q.owner IS NULL AND NOT q.paused AND q.wake_at IS NOT NULL AND q.ready_at IS NULL AND q.parked_at IS NULL) lost

-- name: doctor_workers
-- Workers: alive ones, as list_workers has it, those whose lease ended over a minute ago while they hold something, and the one whose clock is farthest from the database's.
SELECT count(*) FILTER (WHERE {alive}),
       count(*) FILTER (WHERE w.until < clock_timestamp() - interval '1 minute' AND {holds}),
       coalesce((array_agg(w.name ORDER BY abs(w.skew_ns::numeric) DESC))[1], ''), coalesce((array_agg(w.skew_ns ORDER BY abs(w.skew_ns::numeric) DESC))[1], 0)
FROM {schema}.workers w

-- name: doctor_mail
-- Mail that has waited for over a minute though its run is neither paused nor blocked, of the 10,000 oldest rows: how many, since when, for whom.
-- Indexes inbox_pkey, queue_pkey.
SELECT count(*), min(i.arrived_at), coalesce(min((SELECT r.id FROM {schema}.runs r WHERE r.key = i.run)), '')
FROM (SELECT run, arrived_at FROM {schema}.inbox ORDER BY "row" LIMIT 10000) i JOIN {schema}.queue q ON q.run = i.run
WHERE i.arrived_at < clock_timestamp() - interval '1 minute' AND q.running AND NOT q.paused AND q.blocked IS NULL

-- name: doctor_chunks
-- The 10,000 newest batches of streams: how many are of no run; how many overlap with the one before, or leave a gap though nothing was made void;
-- and a run that has such. Indexes chunks_pkey, runs_pkey.
SELECT count(*) FILTER (WHERE r.key IS NULL),
       count(*) FILTER (WHERE c.behind > c.idx OR c.behind < c.idx AND NOT c.voided),
       coalesce(min(r.id) FILTER (WHERE c.behind > c.idx OR c.behind < c.idx AND NOT c.voided), '')
FROM (SELECT run, idx, lag(idx::numeric + n) OVER (PARTITION BY run, stream ORDER BY idx) AS behind, bool_or(kind = 'reset') OVER (PARTITION BY run, stream) AS voided
      FROM (SELECT run, stream, idx, n, kind FROM {schema}.chunks ORDER BY run DESC, stream DESC, idx DESC LIMIT 10000) newest) c
LEFT JOIN {schema}.runs r ON r.key = c.run

-- name: doctor_tasks
-- Tasks that have been ready for a minute and that nobody claimed, by step: how many, since when, and whether a worker has registered it. Index
-- tasks_ready.
SELECT t.name, count(*), min(t.visible_at), EXISTS (
         SELECT FROM {schema}.workers w WHERE {alive} AND {schema}.readable(w.steps)::jsonb ? t.name)
FROM {schema}.tasks t WHERE t.worker IS NULL AND t.visible_at < clock_timestamp() - interval '1 minute'
GROUP BY t.name ORDER BY min(t.visible_at)

-- name: doctor_backlog
-- What housekeeping has left: runs whose retention ended over an hour ago (at most 10,000 are counted), and changes of totals. Index runs_sweep.
SELECT (SELECT count(*) FROM (SELECT FROM {schema}.runs WHERE sweep_at < clock_timestamp() - interval '1 hour' LIMIT 10000) r),
       (SELECT count(*) FROM {schema}.totals)

-- name: doctor_orphans
-- Rows that are of no run or class that there is, by table: of how many keys of runs, and the first of these. All of these tables, on purpose; of the large ones
-- by the first part of indexes log_run, chunks_pkey, delivered_pkey.
WITH RECURSIVE
  logs AS ((SELECT run FROM {schema}.log ORDER BY run LIMIT 1) UNION ALL
    SELECT (SELECT n.run FROM {schema}.log n WHERE n.run > k.run ORDER BY n.run LIMIT 1) FROM logs k WHERE k.run IS NOT NULL),
  streams AS ((SELECT run FROM {schema}.chunks ORDER BY run LIMIT 1) UNION ALL
    SELECT (SELECT n.run FROM {schema}.chunks n WHERE n.run > k.run ORDER BY n.run LIMIT 1) FROM streams k WHERE k.run IS NOT NULL),
  heard AS ((SELECT run FROM {schema}.delivered ORDER BY run LIMIT 1) UNION ALL
    SELECT (SELECT n.run FROM {schema}.delivered n WHERE n.run > k.run ORDER BY n.run LIMIT 1) FROM heard k WHERE k.run IS NOT NULL)
SELECT kept.name, count(DISTINCT kept.run), min(kept.run) FROM (
  SELECT 'queue' AS name, run FROM {schema}.queue UNION ALL SELECT 'log', run FROM logs WHERE run IS NOT NULL UNION ALL SELECT 'inbox', run FROM {schema}.inbox
  UNION ALL SELECT 'tasks', run FROM {schema}.tasks UNION ALL SELECT 'hooks', run FROM {schema}.hooks UNION ALL SELECT 'ended_hooks', run FROM {schema}.ended_hooks
  UNION ALL SELECT 'awaits', target FROM {schema}.awaits UNION ALL SELECT 'awaits', waiter FROM {schema}.awaits
  UNION ALL SELECT 'chunks', run FROM streams WHERE run IS NOT NULL UNION ALL SELECT 'delivered', run FROM heard WHERE run IS NOT NULL
  UNION ALL SELECT 'attributes', run FROM {schema}.attributes UNION ALL SELECT 'trims', run FROM {schema}.trims) kept
WHERE NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = kept.run) GROUP BY kept.name
UNION ALL SELECT 'queue (their class)', count(*), min(q.run) FROM {schema}.queue q WHERE NOT EXISTS (SELECT FROM {schema}.classes c WHERE c.key = abs(q.class)) HAVING count(*) > 0
ORDER BY 1

-- name: doctor_apart
-- Values kept apart: how many are held, how many of these have no first piece, and how many have pieces and no holder. Both tables, on purpose, by keys: no
-- piece is read.
SELECT (SELECT count(*) FROM {schema}.apart),
       (SELECT count(*) FROM {schema}.apart a WHERE NOT EXISTS (SELECT 1 FROM {schema}.apart_pieces p WHERE p.value = a.value AND p.number = 0)),
       (SELECT count(DISTINCT p.value) FROM {schema}.apart_pieces p WHERE NOT EXISTS (SELECT 1 FROM {schema}.apart a WHERE a.value = p.value))

-- name: doctor_inbox
-- The 10,000 oldest deliveries. Indexes inbox_pkey, runs_pkey.
SELECT i."row", i.run, r.id, r.created_at, i.delivery, i.arrived_at, i.format, i.head, i.body, i.sum
FROM (SELECT * FROM {schema}.inbox ORDER BY "row" LIMIT 10000) i JOIN {schema}.runs r ON r.key = i.run

-- name: doctor_ends
-- Runs whose logs end before an event that they had: their number, and one of them. All of the queue, on purpose; index log_run.
SELECT count(*), coalesce(min(r.id), '') FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run
WHERE q.taken > coalesce((SELECT least(l.seq, 4611686018427387904) + l.n - 1 FROM {schema}.log l WHERE l.run = q.run ORDER BY l.seq DESC LIMIT 1), 0)
