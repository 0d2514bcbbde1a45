-- Registered steps that workers carry out.

-- name: insert_tasks
-- Tasks are created, some of them held as attempt 1. Index tasks_run.
INSERT INTO {schema}.tasks (run, step, name, workflow, input, options, priority, visible_at, worker, attempt, first_at, history, sum)
SELECT a.run, a.step, a.name, a.workflow, a.input, a.options, a.priority, coalesce(a.visible, clock_timestamp()), a.worker,
  CASE WHEN a.worker IS NULL THEN 0 ELSE 1 END, a.first, a.history, a.sum
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::bytea[], $7::smallint[], $8::timestamptz[], $9::bigint[],
  $10::timestamptz[], $11::text[], $12::integer[]) a(run, step, name, workflow, input, options, priority, visible, worker, first, history, sum)

-- name: claim_tasks
-- A worker claims tasks, each as it was seen, and so begins an attempt of each, which its history tells, unless somebody holds the row. By key: + 0, and
-- ANY of one key, leave no other way, also for a plan of when there were no tasks.
WITH mine AS (
  SELECT t.key, t.run, a.history, a.started FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::integer[], $5::text[], $6::timestamptz[])
    a(key, attempt, failures, abandoned, history, started)
  JOIN {schema}.tasks t ON t.key = ANY(ARRAY[a.key]) AND t.attempt = a.attempt AND t.failures = a.failures AND t.abandoned = a.abandoned
  WHERE t.worker + 0 IS NULL AND t.visible_at <= clock_timestamp()
  ORDER BY t.key + 0 FOR UPDATE OF t SKIP LOCKED)
UPDATE {schema}.tasks t SET worker = $7, attempt = least(t.attempt, 2147483646) + 1, first_at = coalesce(t.first_at, m.started), history = m.history
FROM mine m JOIN {schema}.runs r ON r.key = m.run
WHERE t.key = ANY(ARRAY[m.key])
RETURNING t.key, r.id, t.step, t.name, t.workflow, t.input, t.options, t.priority, t.visible_at, t.attempt, t.first_at, t.failures, t.abandoned, t.sum

-- name: end_task
-- The last attempt of a task ends: what happened goes to the inbox of its run. Nothing, unless the worker holds it as that attempt. Returns the run's owner.
-- Indexes runs_id, tasks_run, workers_id_key, inbox_run.
WITH gone AS (
  DELETE FROM {schema}.tasks t USING {schema}.runs r, {schema}.workers w
  WHERE r.ns = 0 AND r.id = $1 AND t.run = r.key AND t.step = $2 AND w.id = $3 AND t.worker = w.key AND t.attempt = $4
  RETURNING t.run),
sent AS (
  INSERT INTO {schema}.inbox (run, delivery, cancel, payload, format, head, body, sum)
  SELECT run, $5, false, false, $6, $7, $8, concat_ws(chr(31), $9::text, run, '', $5::text) FROM gone ON CONFLICT DO NOTHING)
SELECT w.id FROM gone g LEFT JOIN {schema}.queue q ON q.run = g.run LEFT JOIN {schema}.workers w ON w.key = q.owner

-- name: expire_task
-- A task that nobody has begun ends: what happened goes to the inbox of its run. Nothing, where an attempt has begun. Returns the run's owner. The worker is "",
-- the attempt 0: the arguments are those of end_task.
-- Indexes runs_id, tasks_run, workers_id_key, inbox_run.
WITH gone AS (
  DELETE FROM {schema}.tasks t USING {schema}.runs r
  WHERE r.ns = 0 AND r.id = $1 AND t.run = r.key AND t.step = $2 AND t.worker IS NULL AND $3 = '' AND t.attempt = $4
  RETURNING t.run),
sent AS (
  INSERT INTO {schema}.inbox (run, delivery, cancel, payload, format, head, body, sum)
  SELECT run, $5, false, false, $6, $7, $8, concat_ws(chr(31), $9::text, run, '', $5::text) FROM gone ON CONFLICT DO NOTHING)
SELECT w.id FROM gone g LEFT JOIN {schema}.queue q ON q.run = g.run LEFT JOIN {schema}.workers w ON w.key = q.owner

-- name: find_task
-- A task, and who owns its run: a row where the run is known. Indexes runs_id, tasks_run.
SELECT q.run IS NOT NULL, o.id, t.key, w.id, t.attempt, t.failures, t.abandoned, t.history,
  CASE WHEN t.visible_at > clock_timestamp() AND t.parked_at IS NULL THEN t.visible_at END
FROM {schema}.runs r LEFT JOIN {schema}.queue q ON q.run = r.key LEFT JOIN {schema}.workers o ON o.key = q.owner
LEFT JOIN {schema}.tasks t ON t.run = r.key AND t.step = $2 LEFT JOIN {schema}.workers w ON w.key = t.worker
WHERE r.ns = 0 AND r.id = $1

-- name: retry_task
-- An attempt ended and another follows; the task is as it was seen. By key.
UPDATE {schema}.tasks SET worker = NULL, visible_at = $6::timestamptz, history = $5,
  failures = least(failures, 2147483646) + CASE WHEN $7 THEN 0 ELSE 1 END, abandoned = least(abandoned, 2147483646) + CASE WHEN $7 THEN 1 ELSE 0 END
WHERE key = $1 AND attempt = $2 AND failures = $3 AND abandoned = $4 AND worker IS NOT NULL

