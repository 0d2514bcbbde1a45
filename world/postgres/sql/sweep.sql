-- What housekeeping deletes.

-- name: forget_dedupes
-- Forgets dedupe IDs whose window is over. Index dedupes_until.
DELETE FROM {schema}.dedupes WHERE until <= clock_timestamp()

-- name: sweep_runs
-- Deletes runs whose retention ended, those that ended first before others; what another process is sweeping is left to it. Index runs_sweep.
DELETE FROM {schema}.runs WHERE key = ANY (ARRAY(
  SELECT key FROM {schema}.runs WHERE sweep_at <= clock_timestamp() AND status IS NOT NULL ORDER BY sweep_at LIMIT $1 FOR UPDATE SKIP LOCKED))
RETURNING key, workflow, status, attributes, created_at, id

-- name: sweep_mail
-- Runs are swept. Index inbox_run.
DELETE FROM {schema}.inbox WHERE run = ANY ($1::bigint[])

-- name: sweep_known
-- What is known of deliveries to runs that are gone: their senders looked the run up before it went and committed after it. Of so many ($2) runs behind one ($1);
-- tells where to go on. Indexes delivered_pkey, runs_pkey.
WITH RECURSIVE heard AS (
  (SELECT d.run, 1 AS n FROM {schema}.delivered d WHERE d.run > $1::bigint ORDER BY d.run LIMIT 1)
  UNION ALL
  SELECT (SELECT d.run FROM {schema}.delivered d WHERE d.run > h.run ORDER BY d.run LIMIT 1), h.n + 1 FROM heard h WHERE h.run IS NOT NULL AND h.n < $2::integer),
gone AS (DELETE FROM {schema}.delivered WHERE run IN (SELECT h.run FROM heard h WHERE h.run IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = h.run)))
SELECT CASE WHEN count(run) = $2::integer THEN max(run) END FROM heard

-- name: sweep_late_mail
-- Looks at $2 deliveries from the row $1 on, deletes those for runs that are over, which came too late, and tells
-- the last that it looked at; null where none was
-- left. Indexes inbox_pkey, queue_pkey, the primary key of delivered.
WITH looked AS MATERIALIZED (SELECT "row", run FROM {schema}.inbox WHERE "row" > $1 ORDER BY "row" LIMIT $2),
  gone AS (DELETE FROM {schema}.inbox WHERE "row" = ANY (ARRAY(
    SELECT l."row" FROM looked l WHERE NOT EXISTS (SELECT FROM {schema}.queue q WHERE q.run = l.run OFFSET 0)))
    RETURNING run, key, delivery, arrived_at, head),
  late AS (UPDATE {schema}.delivered d SET late = json_build_object('type', coalesce({schema}.readable(g.head) #>> '{e,0,y}', ''), 'name', coalesce({schema}.readable(g.head) #>> '{e,0,n}', ''),
    'by', coalesce({schema}.readable(g.head) #>> '{e,0,by}', ''), 'reason', coalesce({schema}.readable(g.head) #>> '{e,0,s}', ''), 'delivery', g.delivery, 'arrivedAt', g.arrived_at)
    FROM gone g WHERE g.key <> '' AND d.run = g.run AND d.key = g.key)
SELECT max("row") FROM looked

-- name: sweep_deaf
-- Looks at $2 waits that listen, of the runs behind $1, deletes those of runs that are over, as one
-- ended that did not say so, and tells the last run; null where none was left. Indexes listens_pkey, queue_pkey.
WITH looked AS MATERIALIZED (SELECT run FROM {schema}.listens WHERE run > $1 ORDER BY run LIMIT $2),
  gone AS (DELETE FROM {schema}.listens WHERE run = ANY (ARRAY(
    SELECT l.run FROM looked l WHERE NOT EXISTS (SELECT FROM {schema}.queue q WHERE q.run = l.run OFFSET 0))))
SELECT max(run) FROM looked

-- name: sweep_log
-- Runs are swept. Index log_run.
DELETE FROM {schema}.log WHERE run = ANY ($1::bigint[])

-- name: sweep_chunks
-- Runs are swept. Index chunks_pkey.
DELETE FROM {schema}.chunks WHERE run = ANY ($1::bigint[])

-- name: sweep_hooks
-- Runs are swept. Index hooks_run.
DELETE FROM {schema}.hooks WHERE run = ANY ($1::bigint[])

-- name: sweep_tasks
-- Runs are swept. Index tasks_run.
DELETE FROM {schema}.tasks WHERE run = ANY ($1::bigint[])

-- name: sweep_targets
-- Runs are swept: nobody waits for them. Index awaits_pkey.
DELETE FROM {schema}.awaits WHERE target = ANY ($1::bigint[])

-- name: sweep_waiters
-- Runs are swept: they wait for nobody. Index awaits_waiter.
DELETE FROM {schema}.awaits WHERE waiter = ANY ($1::bigint[])

-- name: sweep_totals
-- Runs are swept: changes of their numbers.
INSERT INTO {schema}.totals (workflow, status, n) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])

-- name: sweep_delivered
-- Runs are swept: nothing is known of what was delivered to them. Primary key.
DELETE FROM {schema}.delivered WHERE run = ANY ($1::bigint[])

-- name: sweep_ended_hooks
-- Runs are swept. Index ended_hooks_run.
DELETE FROM {schema}.ended_hooks WHERE run = ANY ($1::bigint[])

-- name: marked_runs
-- Runs that may know of more deliveries than they need: of which one is older than that ($1). Index delivered_marked.
SELECT DISTINCT run FROM (SELECT run FROM {schema}.delivered WHERE marked IS NOT NULL AND at < $1 ORDER BY at LIMIT $2) m

-- name: forget
-- Forgets deliveries of a run ($1) that came before a time ($2), but for the last $3, those that are unread, and
-- those whose sender may come again, and marks that
-- it has looked at the run. Primary key.
WITH old AS (
  SELECT key, at, sender, row_number() OVER (ORDER BY at DESC) AS n FROM {schema}.delivered WHERE run = $1),
  gone AS (DELETE FROM {schema}.delivered d USING old o WHERE d.run = $1 AND d.key = o.key AND o.n > $3 AND o.at < $2
    AND o.key NOT IN (SELECT i.key FROM {schema}.inbox i WHERE i.run = $1)
    AND (o.sender IS NULL OR o.sender <> '' AND EXISTS (SELECT FROM {schema}.runs r WHERE r.ns = 0 AND r.id = o.sender AND r.status IS NOT NULL))
    RETURNING d.key)
UPDATE {schema}.delivered SET marked = NULL WHERE run = $1 AND marked IS NOT NULL AND at < $2 AND key NOT IN (SELECT key FROM gone)

-- name: sweep_trims
-- Runs are swept. By key.
DELETE FROM {schema}.trims WHERE run = ANY ($1::bigint[])
