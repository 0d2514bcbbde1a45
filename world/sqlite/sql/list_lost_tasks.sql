-- The tasks of a worker, as they are ready when its lease is over: of the steps in ?2, a JSON array. Index tasks_held.
SELECT r.id, t.priority, t.step, t.name FROM tasks t CROSS JOIN runs r ON r.key = t.run
WHERE t.worker = ?1 AND t.name IN (SELECT value FROM json_each(?2)) LIMIT ?3
