-- Runs and their rows, their relatives, how many there are, and what goes with them.

-- name: insert_run
-- A run is created. A taken ID or idempotency key inserts nothing: indexes runs_id, runs_idem.
INSERT INTO runs ({birth}) VALUES ({values})
ON CONFLICT DO NOTHING

-- name: end_run
-- The outcome of a run. By key.
UPDATE runs SET status = ?2, version = ?3, output = ?4, error = ?5, ended_us = ?6, sweep_us = ?7, takes = ?8, end_sum = ?9, output_apart = ?10 WHERE key = ?1

-- name: free_key
-- A run gives its idempotency key back. By key.
UPDATE runs SET idem = NULL WHERE key = ?1

-- name: run_by_id
-- What the writer needs to know of a run, by its ID; queue columns are null when it is over. Index runs_id.
SELECT r.key, r.created_us, r.workflow, r.retention_ns, q.class, q.running, q.priority, q.owner, q.take, q.paused OR q.resumed,
       q.mail_us, q.cancel, q.wake_us, q.blocked IS NOT NULL, r.takes, q.full, r.sealed,
       r.priority, r.parent_run, r.parent_step, r.detached, r.origin_run, r.sum,
       q.places, q.keeps, q.has, q.parked_us, q.rates
FROM runs r LEFT JOIN queue q ON q.run = r.key
WHERE r.ns = 0 AND r.id = ?1

-- name: run_by_idem
-- The run that has an idempotency key. Index runs_idem.
SELECT id FROM runs WHERE ns = 0 AND workflow = ?1 AND idem = ?2 AND idem IS NOT NULL

-- name: merged_run
-- The run that has an idempotency key, or was given the input of the start with it. Indexes runs_idem, delivered_idem.
SELECT id FROM runs WHERE ns = 0 AND workflow = ?1 AND idem = ?2 AND idem IS NOT NULL
UNION ALL SELECT r.id FROM delivered d JOIN runs r ON r.key = d.run WHERE d.workflow = ?1 AND d.idem = ?2 AND d.idem IS NOT NULL
LIMIT 1

-- name: last_keys
-- The last keys of runs that any table has, though their runs be lost; what cannot be a key is no number, or a very large one. Of a table without an index of
-- runs nothing: what it has is in the log as well. By key; indexes log_run, inbox_run, tasks_run, hooks_run, ended_hooks_run, chunks_run, awaits_waiter.
SELECT coalesce(max(key), 0) FROM (
  SELECT (SELECT key FROM runs WHERE key < 4611686018427387904 ORDER BY key DESC LIMIT 1) AS key
  UNION ALL SELECT (SELECT run FROM queue WHERE run < 4611686018427387904 ORDER BY run DESC LIMIT 1)
  UNION ALL SELECT (SELECT run FROM log WHERE run < 4611686018427387904 ORDER BY run DESC LIMIT 1)
  UNION ALL SELECT (SELECT run FROM inbox WHERE run < 4611686018427387904 ORDER BY run DESC LIMIT 1)
  UNION ALL SELECT (SELECT run FROM tasks WHERE run < 4611686018427387904 ORDER BY run DESC LIMIT 1)
  UNION ALL SELECT (SELECT run FROM hooks WHERE run < 4611686018427387904 ORDER BY run DESC LIMIT 1)
  UNION ALL SELECT (SELECT run FROM ended_hooks WHERE run < 4611686018427387904 ORDER BY run DESC LIMIT 1)
  UNION ALL SELECT (SELECT run FROM chunks WHERE run < 4611686018427387904 ORDER BY run DESC LIMIT 1)
  UNION ALL SELECT (SELECT run FROM delivered WHERE run < 4611686018427387904 ORDER BY run DESC LIMIT 1)
  UNION ALL SELECT (SELECT run FROM trims WHERE run < 4611686018427387904 ORDER BY run DESC LIMIT 1)
  UNION ALL SELECT (SELECT target FROM awaits WHERE target < 4611686018427387904 ORDER BY target DESC LIMIT 1)
  UNION ALL SELECT (SELECT waiter FROM awaits WHERE waiter < 4611686018427387904 ORDER BY waiter DESC LIMIT 1))

-- name: list_classes
-- All workflows and versions: a few dozen.
SELECT key, workflow, version FROM classes

-- name: insert_class
-- A workflow and version that no run had so far.
INSERT INTO classes (key, workflow, version) VALUES (?1, ?2, ?3)

-- name: last_class
-- The last key of a class that classes and the queue have, though the class be lost. All of the queue, on purpose: it is asked where a class is new.
SELECT max(coalesce((SELECT max(key) FROM classes WHERE key < 4611686018427387904), 0),
           coalesce((SELECT max(class) FROM queue WHERE class < 4611686018427387904), 0))

