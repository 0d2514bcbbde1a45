-- The tasks of one run, for people. Indexes runs_id, tasks_run.
SELECT t.step, t.name, t.workflow, t.priority, iif(t.parked_us IS NULL, t.visible_us, t.parked_us), t.attempt, t.failures, t.first_us, t.history, w.id, t.abandoned, t.input, t.options, t.sum
FROM runs r CROSS JOIN tasks t ON t.run = r.key LEFT JOIN workers w ON w.key = t.worker
WHERE r.ns = 0 AND r.id = ?1 ORDER BY t.key LIMIT ?2
