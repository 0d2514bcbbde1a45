-- Counts of runs, metrics, settings and the fingerprints of keys.

-- name: count_runs
-- The runs by workflow and status, and of how many changes each number is the sum. All of a small table, on purpose.
SELECT workflow, status, greatest(least(sum(n), 9223372036854775807), -9223372036854775808)::bigint, count(*) FROM {schema}.totals GROUP BY workflow, status

-- name: sum_totals
-- Sums up the changes of totals, at most 100,000 at once; those that another process is summing up are left to it.
WITH gone AS (
  DELETE FROM {schema}.totals
  WHERE ctid = ANY (ARRAY(SELECT ctid FROM {schema}.totals LIMIT 100000 FOR UPDATE SKIP LOCKED))
  RETURNING workflow, status, n)
INSERT INTO {schema}.totals (workflow, status, n)
SELECT workflow, status, greatest(least(sum(n), 9223372036854775807), -9223372036854775808) FROM gone GROUP BY workflow, status HAVING sum(n) <> 0

-- name: bad_totals
-- Whether the counts of runs cannot be right: fewer than none, more than there ever were, or of what no run is counted as. All of a small table, on purpose.
SELECT EXISTS (
  SELECT FROM {schema}.totals GROUP BY workflow, status
  HAVING sum(n) < 0 OR sum(n) > (SELECT coalesce(max(key), 0) FROM {schema}.runs) OR status <> ALL ('{pending,running,completed,failed,cancelled,paused,blocked}'))

-- name: doctor_counts
-- The counts of runs that are not what runs and the queue say: as they are, and as they should be. All of both, on purpose.
WITH known AS MATERIALIZED (
  SELECT r.workflow, r.status, q.run IS NOT NULL AS live, q.running, coalesce(q.paused, false) AS paused, q.blocked IS NOT NULL AS blocked
  FROM {schema}.runs r LEFT JOIN {schema}.queue q ON q.run = r.key),
right_ AS (
  SELECT workflow, CASE WHEN NOT live THEN status WHEN running THEN 'running' ELSE 'pending' END AS status, count(*) AS n FROM known
  WHERE live OR status IN ('completed', 'failed', 'cancelled') GROUP BY 1, 2
  UNION ALL SELECT workflow, 'paused', count(*) FROM known WHERE paused GROUP BY workflow
  UNION ALL SELECT workflow, 'blocked', count(*) FROM known WHERE blocked GROUP BY workflow)
SELECT workflow, status, greatest(least(coalesce(t.n, 0), 9223372036854775807), -9223372036854775808)::bigint, coalesce(c.n, 0)
FROM (SELECT workflow, status, sum(n) AS n FROM {schema}.totals GROUP BY workflow, status) t FULL JOIN right_ c USING (workflow, status)
WHERE coalesce(t.n, 0) <> coalesce(c.n, 0) ORDER BY workflow, status

-- name: recount
-- The counts of runs are made anew, as doctor_counts has them. In a snapshot: changes of others that it does not see stay as they are, and where another
-- process sums up meanwhile, this fails. All of runs and the queue, on purpose.
WITH gone AS (DELETE FROM {schema}.totals),
known AS MATERIALIZED (
  SELECT r.workflow, r.status, q.run IS NOT NULL AS live, q.running, coalesce(q.paused, false) AS paused, q.blocked IS NOT NULL AS blocked
  FROM {schema}.runs r LEFT JOIN {schema}.queue q ON q.run = r.key)
INSERT INTO {schema}.totals (workflow, status, n)
SELECT workflow, CASE WHEN NOT live THEN status WHEN running THEN 'running' ELSE 'pending' END AS status, count(*) FROM known
WHERE live OR status IN ('completed', 'failed', 'cancelled') GROUP BY 1, 2
UNION ALL SELECT workflow, 'paused', count(*) FROM known WHERE paused GROUP BY workflow
UNION ALL SELECT workflow, 'blocked', count(*) FROM known WHERE blocked GROUP BY workflow

-- name: metrics
-- What processes have counted. Index metrics_pkey.
SELECT m.process, m.revision, extract(epoch FROM clock_timestamp() - m.put_at)::double precision, m.says FROM {schema}.metrics m WHERE m.says <> '' ORDER BY m.process

-- name: metrics_revision
-- What a process has given last, and whether it stands: it was not absorbed. Index metrics_pkey.
SELECT m.revision, m.says <> '' FROM {schema}.metrics m WHERE m.process = $1 FOR UPDATE

-- name: put_metrics
-- What a process has counted. Index metrics_pkey.
INSERT INTO {schema}.metrics (process, revision, put_at, says) VALUES ($1, $2, clock_timestamp(), $3)
ON CONFLICT (process) DO UPDATE SET revision = excluded.revision, put_at = excluded.put_at, says = excluded.says

-- name: absorb_metrics
-- What others have counted that a process has added to its own, in order, so that two who do it do not wait for each other. Index metrics_pkey.
UPDATE {schema}.metrics m SET says = '', put_at = clock_timestamp() WHERE m.process = ANY(ARRAY(
  SELECT k.process FROM {schema}.metrics k JOIN unnest($1::text[], $2::bigint[]) AS a (process, revision) ON a.process = k.process AND a.revision = k.revision
  WHERE k.says <> '' ORDER BY k.process FOR UPDATE OF k))

-- name: forget_metrics
-- What was absorbed long ago; what another process has locked is left to it. All rows: one a process.
DELETE FROM {schema}.metrics m WHERE m.process = ANY(ARRAY(
  SELECT k.process FROM {schema}.metrics k WHERE k.says = '' AND k.put_at < clock_timestamp() - make_interval(secs => $1) FOR UPDATE SKIP LOCKED))

-- name: setting
-- What operators set for all. Index settings_pkey.
SELECT value FROM {schema}.settings WHERE name = $1

-- name: limit_setting
-- An operator sets a limit for all: one that is there is lowered, or, with $3, raised; below 0 is none. Index settings_pkey.
INSERT INTO {schema}.settings AS s (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
WHERE $3 OR excluded.value > 0 AND (s.value < 0 OR excluded.value < s.value)

-- name: bind_key
-- An ID stands for a key from now on, unless it does for one. Index keys_pkey.
INSERT INTO {schema}.keys (id, print) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING

-- name: key_print
-- The fingerprint that the ID of a key is bound to. Index keys_pkey.
SELECT print FROM {schema}.keys WHERE id = $1
