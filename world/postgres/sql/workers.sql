-- Workers: leases, fences, locks of sessions, and what becomes of who died.

-- name: insert_worker
-- A worker joins, with its lanes.
WITH joined AS (
  INSERT INTO {schema}.workers (id, name, build, classes, steps, lease_ns, remote, joined_at, until)
  SELECT $1, $2, $3, $4, $5, $6::bigint, $8, now.at, now.at + ($6::bigint / 1000) * interval '1 microsecond' FROM (SELECT clock_timestamp() AS at) now
  RETURNING key, joined_at, until),
lanes AS (INSERT INTO {schema}.lanes (worker, lane) SELECT key, lane FROM joined, unnest($7::smallint[]) lane)
SELECT key, joined_at, until FROM joined

-- name: rejoin_worker
-- A worker that is alive writes its row again, which was lost: nobody has closed its lanes. Whether its lock is there says whether peers may judge by it. By key.
WITH mine AS (SELECT 1 FROM {schema}.lanes WHERE worker = $1::bigint AND alive ORDER BY lane LIMIT 1 FOR SHARE)
INSERT INTO {schema}.workers (key, id, name, build, classes, steps, lease_ns, remote, joined_at, until, session)
SELECT $1::bigint, $2::text, $3::text, $4::text, $5::text, $6::text, $7::bigint, $8::boolean, now.at, now.at + ($7::bigint / 1000) * interval '1 microsecond', EXISTS (
    SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = $9::integer::oid AND l.objid = ($1::bigint % 2147483648)::integer::oid AND l.objsubid = 2
      AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
FROM mine, (SELECT clock_timestamp() AS at) now
ON CONFLICT DO NOTHING RETURNING joined_at, until

-- name: close_lost
-- Nothing of a worker whose row is lost commits from here on; waits for what is about to. By key.
UPDATE {schema}.lanes SET alive = false WHERE worker = $1::bigint AND alive AND NOT EXISTS (SELECT 1 FROM {schema}.workers WHERE key = $1::bigint)

-- name: adopt_worker
-- A worker that lives behind servers goes on through this one, which may have other lanes than those before it. Who
-- buries the worker waits meanwhile, and closes them too. Index workers_id_key.
WITH alive AS (SELECT key, name, build, classes, steps, lease_ns, until FROM {schema}.workers WHERE id = $1::text AND remote AND ended IS NULL FOR SHARE),
lanes AS (INSERT INTO {schema}.lanes (worker, lane) SELECT key, lane FROM alive, unnest($2::smallint[]) lane ON CONFLICT DO NOTHING)
SELECT key, name, build, classes, steps, lease_ns, until FROM alive

-- name: heartbeat_worker
-- A worker is alive. By key; no indexed column changes.
UPDATE {schema}.workers SET until = clock_timestamp() + (lease_ns / 1000) * interval '1 microsecond', skew_ns = $2
WHERE key = $1 AND ended IS NULL RETURNING clock_timestamp(), until

-- name: see_worker
-- Whether a worker is alive. By key.
SELECT clock_timestamp(), until FROM {schema}.workers WHERE key = $1 AND ended IS NULL

-- name: renew_workers
-- The leases of workers that wake up from idleness. By key.
UPDATE {schema}.workers SET until = clock_timestamp() + (lease_ns / 1000) * interval '1 microsecond' WHERE key = ANY($1::bigint[])

-- name: lock_lane
-- The fence, and the last lock of a transaction: no row where the worker is not alive. By key.
SELECT 1 FROM {schema}.lanes WHERE worker = $1::bigint AND lane = $2::smallint AND alive FOR UPDATE

-- name: lock_lanes
-- The fence, and the last statement: fails by a division by zero unless all workers of the group are alive. By key.
SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer FROM (
  SELECT 1 FROM {schema}.lanes WHERE worker = ANY($1::bigint[]) AND lane = $2::smallint AND alive ORDER BY worker FOR UPDATE) alive

-- name: lock_session
-- The lock that says that a worker's process lives. Nobody waits for it.
SELECT pg_try_advisory_lock($1::integer, ($2::bigint % 2147483648)::integer)

-- name: unlock_session
-- The lock of a worker that has left.
SELECT pg_advisory_unlock($1::integer, ($2::bigint % 2147483648)::integer)

-- name: claim_session
-- A worker's lock is taken: peers may judge by it. By key.
UPDATE {schema}.workers SET session = true WHERE key = $1 AND NOT session

-- name: disclaim_session
-- Workers whose connection is gone and cannot be made anew: peers judge by their leases. By key.
UPDATE {schema}.workers SET session = false WHERE key = ANY($1::bigint[]) AND session

-- name: watch_workers
-- All workers: whether their leases are over, whether they hold anything, whether their locks are there. Indexes queue_owner, tasks_held.
WITH locks AS MATERIALIZED (
  SELECT l.objid FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = $1::integer::oid AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
SELECT w.key, w.session, w.until < clock_timestamp(), w.ended IS NOT NULL,
  {holds},
  EXISTS (SELECT 1 FROM locks WHERE objid = (w.key % 2147483648)::integer::oid)
FROM {schema}.workers w

-- name: end_worker
-- A worker is found to be gone ($2: 'died' or 'left'), unless the cause ($3) no longer holds; see clock.limits for $6 to $8. By key; indexes queue_owner, tasks_held.
UPDATE {schema}.workers w SET ended = $2
WHERE key = $1 AND ended IS NULL AND CASE $3
  WHEN 'left' THEN true
  WHEN 'lease' THEN until < clock_timestamp() AND (until < $6::timestamptz OR $6 IS NULL) -- a step of this clock that who asks has not seen
    AND (until >= $7::timestamptz OR $7 IS NULL OR until < clock_timestamp() - $8::bigint * interval '1 microsecond') -- and one that it has
    AND (until < clock_timestamp() - $4::bigint * interval '1 microsecond'
    OR {holds})
  WHEN 'session' THEN session AND NOT EXISTS (
    SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = $5::integer::oid AND l.objid = (w.key % 2147483648)::integer::oid AND l.objsubid = 2
      AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
  END

-- name: close_lanes
-- Nothing that a worker which is gone still has under way commits from here on; waits for what is about to. By key.
UPDATE {schema}.lanes SET alive = false
WHERE worker = $1 AND alive AND EXISTS (SELECT 1 FROM {schema}.workers WHERE key = $1 AND ended IS NOT NULL)

-- name: worker_ended
-- What became of a worker. By key.
SELECT ended FROM {schema}.workers WHERE key = $1

-- name: lock_worker
-- One at a time hands back what a worker held. By key.
SELECT 1 FROM {schema}.workers WHERE key = $1 FOR UPDATE

-- name: delete_lanes
-- A worker that holds nothing any more needs no lanes. By key; indexes queue_owner, tasks_held.
DELETE FROM {schema}.lanes WHERE worker = $1
  AND NOT EXISTS (SELECT 1 FROM {schema}.queue WHERE owner = $1) AND NOT EXISTS (SELECT 1 FROM {schema}.tasks WHERE worker = $1)

-- name: delete_worker
-- A worker that holds nothing any more is gone; tells how many are left of it. By key; indexes queue_owner, tasks_held.
WITH gone AS (
  DELETE FROM {schema}.workers WHERE key = $1
    AND NOT EXISTS (SELECT 1 FROM {schema}.queue WHERE owner = $1) AND NOT EXISTS (SELECT 1 FROM {schema}.tasks WHERE worker = $1)
  RETURNING 1)
SELECT (SELECT count(*) FROM {schema}.workers WHERE key = $1) - (SELECT count(*) FROM gone)

-- name: lost_owners
-- Owners of runs and holders of tasks that are not among the workers, and of which no process has the lock: nobody would bury them. Indexes queue_owner,
-- tasks_held.
SELECT lost.key FROM (
  SELECT q.owner AS key FROM {schema}.queue q WHERE q.owner IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = q.owner)
  UNION SELECT t.worker FROM {schema}.tasks t WHERE t.worker IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = t.worker)) lost
WHERE NOT EXISTS (SELECT 1 FROM pg_locks l
  WHERE l.locktype = 'advisory' AND l.classid = $1::integer::oid AND l.objid = (lost.key & 2147483647)::integer::oid AND l.objsubid = 2
    AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
LIMIT 1000

-- name: list_workers
-- All workers that were not found dead, with what they hold. One that holds nothing need not renew its lease for a time ($1, in µs). Indexes queue_owner, tasks_held.
SELECT w.id, w.name, w.build, w.classes, w.steps, w.lease_ns, w.joined_at,
       least(w.until, '9999-12-31T00:00:00Z') + CASE WHEN w.runs + w.tasks = 0 THEN $1::bigint ELSE 0 END * interval '1 microsecond', w.runs, w.tasks, w.remote
FROM (SELECT w.*, (SELECT count(*) FROM {schema}.queue WHERE owner = w.key) AS runs, (SELECT count(*) FROM {schema}.tasks WHERE worker = w.key) AS tasks
  FROM {schema}.workers w WHERE w.ended IS NULL OFFSET 0) w ORDER BY w.id
