-- The tasks of one run, for people. Indexes runs_id, tasks_run.
SELECT t.step, t.name, t.workflow, t.priority, coalesce(t.parked_at, t.visible_at), t.attempt, t.failures, t.first_at, t.history, w.id, t.abandoned, t.input, t.options, t.sum
FROM {schema}.runs r JOIN {schema}.tasks t ON t.run = r.key LEFT JOIN {schema}.workers w ON w.key = t.worker
WHERE r.ns = 0 AND r.id = $1 ORDER BY t.key LIMIT $2
