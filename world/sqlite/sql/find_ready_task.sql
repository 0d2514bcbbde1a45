-- One task, if it is ready for a worker with the steps in ?4, a JSON array. Indexes runs_id, tasks_run.
SELECT t.key FROM runs r CROSS JOIN tasks t ON t.run = r.key AND t.step = ?2
WHERE r.ns = 0 AND r.id = ?1 AND t.worker IS NULL AND t.visible_us <= ?3 AND t.name IN (SELECT value FROM json_each(?4))