-- name: heirs
-- What took the places of some runs that did not complete, and what took theirs in turn, each once. Indexes runs_id, runs_idem.
WITH RECURSIVE heirs (of, workflow, id, status, key) AS (
  SELECT NULL, r.workflow, r.id, r.status, r.key FROM json_each(?1) j CROSS JOIN runs r ON r.ns = 0 AND r.id = j.value
  UNION
  SELECT p.id, r.workflow, r.id, r.status, r.key
  FROM heirs p CROSS JOIN runs r ON r.ns = 0 AND r.workflow = p.workflow AND r.idem = 'retry:' || p.id AND r.idem IS NOT NULL
  WHERE p.status IN ('failed', 'cancelled')
)
SELECT p.of, p.id, coalesce(p.status, (SELECT CASE WHEN q.running THEN 'running' ELSE 'pending' END FROM queue q WHERE q.run = p.key))
FROM heirs p WHERE p.of IS NOT NULL

-- name: forebears
-- Some runs, and those whose places they took, as far back as that goes, each once. Index runs_id.
WITH RECURSIVE line (id, idem, parent) AS (
  SELECT r.id, r.idem, r.parent_run FROM json_each(?1) j CROSS JOIN runs r ON r.ns = 0 AND r.id = j.value
  UNION
  SELECT r.id, r.idem, r.parent_run FROM line p CROSS JOIN runs r ON r.ns = 0 AND r.id = substr(p.idem, 7)
  WHERE substr(p.idem, 1, 6) = 'retry:'
)
SELECT id, idem, parent FROM line

-- name: insert_await
-- A step waits for the end of a run.
INSERT INTO awaits (target, waiter, step) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING

-- name: awaiting
-- The steps that wait for the end of a run, those of runs that are over among them.
SELECT a.waiter, a.step, coalesce(r.id, '') FROM awaits a LEFT JOIN runs r ON r.key = a.waiter WHERE a.target = ?1

-- name: open_children
-- The attached children of a run that are not over. Index awaits_waiter.
SELECT r.id FROM awaits a CROSS JOIN queue q ON q.run = a.target CROSS JOIN runs r ON r.key = a.target
WHERE a.waiter = ?1 AND r.parent_run = ?2 AND NOT r.detached

-- name: delete_awaits
-- Those that waited for a run have their answer.
DELETE FROM awaits WHERE target = ?1

-- name: delete_waiter
-- A run waits for nothing any more. Index awaits_waiter.
DELETE FROM awaits WHERE waiter = ?1

-- name: delete_old_awaits
-- A new segment awaits nothing yet; the children of the ones before are its children still. Index awaits_waiter.
DELETE FROM awaits WHERE waiter = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE key = awaits.target AND parent_run = ?2)

-- name: add_total
-- So many runs of a workflow came to a status, or left it. By key.
INSERT INTO totals (workflow, status, n) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET n = n + excluded.n

-- name: forget_totals
-- The counts of runs are about to be made anew.
DELETE FROM totals

-- name: recount
-- The counts of runs, made anew as doctor_counts has them. All of runs and the queue, on purpose.
WITH known AS MATERIALIZED (
  SELECT r.workflow, r.status, q.run IS NOT NULL AS live, q.running, q.paused OR q.resumed AS paused, q.blocked IS NOT NULL AS blocked FROM runs r LEFT JOIN queue q ON q.run = r.key)
INSERT INTO totals (workflow, status, n)
SELECT workflow, CASE WHEN NOT live THEN status WHEN running THEN 'running' ELSE 'pending' END AS status, count(*) FROM known
WHERE live OR status IN ('completed', 'failed', 'cancelled') GROUP BY 1, 2
UNION ALL SELECT workflow, 'paused', count(*) FROM known WHERE paused GROUP BY workflow
UNION ALL SELECT workflow, 'blocked', count(*) FROM known WHERE blocked GROUP BY workflow

-- name: count_runs
-- The runs by workflow and status: a handful of rows for each workflow.
SELECT workflow, status, n FROM totals

-- name: list_workers
-- All workers, with what they hold. Indexes queue_owner, tasks_held.
SELECT w.key, w.id, w.name, w.build, w.classes, w.steps, w.lease_ns, w.joined_us, w.until_us,
       (SELECT count(*) FROM queue WHERE owner = w.key), (SELECT count(*) FROM tasks WHERE worker = w.key), w.remote
FROM workers w ORDER BY w.key

-- name: sweep_runs
-- Runs whose retention ended, those that ended first before others. Index runs_sweep.
SELECT key, id, workflow, status, attributes FROM runs WHERE sweep_us IS NOT NULL AND sweep_us <= ?1 AND status IS NOT NULL ORDER BY sweep_us LIMIT ?2

-- name: delete_run
-- A run is swept. By key.
DELETE FROM runs WHERE key = ?1

-- name: delete_log
-- A run is swept. Index log_run.
DELETE FROM log WHERE run = ?1

-- name: delete_chunks
-- A run is swept.
DELETE FROM chunks WHERE run = ?1

