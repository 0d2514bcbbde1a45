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
