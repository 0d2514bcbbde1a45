-- A task, and who owns its run: a row where the run is known. Indexes runs_id, tasks_run.
SELECT q.run IS NOT NULL, o.id, t.key, w.id, t.attempt, t.failures, t.abandoned, t.history,
  CASE WHEN t.visible_at > clock_timestamp() AND t.parked_at IS NULL THEN t.visible_at END
FROM {schema}.runs r LEFT JOIN {schema}.queue q ON q.run = r.key LEFT JOIN {schema}.workers o ON o.key = q.owner
LEFT JOIN {schema}.tasks t ON t.run = r.key AND t.step = $2 LEFT JOIN {schema}.workers w ON w.key = t.worker
WHERE r.ns = 0 AND r.id = $1
