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