-- name: note_task
-- An attempt that is no longer held was given up, says its worker; the task is as it was seen. By key.
UPDATE {schema}.tasks SET history = $5, abandoned = least(abandoned, 2147483646) + 1
WHERE key = $1 AND attempt = $2 AND failures = $3 AND abandoned = $4

-- name: wake_task
-- An operator ends the delay before the next attempt of a task, which is as it was seen. A task that a worker may claim is not changed, so no
-- claimer's history is without this. By key.
UPDATE {schema}.tasks SET visible_at = clock_timestamp(), history = $5
WHERE key = $1 AND attempt = $2 AND failures = $3 AND abandoned = $4 AND worker IS NULL AND visible_at > clock_timestamp()

-- name: find_only_task
-- One task that is to be claimed by name, if it is one of $3, and whether the worker that holds it is dead. Indexes runs_id, tasks_run, workers_pkey.
SELECT clock_timestamp(), t.key, t.workflow, t.step, t.attempt, t.failures, t.abandoned, t.history, w.key, w.ended IS NOT NULL OR w.until < clock_timestamp()
FROM {schema}.runs r JOIN {schema}.tasks t ON t.run = r.key AND t.step = $2 LEFT JOIN {schema}.workers w ON w.key = t.worker
WHERE r.ns = 0 AND r.id = $1 AND t.name = ANY($3::text[])

-- name: hold_tasks
-- Locks tasks whose holders write to streams, in the order of their runs, but for those that others have locked. Indexes runs_id, workers_id_key,
-- tasks_run.
SELECT a.ord, t.run FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY a(run, worker, attempt, step, ord)
JOIN {schema}.runs r ON r.ns = 0 AND r.id = a.run JOIN {schema}.workers w ON w.id = a.worker
JOIN {schema}.tasks t ON t.run = r.key AND t.step = a.step AND t.worker = w.key AND t.attempt = a.attempt
ORDER BY t.run, t.step FOR UPDATE OF t SKIP LOCKED

-- name: held_tasks
-- Which of some tasks a worker holds, by their place in the list. Indexes runs_id, tasks_run.
SELECT a.i FROM unnest($2::text[], $3::text[], $4::integer[]) WITH ORDINALITY a(run, step, attempt, i)
JOIN {schema}.runs r ON r.ns = 0 AND r.id = a.run
JOIN {schema}.tasks t ON t.run = r.key AND t.step = a.step
WHERE t.worker = $1 AND t.attempt = a.attempt

-- name: task_held
-- Whether a worker holds a task as an attempt. Indexes runs_id, tasks_run.
SELECT 1 FROM {schema}.runs r JOIN {schema}.tasks t ON t.run = r.key
WHERE r.ns = 0 AND r.id = $1::text AND t.step = $2::text AND t.worker = $3::bigint AND t.attempt = $4::integer

-- name: delete_held
-- Tasks that ended with a commit. Fails by a division by zero unless each is held by the worker as the attempt that is named. Index tasks_run.
WITH gone AS (
  DELETE FROM {schema}.tasks t USING unnest($1::bigint[], $2::text[], $3::bigint[], $4::integer[]) a(run, step, worker, attempt)
  WHERE t.run = a.run AND t.step = a.step AND t.worker = a.worker AND t.attempt = a.attempt
  RETURNING 1)
SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer FROM gone

-- name: delete_tasks
-- Tasks that nobody needs any more. ANY of one run leaves no other way, also for a plan of when there were no tasks. Index tasks_run.
DELETE FROM {schema}.tasks t USING unnest($1::bigint[], $2::text[]) a(run, step) WHERE t.run = ANY(ARRAY[a.run]) AND t.step = a.step

-- name: delete_run_tasks
-- All tasks of runs: they are over, or in a new segment. Index tasks_run.
DELETE FROM {schema}.tasks WHERE run = ANY($1::bigint[])

-- name: account_tasks
-- The tasks of a worker. Indexes tasks_held, runs_pkey.
SELECT r.id, t.step, t.attempt FROM {schema}.tasks t JOIN {schema}.runs r ON r.key = t.run WHERE t.worker = $1

-- name: return_tasks
-- The tasks of a worker that is gone come back, visible at once; one that somebody ends just now does not. Index tasks_held.
WITH mine AS (SELECT key FROM {schema}.tasks WHERE worker = $1 ORDER BY key + 0 FOR UPDATE SKIP LOCKED),
back AS (UPDATE {schema}.tasks t SET worker = NULL, visible_at = clock_timestamp() FROM mine WHERE t.key = mine.key RETURNING 1)
SELECT count(*) FROM back

-- name: put_tasks_aside
-- Of some tasks, those that are of no run: nobody is given them again; doctor names them. By key.
UPDATE {schema}.tasks t SET visible_at = '9999-12-31T00:00:00Z'
WHERE t.key = ANY($1::bigint[]) AND t.worker IS NULL AND NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = t.run)

-- name: list_run_tasks
-- The tasks of one run, for people. Indexes runs_id, tasks_run.
SELECT t.step, t.name, t.workflow, t.priority, coalesce(t.parked_at, t.visible_at), t.attempt, t.failures, t.first_at, t.history, w.id, t.abandoned, t.input, t.options, t.sum
FROM {schema}.runs r JOIN {schema}.tasks t ON t.run = r.key LEFT JOIN {schema}.workers w ON w.key = t.worker
WHERE r.ns = 0 AND r.id = $1 ORDER BY t.key LIMIT $2
