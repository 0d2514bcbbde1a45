-- The tasks of a worker. Index tasks_held.
SELECT r.id, t.step, t.attempt FROM tasks t CROSS JOIN runs r ON r.key = t.run WHERE t.worker = ?1
